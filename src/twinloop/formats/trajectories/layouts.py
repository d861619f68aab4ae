"""Which of the three layouts a file of poses has, judged by its first rows."""

from __future__ import annotations

import re
from enum import StrEnum

import numpy as np

from twinloop.formats.table.dialect import is_text
from twinloop.formats.table.spaced import first_rows

#: Quaternions in files are rounded; one further from unit length than this is not one.
NORM_TOLERANCE = 0.02
#: As much may the rows of a rotation matrix differ from orthonormal ones.
MATRIX_TOLERANCE = 0.02
_EUROC = re.compile(rb"#\s*timestamp[^\n]*p_(RS_)?R?\w*_?x[^\n]*q_\w*w", re.IGNORECASE)

TUM_COLUMNS = ("time", "x", "y", "z", "qx", "qy", "qz", "qw")
KITTI_COLUMNS = tuple(f"{'r' if k % 4 < 3 else 't'}{k // 4}{k % 4}" for k in range(12))
#: EuRoC's columns in order, of which a file has the first 8, 11 or 17.
EUROC_COLUMNS = (
    *("time", "x", "y", "z", "qw", "qx", "qy", "qz", "vx", "vy", "vz"),
    *("bwx", "bwy", "bwz", "bax", "bay", "baz"),
)


class Layout(StrEnum):
    """How a row says a pose."""

    TUM = "TUM"
    EUROC = "EuRoC"
    KITTI = "KITTI"


def layout_of(head: bytes) -> Layout | None:
    """The layout of a file that starts with `head`; None where it is no trajectory.

    Rows must be poses, not only as many numbers: unit quaternions, or rotation matrices.
    """
    if not is_text(head):
        return None
    rows = first_rows(head)
    if not rows or len(widths := {len(row) for row in rows}) != 1:
        return None
    (width,) = widths
    values = np.array(rows)
    if not np.isfinite(values).all():
        return None
    if _EUROC.match(head) and width in (8, 11, 17):
        return Layout.EUROC
    if width == 8 and _are_unit(values[:, 4:]) and _go_on(values[:, 0]):
        return Layout.TUM
    if width == 12 and _are_rotations(values.reshape(-1, 3, 4)[:, :, :3]):
        return Layout.KITTI
    return None


def _are_unit(quaternions: np.ndarray) -> bool:
    return bool((np.abs(np.linalg.norm(quaternions, axis=1) - 1) < NORM_TOLERANCE).all())


def _are_rotations(matrices: np.ndarray) -> bool:
    off = np.abs(matrices @ matrices.transpose(0, 2, 1) - np.eye(3)).max()
    return bool(off < MATRIX_TOLERANCE and (np.linalg.det(matrices) > 0).all())


def _go_on(times: np.ndarray) -> bool:
    return bool((times >= 0).all() and (np.diff(times) >= 0).all())
