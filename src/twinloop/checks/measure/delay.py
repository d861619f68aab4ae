"""How long after its stamp a sample reached the recorder, and how the two clocks run against each other.

Delays have a floor (transmission) and a tail (queues, scheduling), and only the floor tells of the clocks.
So the rate error is the slope of a robust line (Theil-Sen: median of the slopes of all pairs) through the
smallest delay of each of many windows. The idea of fitting the lower envelope is Moon, Skelly and Towsley,
"Estimation and removal of clock skew from network delay measurements", INFOCOM 1999; the estimator of the
line is Sen, "Estimates of the regression coefficient based on Kendall's tau", JASA 63 (1968).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.checks.measure.bounded import StridedSample

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WINDOWS = 1_024  # window minima kept; neighbours are merged beyond
_FITTED = 256  # windows that the line is fitted to
_FEWEST = 8  # windows below which no line is fitted


@dataclass(frozen=True, slots=True)
class DriftLine:
    """The stamp's clock against the recorder's.

    Attributes:
        ppm: growth of (log - stamp) in microseconds a second; positive: the stamps run slow.
        shift_ns: growth over all samples. scatter_ns: robust standard deviation of the window minima about
            the line. at_ns, floor_ns: a point of the line (stamp, delay).
    """

    ppm: float
    shift_ns: float
    scatter_ns: float
    at_ns: int
    floor_ns: float

    @property
    def confidence(self) -> float:
        """How far the shift stands out of the scatter: 0.5 at 4 times, towards 1 beyond."""
        ratio = abs(self.shift_ns) / max(4 * self.scatter_ns, 1.0)
        return float(ratio**2 / (1 + ratio**2))


@dataclass(frozen=True, slots=True)
class Delay:
    """log - stamp of a stream's samples.

    Attributes:
        count: samples with both times. least_ns, most_ns: exact extremes, with the stamps they occurred at.
        stamps_ns, delays_ns: (S,) all samples or evenly strided ones, in the file's order.
        arrival_ns: (A,) intervals between neighbours in the recorder's time, likewise.
        floor: (3, W) the smallest delay of each of some hundred runs of samples: delay, stamp, row.
        line: None where there are too few samples, or stamps do not advance.
    """

    count: int
    least_ns: int
    least_at_ns: int
    most_ns: int
    most_at_ns: int
    stamps_ns: NDArray[np.float64]
    delays_ns: NDArray[np.float64]
    arrival_ns: NDArray[np.float64]
    floor: NDArray[np.int64]
    line: DriftLine | None

    def shift_at(self, row: int) -> float | None:
        """By how much the floor is higher after a row than before it, ns; None too near to either end."""
        place = int(np.searchsorted(self.floor[2], row))
        before, after = self.floor[0, max(place - 4, 0) : place], self.floor[0, place : place + 4]
        if len(before) < 2 or len(after) < 2:
            return None
        return float(np.median(after) - np.median(before))


class DelayMeter:
    """Measures a `Delay` from stamps and log times that come block by block."""

    def __init__(self) -> None:
        self._window = 8
        self._minima: list[NDArray[np.int64]] = []  # (3, W): delay, stamp, row
        self._windows = 0
        self._rest = np.empty((3, 0), np.int64)
        self._pairs = StridedSample(16_384)
        self._arrivals = StridedSample(16_384)
        self._newest_log: int | None = None
        self._origin = 0
        self._count = 0
        self._least = (0, 0)
        self._most = (0, 0)
        self._span = (0, 0)

    def add(self, stamps: NDArray[np.int64], logs: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
        """Take in both times and the row numbers (N,) of samples in the file's order."""
        if not len(stamps):
            return
        delays = logs - stamps
        low, high = int(delays.argmin()), int(delays.argmax())
        least, most = (int(delays[low]), int(stamps[low])), (int(delays[high]), int(stamps[high]))
        span = (int(stamps.min()), int(stamps.max()))
        if not self._count:
            self._origin, self._least, self._most, self._span = int(stamps[0]), least, most, span
        self._least, self._most = min(self._least, least), max(self._most, most)
        self._span = (min(self._span[0], span[0]), max(self._span[1], span[1]))
        self._count += len(stamps)
        self._pairs.add(np.stack([stamps - self._origin, delays], axis=1))
        self._arrivals.add(
            np.diff(logs, prepend=logs[0] if self._newest_log is None else self._newest_log)[
                self._newest_log is None :
            ]
        )
        self._newest_log = int(logs[-1])
        self._add_minima(np.concatenate([self._rest, np.stack([delays, stamps, rows])], axis=1))

    def _add_minima(self, pairs: NDArray[np.int64]) -> None:
        whole = pairs.shape[1] // self._window * self._window
        self._rest = pairs[:, whole:]
        if not whole:
            return
        self._minima.append(_merge(pairs[:, :whole], self._window))
        self._windows += self._minima[-1].shape[1]
        while self._windows > _WINDOWS:
            self._minima = [_merge(np.concatenate(self._minima, axis=1), 2)]
            self._windows = self._minima[0].shape[1]
            self._window *= 2

    def finish(self) -> Delay | None:
        """The measurement; None without samples."""
        if not self._count:
            return None
        pairs = self._pairs.values()
        return Delay(
            count=self._count,
            least_ns=self._least[0],
            least_at_ns=self._least[1],
            most_ns=self._most[0],
            most_at_ns=self._most[1],
            stamps_ns=pairs[:, 0] + self._origin,
            delays_ns=pairs[:, 1],
            arrival_ns=self._arrivals.values(),
            floor=np.concatenate(self._minima, axis=1) if self._minima else np.empty((3, 0), np.int64),
            line=self._fit(),
        )

    def _fit(self) -> DriftLine | None:
        if self._windows < _FEWEST:
            return None
        minima = np.concatenate(self._minima, axis=1)
        minima = _merge(minima, max(1, minima.shape[1] // _FITTED))
        delay = (minima[0] - self._least[0]).astype(np.float64)
        stamp = (minima[1] - self._origin).astype(np.float64)
        i, j = np.triu_indices(len(delay), 1)
        run = stamp[j] - stamp[i]
        if not (run > 0).any():
            return None
        slope = float(np.median((delay[j] - delay[i])[run > 0] / run[run > 0]))
        height = float(np.median(delay - slope * stamp))
        scatter = 1.4826 * float(np.median(np.abs(delay - slope * stamp - height)))
        return DriftLine(
            ppm=slope * 1e6,
            shift_ns=slope * (self._span[1] - self._span[0]),
            scatter_ns=scatter,
            at_ns=self._origin,
            floor_ns=height + self._least[0],
        )


def _merge(pairs: NDArray[np.int64], by: int) -> NDArray[np.int64]:
    """The column of smallest delay of each `by` columns (3, N): delay, stamp, row."""
    whole = pairs.shape[1] // by * by
    lowest = pairs[0, :whole].reshape(-1, by).argmin(axis=1)
    return pairs[:, lowest + by * np.arange(len(lowest))]
