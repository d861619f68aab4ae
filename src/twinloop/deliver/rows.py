"""Which moments become the rows of a dataset: a camera's images, or a fixed grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: A pause between two images longer than this many periods is a gap.
GAP_PERIODS = 1.5
#: A camera whose rate is off the rows' by more than this is resampled.
RATE_TOLERANCE = 0.01
#: Fewer rows than this do not make an episode.
LEAST_ROWS = 2


@dataclass(frozen=True, slots=True)
class CameraClock:
    """The images of one camera are the rows. `camera` is its feature's name, or the last part of it.

    `fps` None: the camera's own rate, rounded to a whole number (LeRobot's fps is whole).
    """

    camera: str
    fps: int | None = None

    def names(self, feature: str) -> bool:
        """Whether `feature` is the camera meant."""
        return feature == self.camera or feature.rsplit(".", 1)[-1] == self.camera


@dataclass(frozen=True, slots=True)
class FixedClock:
    """Rows on a grid of `fps` rows a second, from each episode's start."""

    fps: int


RowClock = CameraClock | FixedClock


@dataclass(frozen=True, slots=True)
class RowSpan:
    """A run of rows that becomes one episode of the dataset.

    Attributes:
        row_ns: (R,) int64, strictly increasing: the true time of each row.
        resampled: why the rows are not a camera's images one to one; empty where they are, or were never
            meant to be (a fixed clock).
        filled: rows that were put into gaps.
        after_gap_s: length of the gap before it that split the episode, None for the first span.
    """

    row_ns: NDArray[np.int64]
    resampled: str = ""
    filled: int = 0
    after_gap_s: float | None = None


def grid_ns(start_ns: int, rows: int, fps: int) -> NDArray[np.int64]:
    """(rows,) int64: start + k / fps, each rounded to the nanosecond on its own (no drift)."""
    return start_ns + (np.arange(rows, dtype=np.int64) * 1_000_000_000 + fps // 2) // fps


def mean_interval_ns(times_ns: NDArray[np.int64]) -> float | None:
    """The mean interval between samples (N,), gaps and bursts left out; None for fewer than two times.

    A mean, not a median: stamps of whole milliseconds put the median of 30 Hz at 33 ms, 1 % off. What is
    left out lies as far below the median as above, so that an image late by itself shifts nothing.
    """
    intervals = np.diff(times_ns)
    intervals = intervals[intervals > 0]
    if not len(intervals):
        return None
    off = np.abs(intervals / np.median(intervals) - 1)
    return float(intervals[off <= GAP_PERIODS - 1].mean())


def fits_rate(times_ns: NDArray[np.int64], fps: int) -> bool:
    """Whether images at `times_ns` (N,), without gaps, run at `fps` to within `RATE_TOLERANCE`.

    A run so short that its whole drift stays within half a period fits whatever its jitter says.
    """
    interval = mean_interval_ns(times_ns)
    if interval is None:
        return True
    drift = abs(interval - 1e9 / fps)
    return drift <= RATE_TOLERANCE * 1e9 / fps or drift * (len(times_ns) - 1) <= 0.5e9 / fps


def camera_spans(times_ns: NDArray[np.int64], fps: int, keep_gaps: bool = False) -> list[RowSpan]:
    """The rows that a camera's images at `times_ns` (N,) int64, not decreasing, make of one episode.

    Each image is a row; images of one time count once. Gaps split, or are filled with evenly spaced rows
    for `keep_gaps`. A run whose rate does not fit `fps` gets rows on a grid instead.
    """
    times_ns = np.unique(times_ns)
    interval = mean_interval_ns(times_ns)
    if interval is None:
        return []
    gap = np.diff(times_ns)
    wide = np.nonzero(gap > GAP_PERIODS * interval)[0]
    if keep_gaps:
        return [_filled(times_ns, wide, fps)]
    spans = []
    for number, run in enumerate(np.split(times_ns, wide + 1)):
        after = None if number == 0 else float(gap[wide[number - 1]]) / 1e9
        spans.append(_image_rows(run, fps, after))
    return spans


def _image_rows(run: NDArray[np.int64], fps: int, after_gap_s: float | None) -> RowSpan:
    if fits_rate(run, fps):
        return RowSpan(run, after_gap_s=after_gap_s)
    return RowSpan(_grid_over(run, fps), _off_rate(run, fps), after_gap_s=after_gap_s)


def _filled(times_ns: NDArray[np.int64], wide: NDArray[np.int64], fps: int) -> RowSpan:
    runs = np.split(times_ns, wide + 1)
    misfit = next((run for run in runs if not fits_rate(run, fps)), None)
    if misfit is not None:
        return RowSpan(_grid_over(times_ns, fps), _off_rate(misfit, fps))
    fillers = []
    for before in wide:
        start, end = int(times_ns[before]), int(times_ns[before + 1])
        count = max(round((end - start) * fps / 1e9) - 1, 0)
        fillers.append(start + (np.arange(1, count + 1) * (end - start)) // (count + 1))
    rows = np.sort(np.concatenate([times_ns, *fillers])).astype(np.int64)
    return RowSpan(rows, filled=len(rows) - len(times_ns))


def _grid_over(times_ns: NDArray[np.int64], fps: int) -> NDArray[np.int64]:
    return fixed_rows(int(times_ns[0]), int(times_ns[-1]) + 1, fps)


def _off_rate(run: NDArray[np.int64], fps: int) -> str:
    rate = 1e9 / (mean_interval_ns(run) or 1.0)
    return f"the camera runs at {rate:.3f} Hz, {abs(rate / fps - 1):.1%} off the rows' {fps}"


def fixed_rows(start_ns: int, end_ns: int, fps: int) -> NDArray[np.int64]:
    """The rows of a grid from `start_ns` that lie before `end_ns`, (R,) int64."""
    if end_ns <= start_ns:
        return np.zeros(0, np.int64)
    rows = grid_ns(start_ns, int((end_ns - start_ns) * fps // 1_000_000_000) + 2, fps)
    return rows[rows < end_ns]
