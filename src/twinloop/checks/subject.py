"""What a rule is given: one episode, one recording, or a set of episode summaries. Opens no store.

A subject answers with measurements that were made once for all rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from twinloop.checks.commands import CommandPair, pair_commands
from twinloop.checks.measure.lag import Lag, measure_lag
from twinloop.checks.measure.observer import Observed, Span, is_grid, why_untimed
from twinloop.core.kinds import Kind

if TYPE_CHECKING:
    import pyarrow as pa

    from twinloop.checks.measure.timing import Timing
    from twinloop.core.mapping import Feature
    from twinloop.core.mapping import Mapping as FeatureMapping
    from twinloop.core.recording import ReadNote, Recording
    from twinloop.core.session import Episode
    from twinloop.core.stream import Stream
    from twinloop.formats.mapping.feature import FeatureSamples

#: Kinds that come when something happens, not at a rate.
SPORADIC_KINDS = frozenset({Kind.JOY, Kind.TEXT, Kind.EVENT, Kind.LABEL, Kind.CAMERA_INFO})
#: Kinds of sensors that sample at a rate, however unevenly; others are held to a rate if they keep one.
SENSOR_KINDS = frozenset(
    {
        Kind.JOINTS,
        Kind.WRENCH,
        Kind.IMU,
        Kind.MAGNETOMETER,
        Kind.BAROMETER,
        Kind.GNSS,
        Kind.POSE,
        Kind.ODOMETRY,
        Kind.IMAGE,
        Kind.DEPTH,
        Kind.POINTS,
        Kind.SCAN,
        Kind.TACTILE,
        Kind.AUDIO,
    }
)
_FEWEST_SENSOR_SAMPLES = 10
_FEWEST_OTHER_SAMPLES = 50
_STEADY = 0.9


@dataclass(frozen=True)
class RecordingSubject:
    """One recording with all that was measured of it.

    Attributes:
        streams: name -> stream. observed: name -> measurements over the whole recording.
        spans: of its episodes; empty where it has none. mapping: features; None where there is none.
        notes: what the reader saw.
    """

    recording: Recording
    observed: Mapping[str, Observed]
    spans: Sequence[Span] = ()
    mapping: FeatureMapping | None = None

    @property
    def path(self) -> str:
        """Where the recording lies."""
        return self.recording.place

    @property
    def streams(self) -> Mapping[str, Stream]:
        """Name -> stream, in the source's order."""
        return self.recording.streams

    @property
    def notes(self) -> Sequence[ReadNote]:
        """What the reader saw, scanning included."""
        return self.recording.notes

    def timing(self, stream: Stream) -> Timing | None:
        """How the stream's samples lie in time; None without samples."""
        timing = self.observed[stream.name].timing
        return timing if timing.count else None

    def timed(self) -> Iterator[tuple[Stream, Timing]]:
        """Streams whose times were measured, not made up, with their timing."""
        for stream in self.streams.values():
            timing = self.timing(stream)
            if timing and why_untimed(self.observed[stream.name]) is None:
                yield stream, timing

    def timed_streams(self) -> list[Stream]:
        """Streams with samples whose times were measured, in the whole recording."""
        return [seen.stream for seen in self.observed.values() if seen.timing.count and not why_untimed(seen)]

    def continuous(self) -> Iterator[tuple[Stream, Timing]]:
        """Those of `timed` that sample at a rate: sensors, and whatever else keeps one."""
        return ((stream, timing) for stream, timing in self.timed() if self.keeps_rate(stream))

    def keeps_rate(self, stream: Stream) -> bool:
        """Whether a stream can be held to a rate: by its kind, or because it keeps one."""
        whole = self.observed[stream.name].timing
        if stream.kind in SPORADIC_KINDS:
            return False
        if stream.kind in SENSOR_KINDS:
            return whole.count >= _FEWEST_SENSOR_SAMPLES
        return whole.count >= _FEWEST_OTHER_SAMPLES and whole.intervals.steadiness >= _STEADY

    def on_grid(self) -> Iterator[tuple[Stream, Timing]]:
        """Streams whose times are a grid, with their timing."""
        for stream in self.streams.values():
            if is_grid(stream) and (timing := self.timing(stream)):
                yield stream, timing

    def is_used(self, stream: Stream) -> bool:
        """Whether a feature is taken from the stream; where there is no mapping, any may be used."""
        return self.mapping is None or not self.mapping.features or self.feature_of(stream) is not None

    def feature_of(self, stream: Stream) -> Feature | None:
        """The first feature that the mapping takes from a stream."""
        features = self.mapping.features if self.mapping else ()
        return next((feature for feature in features if feature.stream == stream.name), None)

    def table(
        self,
        stream: str,
        columns: list[str] | None = None,
        start_ns: int | None = None,
        end_ns: int | None = None,
    ) -> pa.Table:
        """A stream's samples in [start_ns, end_ns), bulk bytes left out. Reads the recording once more."""
        import pyarrow as pa

        batches = self.recording.scan([stream], start_ns=start_ns, end_ns=end_ns, payload=False)
        tables = [
            pa.Table.from_batches([batch.columns.select(columns) if columns else batch.columns])
            for batch in batches
        ]
        return pa.concat_tables(tables, promote_options="permissive") if tables else pa.table({})

    def episode_at(self, time_ns: int) -> Span | None:
        """The first episode that a time lies in."""
        return next((span for span in self.spans if span.start_ns <= time_ns < span.end_ns), None)

    def clock(self, stream: Stream) -> str:
        """The clock that the stream's times on the timeline are on."""
        return str(stream.stamp_clock if stream.timeline == "stamp_ns" else stream.log_clock)

    def origin_ns(self, stream: Stream) -> int | None:
        """Where seconds are counted from: the earliest sample of all streams on the stream's clock."""
        firsts = [
            seen.timing.first_ns
            for seen in self.observed.values()
            if seen.timing.count and self.clock(seen.stream) == self.clock(stream)
        ]
        return min(firsts, default=None)

    def end_ns(self, stream: Stream) -> int | None:
        """The latest sample of all streams on the stream's clock."""
        lasts = [
            seen.timing.last_ns
            for seen in self.observed.values()
            if seen.timing.count and self.clock(seen.stream) == self.clock(stream)
        ]
        return max(lasts, default=None)


