"""How a stream's samples lie in time: period, jitter, long intervals, order, repeats. One pass, flat memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.checks.measure.bounded import PlaceList, Places, StridedSample
from twinloop.checks.measure.intervals import Intervals

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCK = 16_384  # samples that are looked at together
_HELD_BACK = 2_048  # newest samples kept for the next block: late ones may still come before them
_BEFORE = 3  # intervals before a long one in which an early sample may explain it
_LONGEST, _LONGEST_SMALL = 2_048, 128  # long intervals kept
_PLACES, _PLACES_SMALL = 1_000, 64  # places kept
_SAMPLE_SMALL = 128  # intervals kept of an episode
_INTERESTING = 1.2  # intervals from this many periods on are candidates for gaps


@dataclass(frozen=True, slots=True)
class LongIntervals:
    """The longest intervals between neighbouring samples, in order of time.

    Attributes:
        row: (L,) the sample that ends each. start_ns, end_ns: (L,) the two samples' times.
        excess: (L,) periods that are missing there on balance: an interval of 2 periods that is followed by
            regular ones misses 1; one that is made up for by short ones (a late sample, a queue that is
            emptied at once) misses 0.
        followed: (L,) whether enough samples come after it to see whether it is made up for.
        unplaced: (L,) samples of the file that lie there but have no time of their own.
        lost_seq: (L,) samples missing by the producer's own count; -1 where it does not count.
    """

    row: NDArray[np.int64]
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    excess: NDArray[np.float64]
    followed: NDArray[np.bool_]
    unplaced: NDArray[np.int64]
    lost_seq: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.row)

    @property
    def length_ns(self) -> NDArray[np.int64]:
        """Length of each interval."""
        return self.end_ns - self.start_ns

    def where(self, keep: NDArray[np.bool_]) -> LongIntervals:
        """The chosen ones."""
        return LongIntervals(
            self.row[keep],
            self.start_ns[keep],
            self.end_ns[keep],
            self.excess[keep],
            self.followed[keep],
            self.unplaced[keep],
            self.lost_seq[keep],
        )


@dataclass(frozen=True, slots=True)
class Timing:
    """How the samples of a stream (or of one episode of it) lie in time.

    Attributes:
        count: samples with a time. first_ns, last_ns: the earliest and the latest.
        intervals: between neighbours in time. sample_ns: (I,) positive intervals, all or evenly strided ones,
            in order of time (few for an episode; for a histogram take the whole recording's).
        long: candidates for gaps. backwards: samples earlier than the one before them in the file
            (`start_ns` theirs, `end_ns` of the one before). repeated: samples at the time of another.
        off_grid: of times on a declared grid, (largest distance from it in ns, row, time); None: no grid.
        off_pace: the same of sample k from k steps after the first, where a pace is claimed for measured times.
    """

    count: int
    first_ns: int
    last_ns: int
    intervals: Intervals
    sample_ns: NDArray[np.float64]
    long: LongIntervals
    backwards: Places
    repeated: Places
    off_grid: tuple[float, int, int] | None = None
    off_pace: tuple[float, int, int] | None = None

    @property
    def span_ns(self) -> int:
        """From the earliest to the latest sample."""
        return self.last_ns - self.first_ns

    @property
    def mean_ns(self) -> float:
        """Mean interval; 0 with fewer than two samples."""
        return self.span_ns / (self.count - 1) if self.count > 1 else 0.0

    @property
    def period_ns(self) -> float:
        """Median interval; 0 with fewer than two samples."""
        return self.intervals.median

    @property
    def jitter_ns(self) -> float:
        """Standard deviation of the regular intervals."""
        return self.intervals.jitter

    def gap_limit_ns(self, periods: float) -> float:
        """From which length on an interval is a gap: `periods`, more where the stream's own jitter is large.

        Six standard deviations beyond the period keep an honest but uneven stream free of alarms; an
        unsteady stream (under 80 % of its intervals near the period) gets twice its 99th percentile.
        """
        limit = max(periods * self.period_ns, self.period_ns + 6 * self.jitter_ns)
        return max(limit, 2 * self.intervals.late) if self.intervals.steadiness < 0.8 else limit


class TimingMeter:
    """Measures a `Timing` from times that come block by block.

    Args:
        rate_hz: of the grid that the times are said to lie on; None: they are on no grid.
        pace_hz: rate at which a video file claims that samples follow each other; None: there is no claim.
        small: keep little of what was seen, as of one of many episodes.
    """

    def __init__(
        self, rate_hz: float | None = None, pace_hz: float | None = None, *, small: bool = False
    ) -> None:
        self.rate_hz = rate_hz
        self.pace_hz = pace_hz
        self._small = small
        self._most_long = _LONGEST_SMALL if small else _LONGEST
        self._waiting: list[NDArray[np.int64]] = []  # (3, N): time, row, seq
        self._waiting_size = 0
        self._newest_raw: int | None = None
        self._held = np.empty((3, 0), np.int64)  # sorted by time; the first `_done` intervals are counted
        self._done = 0
        self._count = 0
        self._first = 0
        self._last = 0
        self._sample = StridedSample()
        self._shortest, self._longest_interval = np.inf, 0.0
        self._long: list[tuple[NDArray[np.int64], NDArray[np.float64]]] = []
        self._backwards = PlaceList(_PLACES_SMALL if small else _PLACES)
        self._repeated = PlaceList(_PLACES_SMALL if small else _PLACES)
        self._off_grid = (0.0, 0, 0)
        self._off_pace = (0.0, 0, 0)
        self._origin: int | None = None

    def add(self, times: NDArray[np.int64], rows: NDArray[np.int64], seq: NDArray[np.int64] | None) -> None:
        """Take in samples in the file's order: times, row numbers and, where there is one, the count (N,)."""
        if not len(times):
            return
        if seq is None:
            seq = np.full(len(times), -1, np.int64)
        self._waiting.append(np.stack([times, rows, seq]))
        self._waiting_size += len(times)
        if self._waiting_size >= _BLOCK:
            self._look(_HELD_BACK)

    def finish(self) -> Timing:
        """The measurement; nothing more can be added."""
        self._look(0)
        sample = self._sample.values()
        numbers, excess = self._longest()
        repeated = self._repeated.places()
        repeats = repeated.total / max(self._count - 1 - repeated.total, 1)
        return Timing(
            count=self._count,
            first_ns=self._first,
            last_ns=self._last,
            intervals=Intervals.of(sample, repeats, float(self._shortest), float(self._longest_interval)),
            sample_ns=sample[:: max(1, len(sample) // _SAMPLE_SMALL)].copy() if self._small else sample,
            long=LongIntervals(
                row=numbers[0],
                start_ns=numbers[1],
                end_ns=numbers[2],
                excess=excess,
                followed=numbers[5].astype(np.bool_),
                unplaced=numbers[4],
                lost_seq=numbers[3],
            ),
            backwards=self._backwards.places(),
            repeated=repeated,
            off_grid=None if self.rate_hz is None else self._off_grid,
            off_pace=None if self.pace_hz is None else self._off_pace,
        )

    def _look(self, hold: int) -> None:
        fresh = np.concatenate(self._waiting, axis=1) if self._waiting else np.empty((3, 0), np.int64)
        self._waiting, self._waiting_size = [], 0
        if fresh.shape[1]:
            self._look_at_claims(fresh)
            self._look_at_order(fresh)
        known = np.concatenate([self._held, fresh], axis=1)
        if (known[0, 1:] < known[0, :-1]).any():
            known = known[:, np.argsort(known[0], kind="stable")]
        end = known.shape[1] - hold
        if end - 1 > self._done:
            self._look_at_intervals(known, self._done, end - 1)
            keep = max(end - 1 - _BEFORE, 0)
            self._held, self._done = known[:, keep:], end - 1 - keep
        else:
            self._held = known

    def _look_at_order(self, fresh: NDArray[np.int64]) -> None:
        times, rows = fresh[0], fresh[1]
        if self._count:
            self._first, self._last = min(self._first, int(times.min())), max(self._last, int(times.max()))
        else:
            self._first, self._last = int(times.min()), int(times.max())
        self._count += len(times)
        before = np.concatenate([[times[0] if self._newest_raw is None else self._newest_raw], times[:-1]])
        back = np.flatnonzero(times < before)
        self._backwards.add(rows[back], times[back], before[back])
        self._newest_raw = int(times[-1])

    def _look_at_claims(self, fresh: NDArray[np.int64]) -> None:
        """How far the times are from the grid or the pace that is claimed for them."""
        if not (self.rate_hz or self.pace_hz):
            return
        if self._origin is None:
            self._origin = int(fresh[0, 0])
        since = (fresh[0] - self._origin).astype(np.float64)
        if self.rate_hz:
            nearest = np.rint(since * self.rate_hz / 1e9)
            self._off_grid = max(self._off_grid, _farthest(since - nearest * 1e9 / self.rate_hz, fresh))
        if self.pace_hz:
            number = self._count + np.arange(len(since))
            self._off_pace = max(self._off_pace, _farthest(since - number * 1e9 / self.pace_hz, fresh))

    def _look_at_intervals(self, known: NDArray[np.int64], begin: int, end: int) -> None:
        """Intervals begin..end-1 of the sorted samples; interval i is between samples i and i + 1."""
        times, rows, seq = known
        intervals = np.diff(times)
        new = intervals[begin:end]
        same = begin + np.flatnonzero(new == 0)
        self._repeated.add(rows[same + 1], times[same + 1], times[same + 1])
        positive = new[new > 0]
        self._sample.add(positive)
        if not len(positive):
            return
        self._shortest = min(self._shortest, float(positive.min()))
        self._longest_interval = max(self._longest_interval, float(positive.max()))
        period = float(np.median(positive))
        long = begin + np.flatnonzero(new > _INTERESTING * period)
        if not len(long):
            return
        if len(long) > self._most_long:
            longest = np.argpartition(intervals[long], -self._most_long)[-self._most_long :]
            long = np.sort(long[longest])
        unplaced = np.maximum(rows[long + 1] - rows[long] - 1, 0)
        counts = (seq[long] >= 0) & (seq[long + 1] > seq[long])
        counted = np.where(counts, np.maximum(seq[long + 1] - seq[long] - 1 - unplaced, 0), -1)
        excess = _excess(intervals, long, period)
        followed = long + 1 + np.ceil(intervals[long] / period) <= len(intervals)
        numbers = np.stack([rows[long + 1], times[long], times[long + 1], counted, unplaced, followed])
        self._long.append((numbers, excess - unplaced))
        if sum(len(part[1]) for part in self._long) > 4 * self._most_long:
            self._long = [self._longest()]

    def _longest(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        if not self._long:
            return np.empty((6, 0), np.int64), np.empty(0)
        numbers = np.concatenate([part[0] for part in self._long], axis=1)
        excess = np.concatenate([part[1] for part in self._long])
        if len(excess) > self._most_long:
            longest = np.argpartition(numbers[2] - numbers[1], -self._most_long)[-self._most_long :]
            numbers, excess = numbers[:, longest], excess[longest]
        order = np.argsort(numbers[1], kind="stable")
        return numbers[:, order], excess[order]


def _farthest(distance: NDArray[np.float64], fresh: NDArray[np.int64]) -> tuple[float, int, int]:
    """The largest distance, with its row and time."""
    worst = int(np.abs(distance).argmax())
    return float(abs(distance[worst])), int(fresh[1, worst]), int(fresh[0, worst])


def _excess(intervals: NDArray[np.int64], long: NDArray[np.int64], period: float) -> NDArray[np.float64]:
    """Periods that are missing at each long interval once its neighbours' shortness is credited to it.

    Looked at are 3 intervals before and as many after as the interval has periods, plus 2; other long
    intervals among them count as regular. The sum telescopes to the distance of two samples, so that
    jitter does not add up over the window.
    """
    periods = intervals / period
    deviation = np.where(periods < 1.5, periods - 1, 0.0)
    running = np.concatenate([[0.0], np.cumsum(deviation)])
    after = np.minimum(long + 3 + np.ceil(periods[long]).astype(np.int64), len(intervals))
    before = np.maximum(long - _BEFORE, 0)
    own = periods[long] - 1
    return own + (running[after] - running[long + 1]) + (running[long] - running[before])
