"""Facts of a recording that its index gives, without reading a sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.core.clock import Clock, Epoch

if TYPE_CHECKING:
    from twinloop.core.recording import EpisodeSpan, Recording
    from twinloop.core.stream import Stream

#: A declared and a measured rate further apart than this differ (LeRobot's linters take 1 to 10 %).
RATE_TOLERANCE = 0.01


@dataclass(frozen=True, slots=True)
class StreamFacts:
    """One stream; `clock` is that of its timeline, `measured_hz` its mean rate where index and span give it."""

    stream: Stream
    clock: Clock
    measured_hz: float | None

    @property
    def rates_differ(self) -> bool:
        """Whether the declared rate is not the measured one."""
        declared = self.stream.rate_hz
        if declared is None or self.measured_hz is None:
            return False
        return abs(self.measured_hz - declared) > RATE_TOLERANCE * declared

    @property
    def span_s(self) -> float | None:
        """Seconds from the first sample to the last."""
        start, end = self.stream.start_ns, self.stream.end_ns
        return None if start is None or end is None else (end - start) / 1e9


@dataclass(frozen=True, slots=True)
class ClockSpan:
    """First and last time of all streams on one clock."""

    clock: Clock
    start_ns: int
    end_ns: int

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return (self.end_ns - self.start_ns) / 1e9


def stream_facts(recording: Recording) -> list[StreamFacts]:
    """The facts of each stream, in the recording's order."""
    return [
        StreamFacts(stream, timeline_clock(stream), _measured_hz(stream, recording.episodes))
        for stream in recording.streams.values()
    ]


def clock_spans(recording: Recording) -> list[ClockSpan]:
    """The span on each epoch that some stream's timeline is on, the most used first."""
    groups: dict[Epoch, list[Stream]] = {}
    for stream in recording.streams.values():
        if stream.start_ns is not None and stream.end_ns is not None:
            groups.setdefault(timeline_clock(stream).epoch, []).append(stream)
    spans = [
        ClockSpan(
            Clock(epoch),
            min(s.start_ns for s in streams if s.start_ns is not None),
            max(s.end_ns for s in streams if s.end_ns is not None),
        )
        for epoch, streams in groups.items()
    ]
    return sorted(spans, key=lambda span: -len(groups[span.clock.epoch]))


def timeline_clock(stream: Stream) -> Clock:
    """The clock of the times that order a stream."""
    return stream.stamp_clock if stream.timeline == "stamp_ns" else stream.log_clock


def _measured_hz(stream: Stream, episodes: tuple[EpisodeSpan, ...]) -> float | None:
    """Samples a second; where episodes only follow one another on a made-up timeline, without the gaps."""
    if stream.count and episodes and timeline_clock(stream).epoch is Epoch.EPISODE:
        seconds = sum(episode.end_ns - episode.start_ns for episode in episodes) / 1e9
        whole = stream.rate_hz is not None and seconds > 0
        return stream.count / seconds if whole else None
    return stream.measured_rate_hz