@dataclass(frozen=True)
class EpisodeSubject(RecordingSubject):
    """One episode; where the recording has none, all of it.

    Attributes:
        span: its place on the timeline; None: the whole recording. episode: what is known of it.
        samples: feature name -> its samples in this episode.
        unread: feature name -> why it could not be read.
    """

    span: Span | None = None
    episode: Episode | None = None
    samples: Mapping[str, FeatureSamples] = field(default_factory=dict)
    unread: Mapping[str, str] = field(default_factory=dict)
    _memory: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def index(self) -> int | None:
        """The episode's index; None for a recording without episodes."""
        return None if self.span is None else self.span.index

    def timing(self, stream: Stream) -> Timing | None:
        """How the stream's samples of this episode lie in time; None without samples in it."""
        if self.span is None:
            return super().timing(stream)
        return self.observed[stream.name].episodes.get(self.span.index)

    def origin_ns(self, stream: Stream) -> int | None:
        """Where seconds are counted from: the episode's start."""
        return super().origin_ns(stream) if self.span is None else self.span.start_ns

    def end_ns(self, stream: Stream) -> int | None:
        """The episode's end."""
        return super().end_ns(stream) if self.span is None else self.span.end_ns

    def feature(self, name: str) -> FeatureSamples | None:
        """A feature of state or action in this episode; None where it could not be read."""
        return self.samples.get(name)

    def commands(self) -> list[CommandPair]:
        """Commands with the states that follow them, element by element."""
        return self._pairing[0]

    def lags(self) -> list[tuple[CommandPair, Lag | str]]:
        """By how much each command leads its state, or why that cannot be measured. Measured once."""
        if "lags" not in self._memory:
            self._memory["lags"] = [(pair, self._measure_lag(pair)) for pair in self.commands()]
        return self._memory["lags"]

    def _measure_lag(self, pair: CommandPair) -> Lag | str:
        for name in (pair.command_feature.stream, pair.state_feature.stream):
            if self.observed[name].clock_steps:
                return f"the clock of {name} was set in between (rule TIM014)"
        return measure_lag(*pair.command, *pair.state, pair.names)

    @property
    def _pairing(self) -> tuple[list[CommandPair], str]:
        if "pairing" not in self._memory:
            self._memory["pairing"] = pair_commands(self.mapping, self.samples, self.unread)
        return self._memory["pairing"]

    def why_no_commands(self) -> str:
        """Why `commands` is empty."""
        return self._pairing[1]


@dataclass(frozen=True)
class SetSubject:
    """All episodes of a recording, through what a rule kept of each.

    Attributes:
        recording: the recording's subject. summaries: (episode index, summary), in order, None left out.
    """

    recording: RecordingSubject
    summaries: Sequence[tuple[int | None, Any]]

    @property
    def mapping(self) -> FeatureMapping | None:
        """The recording's mapping."""
        return self.recording.mapping
