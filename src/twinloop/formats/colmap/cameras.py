"""COLMAP's cameras: models by number and name, and the order of their parameters."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from twinloop.core.calibration import CameraCalibration, CameraModel
from twinloop.core.errors import UnreadableError
from twinloop.formats.calibrations.values import floats

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

#: By COLMAP's number: name, what it is here, leading numbers that stand for fx fy cx cy, all numbers.
MODELS: tuple[tuple[str, CameraModel, int, int], ...] = (
    ("SIMPLE_PINHOLE", CameraModel.PINHOLE, 3, 3),
    ("PINHOLE", CameraModel.PINHOLE, 4, 4),
    ("SIMPLE_RADIAL", CameraModel.RADIAL, 3, 4),
    ("RADIAL", CameraModel.RADIAL, 3, 5),
    ("OPENCV", CameraModel.RADTAN, 4, 8),
    ("OPENCV_FISHEYE", CameraModel.FISHEYE, 4, 8),
    ("FULL_OPENCV", CameraModel.RADTAN, 4, 12),
    ("FOV", CameraModel.FOV, 4, 5),
    ("SIMPLE_RADIAL_FISHEYE", CameraModel.OTHER, 3, 4),
    ("RADIAL_FISHEYE", CameraModel.OTHER, 3, 5),
    ("THIN_PRISM_FISHEYE", CameraModel.OTHER, 4, 12),
)
_NUMBER = {name: number for number, (name, *_) in enumerate(MODELS)}
_HEAD = struct.Struct("<iiQQ")
_MOST_BYTES = 64 << 20


def camera_name(id: int) -> str:
    """What a camera is called here."""
    return f"camera_{id}"


def is_camera_list(head: bytes, binary: bool) -> bool:
    """Whether a file that starts with `head` is a list of cameras."""
    if binary:
        if len(head) < 8 + _HEAD.size:
            return False
        (count,) = struct.unpack_from("<Q", head)
        _, model, width, height = _HEAD.unpack_from(head, 8)
        return 0 < count < 1 << 32 and 0 <= model < len(MODELS) and 0 < width < 1 << 20 and 0 < height < 1 << 20
    lines = [line.split() for line in head.decode("ascii", "replace").splitlines() if not line.startswith("#")]
    return bool(lines) and len(lines[0]) > 4 and lines[0][1] in _NUMBER


def read_cameras(path: Path) -> Iterator[CameraCalibration]:
    """The cameras of ``cameras.bin`` or ``cameras.txt``.

    Raises:
        UnreadableError: at the first one that does not read.
    """
    with path.open("rb") as file:
        data = file.read(_MOST_BYTES)
    yield from _binary(data) if path.suffix == ".bin" else _text(data.decode("ascii", "replace"))


def _binary(data: bytes) -> Iterator[CameraCalibration]:
    if len(data) < 8:
        raise UnreadableError("the list of cameras ends in its count")
    (count,) = struct.unpack_from("<Q", data)
    place = 8
    for number in range(count):
        if place + _HEAD.size > len(data):
            raise UnreadableError(f"{count} cameras are declared, {number} are there")
        id, model, width, height = _HEAD.unpack_from(data, place)
        if not 0 <= model < len(MODELS):
            raise UnreadableError(f"camera {id} is of model {model}", expected=f"0 to {len(MODELS) - 1}")
        size = MODELS[model][3]
        place += _HEAD.size
        if place + 8 * size > len(data):
            raise UnreadableError(f"the list of cameras ends in the parameters of camera {id}")
        yield _camera(id, model, width, height, struct.unpack_from(f"<{size}d", data, place))
        place += 8 * size


def _text(text: str) -> Iterator[CameraCalibration]:
    for line in text.splitlines():
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) < 5 or words[1] not in _NUMBER or not all(words[k].isdecimal() for k in (0, 2, 3)):
            raise UnreadableError(f"a line is no camera: {line[:80]!r}")
        id, width, height = (int(words[k][:18]) for k in (0, 2, 3))
        yield _camera(id, _NUMBER[words[1]], width, height, words[4:])


def _camera(id: int, number: int, width: int, height: int, parameters: Sequence[object]) -> CameraCalibration:
    name, model, lens, count = MODELS[number]
    values = floats(parameters, count)
    intrinsics = (values[0], *values[:3]) if lens == 3 else values[:4]
    fx, fy, cx, cy = intrinsics
    extra: dict[str, object] = {"model": name, "pixel_centre": 0.5}
    sound = 0 < width < 1 << 31 and 0 < height < 1 << 31
    size = (width, height) if sound else (None, None)
    return CameraCalibration(
        camera_name(id), model, size[0], size[1], (fx, fy, cx, cy), values[lens:], extra=extra
    )
