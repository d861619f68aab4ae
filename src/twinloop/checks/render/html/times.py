"""The times of every stream in the form that the page draws: counts in bins, intervals, empty stretches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.kinds import GROUPED_KINDS, StampSource
from twinloop.core.timeline import timeline_ns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from twinloop.core.clock import ClockModel
    from twinloop.core.recording import Recording
    from twinloop.core.stream import Stream

BINS = 480
#: An interval over this many periods is drawn as empty.
GAP_PERIODS = 2.5
#: A stream with fewer samples, or less steady ones, has no period to hold it to.
_FEWEST = 20
_MOST_GAPS = 200
#: Times of streams with more samples are thinned for the histogram of intervals.
_MOST_TIMES = 20_000_000


@dataclass(frozen=True, slots=True)
class StreamTimes:
    """Where one stream's samples lie.

    Attributes:
        epoch: what its clock counts from; streams of different epochs share no axis.
        samples: how many there are. count, first_ns, last_ns: of those that have a time.
        period_ns: median interval; None for sporadic streams.
        density: (BINS,) samples a bin over what its period leads to expect, 0 to 1.
        gaps: (start, end) ns of stretches without samples, the longest first.
        intervals_ms: (N - 1,) intervals, thinned in very long streams.
    """

    stream: Stream
    epoch: str
    samples: int
    count: int
    first_ns: int
    last_ns: int
    period_ns: float | None
    density: NDArray[np.float64]
    gaps: tuple[tuple[int, int], ...]
    intervals_ms: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Axis:
    """The time axis of one epoch."""

    start_ns: int
    end_ns: int

    def fraction(self, time_ns: float) -> float:
        """Where a time lies, 0 to 1."""
        return min(max((time_ns - self.start_ns) / max(self.end_ns - self.start_ns, 1), 0.0), 1.0)

    @property
    def duration_s(self) -> float:
        return (self.end_ns - self.start_ns) / 1e9


def read_times(
    recording: Recording, models: tuple[ClockModel, ...] = ()
) -> tuple[list[StreamTimes], dict[str, Axis]]:
    """Times of all streams, read one stream after the other, and the axis of each epoch."""
    raw = []
    for stream in recording.streams.values():
        times, samples = _sample_times(recording, stream, models)
        raw.append(_summary(stream, times, samples))
    axes = _axes([times for times, _ in raw])
    return [_with_density(times, starts, axes) for times, starts in raw], axes


def _sample_times(
    recording: Recording, stream: Stream, models: tuple[ClockModel, ...]
) -> tuple[NDArray[np.int64], int]:
    """Times (N,) of the samples that have one, in order, and how many samples there are in all.

    Of a message that holds several rows the first one counts. A grid starts at zero; elsewhere zero is no time.
    """
    parts, samples, last = [np.empty(0, np.int64)], 0, None
    for batch in recording.scan([stream.name], payload=False):
        times = timeline_ns(stream, batch.columns, models)
        if stream.kind in GROUPED_KINDS and "message" in batch.columns.schema.names and len(times):
            message = np.asarray(batch.columns.column("message"))
            before = message[0] - 1 if last is None else last
            times, last = times[np.diff(message, prepend=before) != 0], message[-1]
        samples += len(times)
        parts.append(times if stream.stamp_source is StampSource.GRID else times[times != 0])
    return np.sort(np.concatenate(parts)), samples


_Raw = tuple[StreamTimes, "NDArray[np.int64]"]


def _summary(stream: Stream, times: NDArray[np.int64], samples: int) -> _Raw:
    clock = stream.stamp_clock if stream.timeline == "stamp_ns" else stream.log_clock
    gaps: tuple[tuple[int, int], ...] = ()
    period = None
    intervals = np.diff(times)
    if len(times) >= _FEWEST and stream.stamp_source is not StampSource.GRID:
        median = float(np.median(intervals))
        steady = np.mean(np.abs(intervals - median) <= median) if median > 0 else 0.0
        if steady > 0.8:
            period = median
            wide = np.flatnonzero(intervals > GAP_PERIODS * median)
            wide = wide[np.argsort(-intervals[wide], kind="stable")][:_MOST_GAPS]
            gaps = tuple((int(times[i]), int(times[i + 1])) for i in wide)
    step = max(len(intervals) // _MOST_TIMES, 1)
    summary = StreamTimes(
        stream,
        str(clock.epoch.value),
        samples,
        len(times),
        int(times[0]) if len(times) else 0,
        int(times[-1]) if len(times) else 0,
        period,
        np.zeros(BINS),
        gaps,
        (intervals[::step] / 1e6).astype(np.float32),
    )
    return summary, times


def _axes(streams: Sequence[StreamTimes]) -> dict[str, Axis]:
    axes = {}
    for epoch in dict.fromkeys(times.epoch for times in streams if times.count):
        mine = [times for times in streams if times.epoch == epoch and times.count]
        axes[epoch] = Axis(min(t.first_ns for t in mine), max(t.last_ns for t in mine))
    return axes


def _with_density(times: StreamTimes, starts: NDArray[np.int64], axes: dict[str, Axis]) -> StreamTimes:
    if not times.count:
        return times
    axis = axes[times.epoch]
    span = max(axis.end_ns - axis.start_ns, 1)
    bins = np.minimum((starts - axis.start_ns) * BINS // span, BINS - 1)
    counts = np.bincount(bins, minlength=BINS)
    expected = max(span / BINS / times.period_ns, 1.0) if times.period_ns else float(counts.max())
    if times.period_ns and span / BINS < times.period_ns:  # bins narrower than the period: fill between samples
        reach = int(np.ceil(times.period_ns * 1.5 * BINS / span))
        counts = np.convolve(counts, np.ones(reach, np.int64))[:BINS]
    # One sample more or less falls into a bin by chance.
    density = np.where(counts >= expected - 1, np.minimum(counts, 1), np.clip(counts / expected, 0.0, 1.0))
    return replace(times, density=density)
