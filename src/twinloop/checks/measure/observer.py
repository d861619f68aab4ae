"""One pass over a recording that measures everything the rules share.

Whoever reads a recording anyway (ingestion) can feed the same batches to an `Observer` and spare the pass.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.checks.measure.bounded import PlaceList, Places
from twinloop.checks.measure.delay import Delay, DelayMeter
from twinloop.checks.measure.images import ImageRows, ImageRowsMeter
from twinloop.checks.measure.labels import LABEL_COLUMNS, LabelMeter, LabelSpans
from twinloop.checks.measure.steps import ClockStep, find_steps
from twinloop.checks.measure.timing import Timing, TimingMeter
from twinloop.checks.measure.values import StreamValues, ValuesMeter, element_names, watched_columns
from twinloop.core.clock import Epoch
from twinloop.core.kinds import GROUPED_KINDS, TIME_COLUMNS, Kind, StampSource
from twinloop.core.timeline import timeline_ns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from twinloop.core.clock import ClockModel
    from twinloop.core.recording import Recording
    from twinloop.core.stream import Batch, Stream

_BLOCK_ROWS = 8_192
_BLOCK_BYTES = 8 << 20
_MANY_SPANS = 20  # episodes from which on little is kept of the times of each


@dataclass(frozen=True, slots=True)
class Span:
    """An episode's place on the timeline: [start_ns, end_ns)."""

    index: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class Observed:
    """What was measured of one stream.

    Attributes:
        rows: samples; messages: messages they came in (a TF message holds several).
        timing: of all of it; episodes: of each episode it has samples in, by the episode's index.
        unstamped: samples whose stamp is zero though the others' are not, or is missing.
        delay: None without stamps and log times. values, images, labels: None where the kind has none.
    """

    stream: Stream
    rows: int
    messages: int
    timing: Timing
    episodes: dict[int, Timing]
    unstamped: Places
    delay: Delay | None
    values: StreamValues | None
    images: ImageRows | None
    labels: LabelSpans | None = None

    @cached_property
    def clock_steps(self) -> tuple[ClockStep, ...]:
        """Where the stream's clock was set."""
        return find_steps(self.timing, self.delay) if self.stream.timeline == "stamp_ns" else ()


def is_grid(stream: Stream) -> bool:
    """Whether the stream's times on the timeline were made up as index / rate."""
    return stream.timeline == "stamp_ns" and stream.stamp_source is StampSource.GRID


def container_rate_hz(stream: Stream) -> float | None:
    """The rate that the header of a stream's video file claims, where true times were measured apart."""
    claim = stream.attributes.get("container_rate_hz")
    if claim is None or is_grid(stream):
        return None
    try:
        return float(claim) or None
    except ValueError:
        return None


def why_untimed(seen: Observed) -> str | None:
    """Why nothing can be said of a stream's times; None if something can."""
    stream = seen.stream
    if is_grid(stream):
        return "its times are a grid (index / rate), not measured"
    if stream.timeline == "stamp_ns" and stream.stamp_source is StampSource.NONE:
        return "its samples have no times"
    if seen.timing.count > 1 and seen.timing.first_ns == seen.timing.last_ns == 0:
        return "its samples have no times"
    return None


class Observer:
    """Measures every stream of a recording from its batches.

    Args:
        recording: for its streams. spans: of its episodes, or none. models: clock models to apply.
    """

    def __init__(
        self, recording: Recording, spans: Sequence[Span] = (), models: tuple[ClockModel, ...] = ()
    ) -> None:
        self._watches = {
            name: _Watch(stream, tuple(spans), models) for name, stream in recording.streams.items()
        }

    def add(self, batch: Batch) -> None:
        """Take in the next batch of any stream."""
        if len(batch):
            self._watches[batch.stream].add(batch.columns)

    def finish(self) -> dict[str, Observed]:
        """The measurements by stream; nothing more can be added."""
        return {name: watch.finish() for name, watch in self._watches.items()}


def observe(
    recording: Recording,
    spans: Sequence[Span] = (),
    models: tuple[ClockModel, ...] = (),
    progress: Callable[[float], None] | None = None,
) -> dict[str, Observed]:
    """Read a recording once, bulk bytes left out, and measure all streams.

    Args:
        progress: called with the share of samples that are read, where the index declares their number.
    """
    observer = Observer(recording, spans, models)
    expected = sum(stream.count or 0 for stream in recording.streams.values())
    read = 0
    for batch in recording.scan(payload=False):
        observer.add(batch)
        read += len(batch)
        if progress and expected:
            progress(min(read / expected, 1.0))
    return observer.finish()


