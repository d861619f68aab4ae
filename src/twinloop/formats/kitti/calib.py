"""KITTI's calibration texts: a name and numbers a line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.calibration import CameraCalibration, CameraModel
from twinloop.core.errors import UnreadableError
from twinloop.formats.calibrations.values import MOST_BYTES, floats, frame, pose_of, pose_of_matrix

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from twinloop.core.calibration import CalibrationItem

_PROJECTION = re.compile(r"^P(?:_rect_0)?([0-3])$")


def read_values(file: Path) -> dict[str, tuple[float, ...]]:
    """Name -> numbers of a text; lines of other things are passed over.

    Raises:
        UnreadableError: the file is missing or no text.
    """
    try:
        text = file.read_bytes()[:MOST_BYTES].decode("ascii", "replace")
    except OSError as error:
        raise UnreadableError(f"the calibration cannot be read: {error.strerror}", where=str(file)) from None
    found = {}
    for line in text.splitlines():
        name, colon, numbers = line.partition(":")
        try:
            values = floats(numbers.split())
        except UnreadableError:
            continue
        if colon and values:
            found[name.strip()] = values
    return found


def frame_calibration(values: Mapping[str, tuple[float, ...]]) -> Iterator[CalibrationItem]:
    """Of an object frame: rectified cameras, and the laser in the rectified frame ``camera``.

    Raises:
        UnreadableError: a matrix has another number of values.
    """
    yield from _cameras(values, {})
    if "R0_rect" in values and "Tr_velo_to_cam" in values:
        rectified = pose_of(values["R0_rect"], (0.0, 0.0, 0.0))
        yield frame("camera", "velodyne", rectified @ pose_of_matrix(values["Tr_velo_to_cam"]))
    if "Tr_imu_to_velo" in values:
        yield frame("velodyne", "imu", pose_of_matrix(values["Tr_imu_to_velo"]))


def drive_calibration(folder: Path) -> Iterator[CalibrationItem]:
    """Of a day of raw drives: ``calib_cam_to_cam.txt`` and its sisters.

    Raises:
        UnreadableError: as above.
    """
    cameras = read_values(folder / "calib_cam_to_cam.txt")
    sizes = {name[-1]: values for name, values in cameras.items() if name.startswith("S_rect_0")}
    yield from _cameras(cameras, sizes, prefix="image_0")
    for name, parent, child in (("velo_to_cam", "camera", "velodyne"), ("imu_to_velo", "velodyne", "imu")):
        file = folder / f"calib_{name}.txt"
        if file.is_file():
            values = read_values(file)
            pose = pose_of(values.get("R", ()), values.get("T", ()))
            if child == "velodyne" and "R_rect_00" in cameras:
                pose = pose_of(cameras["R_rect_00"], (0.0, 0.0, 0.0)) @ pose
            yield frame(parent, child, pose)


def _cameras(
    values: Mapping[str, tuple[float, ...]], sizes: Mapping[str, tuple[float, ...]], prefix: str = "image_"
) -> Iterator[CalibrationItem]:
    """Cameras by the folder of their pictures, with their places in ``camera`` (the rectified camera 0)."""
    for name, numbers in values.items():
        match = _PROJECTION.match(name)
        if not match:
            continue
        fx, _, cx, tx, _, fy, cy, ty, _, _, _, tz = floats(numbers, 12)
        width, height = (
            (int(size) for size in sizes[match[1]][:2]) if len(sizes.get(match[1], ())) == 2 else (None, None)
        )
        camera = f"{prefix}{match[1]}"
        extra: dict[str, object] = {"projection": list(numbers)}
        yield CameraCalibration(camera, CameraModel.PINHOLE, width, height, (fx, fy, cx, cy), extra=extra)
        if fx and fy:
            # P = K [I | t]: t takes points of the rectified camera 0 to this one.
            t = np.array([(tx - cx * tz) / fx, (ty - cy * tz) / fy, tz])
            yield frame("camera", camera, pose_of((0.0, 0.0, 0.0), -t))
