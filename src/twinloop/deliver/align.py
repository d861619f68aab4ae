"""Samples of streams of any rate, brought to the rows of a dataset.

A dataset has one value of each feature in each row; streams have samples at times of their own. The
default takes the latest sample at or before the row, as a policy would see it: nothing from the future
leaks in.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.se3 import SE3

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The place of a row that has no sample.
NO_SAMPLE = -1


class Align(StrEnum):
    """Which sample a row takes."""

    LATEST = "latest"  # the latest at or before the row
    NEAREST = "nearest"  # the nearest in time, which may lie up to half an interval in the future
    INTERP = "interp"  # between the two around the row: linear, rotations along the shorter arc


@dataclass(frozen=True, slots=True)
class Aligned:
    """A feature's values in R rows.

    Attributes:
        values: (R, D) float64; NaN in rows without a sample.
        source_ns: (R,) int64, the time of the sample a row took (interpolated: of the earlier of the two).
            Meaningless in rows without a sample.
        age_ns: (R,) int64, row minus sample: negative where the sample is later than the row. Interpolated:
            the distance to the farther of the two.
        found: (R,) bool, whether the row has a sample.
    """

    values: NDArray[np.float64]
    source_ns: NDArray[np.int64]
    age_ns: NDArray[np.int64]
    found: NDArray[np.bool_]


def joined(parts: list[Aligned]) -> Aligned:
    """The rows of several runs, one after the other."""
    if len(parts) == 1:
        return parts[0]
    return Aligned(
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.source_ns for part in parts]),
        np.concatenate([part.age_ns for part in parts]),
        np.concatenate([part.found for part in parts]),
    )


def latest_at(times_ns: NDArray[np.int64], row_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each row (R,) the place of the latest sample at or before it, `NO_SAMPLE` where there is none.

    `times_ns` (N,) must not decrease. Of samples with one time, the last counts.
    """
    return np.searchsorted(times_ns, row_ns, "right") - 1


def nearest_to(times_ns: NDArray[np.int64], row_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each row (R,) the place of the nearest sample; of two at one distance, the earlier."""
    if not len(times_ns):
        return np.full(len(row_ns), NO_SAMPLE)
    before = latest_at(times_ns, row_ns)
    after = np.minimum(before + 1, len(times_ns) - 1)
    before = np.maximum(before, 0)
    return np.where(times_ns[after] - row_ns < row_ns - times_ns[before], after, before)


def pick(times_ns: NDArray[np.int64], row_ns: NDArray[np.int64], align: Align) -> NDArray[np.int64]:
    """The place of the whole sample each row takes; what cannot be blended (images) takes the nearest for
    `INTERP`."""
    return (latest_at if align is Align.LATEST else nearest_to)(times_ns, row_ns)


def align_samples(
    times_ns: NDArray[np.int64],
    values: NDArray[np.float64],
    row_ns: NDArray[np.int64],
    align: Align = Align.LATEST,
    rotations: tuple[int, ...] = (),
) -> Aligned:
    """Values of a feature in the rows of a dataset.

    Args:
        times_ns: (N,) int64, in any order. values: (N, D) float64.
        row_ns: (R,) int64, increasing.
        rotations: first columns of unit quaternions wxyz among the values, which `INTERP` turns along the
            shorter arc (Shoemake 1985) instead of blending their numbers.
    """
    if len(times_ns) and (np.diff(times_ns) < 0).any():
        order = np.argsort(times_ns, kind="stable")
        times_ns, values = times_ns[order], values[order]
    place = pick(times_ns, row_ns, align) if align is not Align.INTERP else latest_at(times_ns, row_ns)
    found = place >= 0
    if not len(times_ns):
        return Aligned(np.full((len(row_ns), values.shape[1]), np.nan), row_ns.copy(), row_ns * 0, found)
    place = np.maximum(place, 0)
    source_ns = times_ns[place]
    age_ns = row_ns - source_ns
    taken = values[place]
    if align is Align.INTERP:
        taken, age_ns = _between(times_ns, values, row_ns, place, rotations)
    return Aligned(np.where(found[:, None], taken, np.nan), source_ns, age_ns, found)


def _between(
    times_ns: NDArray[np.int64],
    values: NDArray[np.float64],
    row_ns: NDArray[np.int64],
    before: NDArray[np.int64],
    rotations: tuple[int, ...],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Values between the samples around each row, and the distance to the farther one. After the last
    sample its value holds."""
    after = np.minimum(before + 1, len(times_ns) - 1)
    span = times_ns[after] - times_ns[before]
    inside = (span > 0) & (row_ns > times_ns[before])
    fraction = np.where(inside, (row_ns - times_ns[before]) / np.maximum(span, 1), 0.0)
    taken = values[before] + fraction[:, None] * np.where(inside[:, None], values[after] - values[before], 0.0)
    for first in rotations:
        columns = slice(first, first + 4)
        taken[:, columns] = _turned(values[before, columns], values[after, columns], fraction)
    age_ns = row_ns - times_ns[before]
    return taken, np.where(inside, np.maximum(age_ns, times_ns[after] - row_ns), age_ns)


def _turned(
    start: NDArray[np.float64], end: NDArray[np.float64], fraction: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Quaternions (R, 4) wxyz between `start` and `end`; a row without a direction keeps its start."""
    norms = np.linalg.norm(start, axis=1) * np.linalg.norm(end, axis=1)
    good = np.isfinite(norms) & (norms > 0)
    turned = start.copy()
    if good.any():
        still = np.zeros((int(good.sum()), 3))
        turned[good] = SE3(start[good], still).interpolate(SE3(end[good], still), fraction[good]).rotation
        # q and -q are one rotation: stay on the side of the sample before, so the numbers do not jump.
        turned[good] *= np.where(np.sum(turned[good] * start[good], axis=1) < 0, -1.0, 1.0)[:, None]
    return turned