@dataclass
class _Watch:
    """One stream while it passes by."""

    stream: Stream
    spans: tuple[Span, ...]
    models: tuple[ClockModel, ...]
    rows: int = 0
    messages: int = 0
    waiting: list[pa.RecordBatch] = field(default_factory=list)
    waiting_rows: int = 0
    waiting_bytes: int = 0
    delay: DelayMeter = field(default_factory=DelayMeter)
    unstamped: PlaceList = field(default_factory=PlaceList)
    values: ValuesMeter | None = None
    images: ImageRowsMeter | None = None
    labels: LabelMeter | None = None
    active: dict[int, TimingMeter] = field(default_factory=dict)
    done: dict[int, Timing] = field(default_factory=dict)
    started: bool = False
    wanted: set[str] = field(default_factory=set)
    last_message: int | None = None

    def __post_init__(self) -> None:
        self.grid_rate = self.stream.rate_hz if is_grid(self.stream) else None
        self.timing = TimingMeter(self.grid_rate, container_rate_hz(self.stream))

    def add(self, batch: pa.RecordBatch) -> None:
        if not self.started:
            self._start(batch)
        columns = batch.select([name for name in batch.schema.names if name in self.wanted])
        if self.waiting and columns.schema != self.waiting[-1].schema:
            self._look()
        self.waiting.append(columns)
        self.waiting_rows += columns.num_rows
        self.waiting_bytes += columns.nbytes
        if self.waiting_rows >= _BLOCK_ROWS or self.waiting_bytes >= _BLOCK_BYTES:
            self._look()

    def finish(self) -> Observed:
        self._look()
        self.done |= {index: meter.finish() for index, meter in self.active.items()}
        return Observed(
            stream=self.stream,
            rows=self.rows,
            messages=self.messages,
            timing=self.timing.finish(),
            episodes=self.done,
            unstamped=self.unstamped.places(),
            delay=self.delay.finish(),
            values=self.values.finish() if self.values else None,
            images=self.images.finish() if self.images else None,
            labels=self.labels.finish() if self.labels else None,
        )

    def _look(self) -> None:
        if not self.waiting:
            return
        block = self.waiting[0] if len(self.waiting) == 1 else pa.concat_batches(self.waiting)
        self.waiting, self.waiting_rows, self.waiting_bytes = [], 0, 0
        rows = np.arange(self.rows, self.rows + block.num_rows)
        times = timeline_ns(self.stream, block, self.models)
        self.rows += block.num_rows
        self._look_at_values(block, rows, times)
        first = self._first_of_messages(block)
        if first is not None:
            block, rows, times = block.take(pa.array(first)), rows[first], times[first]
        self.messages += block.num_rows
        self._look_at_times(block, rows, times)

    def _start(self, batch: pa.RecordBatch) -> None:
        self.started = True
        watched = watched_columns(self.stream, batch.schema)
        self.wanted = {*TIME_COLUMNS, "message", "segment", "pts", *watched}
        if watched:
            self.values = ValuesMeter(watched, element_names(batch))
        if self.stream.segments and {"segment", "pts"} <= set(batch.schema.names):
            self.images = ImageRowsMeter()
        if self.stream.kind is Kind.LABEL and {"stamp_ns", "end_ns"} <= set(batch.schema.names):
            self.labels = LabelMeter()
            self.wanted.update(LABEL_COLUMNS)

    def _look_at_values(self, block: pa.RecordBatch, rows: NDArray[np.int64], times: NDArray[np.int64]) -> None:
        if self.values:
            self.values.add(block, rows, times)
        if self.images:
            self.images.add(block, rows, times)
        if self.labels:
            self.labels.add(block)

    def _first_of_messages(self, block: pa.RecordBatch) -> NDArray[np.int64] | None:
        """Rows that begin a message, where messages hold several rows."""
        if self.stream.kind not in GROUPED_KINDS or "message" not in block.schema.names:
            return None
        message = np.asarray(block.column("message"))
        begins = np.flatnonzero(np.diff(message, prepend=message[0] - 1) != 0)
        if message[0] == self.last_message:
            begins = begins[1:]
        self.last_message = int(message[-1])
        return begins

    def _look_at_times(self, block: pa.RecordBatch, rows: NDArray[np.int64], times: NDArray[np.int64]) -> None:
        stamps, logs = _column(block, "stamp_ns"), _column(block, "log_ns")
        stamped = None
        if stamps is not None and self.stream.stamp_source is not StampSource.NONE:
            stamped = self._stamped(stamps, rows)
            self.unstamped.add(rows[~stamped], times[~stamped], times[~stamped])
            if logs is not None and self.stream.stamp_source is not StampSource.GRID:
                self.delay.add(stamps[stamped], logs[stamped], rows[stamped])
        if stamped is not None and self.stream.timeline == "stamp_ns" and not stamped.all():
            rows, times = rows[stamped], times[stamped]
            block = block.filter(pa.array(stamped))
        seq = _column(block, "seq")
        self.timing.add(times, rows, seq)
        self._look_at_episodes(times, rows, seq)

    def _stamped(self, stamps: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Rows whose stamp is a time. A clock that starts with the recording may begin at zero."""
        stamped = stamps != 0
        if self.stream.stamp_clock.epoch is not Epoch.UNIX and len(rows) and rows[0] == 0:
            stamped[0] = True
        return stamped

    def _look_at_episodes(
        self, times: NDArray[np.int64], rows: NDArray[np.int64], seq: NDArray[np.int64] | None
    ) -> None:
        if not len(times):
            return
        earliest, latest = times.min(), times.max()
        touched = set()
        for span in self.spans:
            if span.start_ns > latest or span.end_ns <= earliest or span.index in self.done:
                continue
            inside = (times >= span.start_ns) & (times < span.end_ns)
            if not inside.any():
                continue
            meter = self.active.setdefault(
                span.index, TimingMeter(self.grid_rate, small=len(self.spans) > _MANY_SPANS)
            )
            whole = inside.all()
            meter.add(
                times if whole else times[inside],
                rows if whole else rows[inside],
                seq if seq is None or whole else seq[inside],
            )
            touched.add(span.index)
        # The stream has moved on: what its earlier episodes need no longer waits in memory.
        for index in [index for index in self.active if index not in touched]:
            self.done[index] = self.active.pop(index).finish()


def _column(block: pa.RecordBatch, name: str) -> NDArray[np.int64] | None:
    """A time column with nulls as zero; None where there is none, or nothing in it."""
    if name not in block.schema.names:
        return None
    array = block.column(name)
    if array.null_count == len(array):
        return None
    return np.asarray(array.fill_null(-1 if name == "seq" else 0), np.int64)
