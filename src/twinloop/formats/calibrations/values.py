"""Numbers of calibration files: as many as there must be, all of them finite."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.calibration import FramePose
from twinloop.core.errors import UnreadableError
from twinloop.core.se3 import SE3

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from twinloop.core.calibration import CalibrationItem

#: No calibration file is larger.
MOST_BYTES = 512 << 10


class Calibration:
    """What a file holds: `items` in the file's order, and facts that are none of them (`facts`)."""

    def __init__(self) -> None:
        self.items: list[CalibrationItem] = []
        self.facts: dict[str, str] = {}
        self.skipped: list[str] = []


def floats(value: object, *counts: int) -> tuple[float, ...]:
    """A number or (nested) list as a flat tuple.

    Args:
        counts: how many numbers it may be; none given: any.

    Raises:
        UnreadableError: it holds other things than finite numbers, or another number of them.
    """
    try:
        flat = np.asarray(value, np.float64).reshape(-1)
    except (TypeError, ValueError):
        raise UnreadableError(f"{str(value)[:60]!r} where numbers are expected") from None
    if not np.isfinite(flat).all():
        raise UnreadableError("a number is not finite")
    if counts and len(flat) not in counts:
        raise UnreadableError(f"{len(flat)} numbers where {' or '.join(map(str, counts))} are expected")
    return tuple(flat.tolist())


def pixels(value: object) -> tuple[int, int] | tuple[None, None]:
    """(width, height); none where `value` is not two positive numbers."""
    try:
        width, height = floats(value, 2)
    except UnreadableError:
        return None, None
    return (int(width), int(height)) if width > 0 and height > 0 else (None, None)


def intrinsics_of(matrix: object) -> tuple[float, float, float, float]:
    """(fx, fy, cx, cy) of a camera matrix (3, 3)."""
    values = floats(matrix, 9)
    return values[0], values[4], values[2], values[5]


def pose_of(rotation: object, translation: object) -> SE3:
    """A transform of a rotation matrix (3, 3) or vector (3,), and a translation (3,)."""
    from scipy.spatial.transform import Rotation

    values = np.array(floats(rotation, 3, 9))
    try:
        turned = (
            Rotation.from_rotvec(values) if len(values) == 3 else Rotation.from_matrix(values.reshape(3, 3))
        )
    except ValueError as error:
        raise UnreadableError(f"a rotation is none: {error}") from None
    return SE3(turned.as_quat(scalar_first=True), np.array(floats(translation, 3)))


def pose_of_matrix(matrix: object) -> SE3:
    """A transform of a homogeneous matrix (4, 4) or its upper three rows."""
    values: NDArray[np.float64] = np.array(floats(matrix, 12, 16)).reshape(-1, 4)
    return pose_of(values[:3, :3], values[:3, 3])


def frame(parent: str, child: str, pose: SE3, unit: str = "m") -> FramePose:
    """`T_parent_child` as calibration holds it."""
    return FramePose(parent, child, tuple(pose.translation[0].tolist()), tuple(pose.rotation[0].tolist()), unit)


def plain(values: Mapping[str, object], without: frozenset[str] = frozenset()) -> dict[str, object]:
    """Those of a mapping's values that JSON has as they are, but for the names in `without`."""
    return {
        str(name): value
        for name, value in values.items()
        if name not in without and isinstance(value, (str, int, float, bool, list)) and value == value
    }
