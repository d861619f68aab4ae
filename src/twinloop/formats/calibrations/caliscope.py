"""caliscope: `camera_array.toml`, and the older `config.toml` with everything in one.

Rotation (matrix or Rodrigues vector) and translation take points of the world to the camera, as OpenCV's do;
a session's own points project with them to about a pixel. The unit of the world is that of the board, which
the file does not declare.
"""

from __future__ import annotations

import re
import tomllib

from twinloop.core.calibration import CameraCalibration, CameraModel
from twinloop.core.errors import UnreadableError
from twinloop.core.units import UNDECLARED
from twinloop.formats.calibrations.values import (
    Calibration,
    floats,
    frame,
    intrinsics_of,
    pixels,
    plain,
    pose_of,
)

_KEYS = tuple(
    re.compile(rb"^\s*" + key + rb"\s*=", re.MULTILINE) for key in (b"matrix", b"distortions", b"size")
)
_USED = frozenset({"matrix", "distortions", "size", "error", "rotation", "translation"})


def claims(head: bytes) -> bool:
    """Whether a file that starts with `head` has cameras with matrix, distortions and size."""
    return b"[cam" in head and all(key.search(head) for key in _KEYS)


def parse(text: str, file: str) -> Calibration:  # noqa: ARG001
    """Cameras and their poses in the world; other tables and values are facts."""
    found = Calibration()
    tables = tomllib.loads(text)
    cameras = tables.pop("cameras", None)
    named = cameras if isinstance(cameras, dict) else {}
    named = named | {
        name: table for name, table in tables.items() if isinstance(table, dict) and "matrix" in table
    }
    for name, table in named.items():
        if isinstance(table, dict):
            _add(found, name, table)
    for name, value in tables.items():
        if isinstance(value, dict) and name not in named:
            found.facts |= {f"{name}/{key}": str(one) for key, one in plain(value).items()}
        elif not isinstance(value, dict):
            found.facts[name] = str(value)
    return found


def _add(found: Calibration, name: str, table: dict[str, object]) -> None:
    name = f"cam_{name}" if name.isdigit() else name
    try:
        distortion = floats(table.get("distortions", ()))
        fisheye = bool(table.get("fisheye"))
        width, height = pixels(table.get("size"))
        model = CameraModel.FISHEYE if fisheye else CameraModel.RADTAN if distortion else CameraModel.PINHOLE
        error = table.get("error")
        found.items.append(
            CameraCalibration(
                name,
                model,
                width,
                height,
                intrinsics_of(table.get("matrix")),
                distortion,
                float(error) if isinstance(error, (int, float)) and error == error else None,
                plain(table, _USED),
            )
        )
        if table.get("rotation") and table.get("translation"):
            T_cam_world = pose_of(table["rotation"], table["translation"])
            found.items.append(frame("world", name, T_cam_world.inverse(), UNDECLARED))
    except UnreadableError as unfit:
        found.skipped.append(f"camera {name}: {unfit.what}")
