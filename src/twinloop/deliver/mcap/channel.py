"""One stream on its way into an MCAP file: its message type, and what does not fit that type beside it.

A standard message shows in viewers but may not hold every column. Columns left over go into a companion
channel, one message a row; single values that no message holds (a null, a time before 1970) stand there as
JSON in `exceptions`. What is the same in all rows is in the facts alone. So nothing is lost, and a viewer
sees the types that it knows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.core.kinds import GROUPED_KINDS, TIME_COLUMNS, Kind
from twinloop.core.timeline import timeline_ns
from twinloop.deliver.mcap import foxglove, ros2
from twinloop.deliver.mcap.own import own_message
from twinloop.deliver.mcap.pictures import Form, Pictures, bytes_a_pixel
from twinloop.deliver.mcap.survey import LIMITS, Survey, survey
from twinloop.deliver.mcap.wire import Ragged
from twinloop.formats.mcap.written.facts import EXCEPTIONS, PLACES, ROW

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from twinloop.core.recording import Recording
    from twinloop.core.stream import Batch, Stream
    from twinloop.deliver.mcap.message import Message
    from twinloop.deliver.mcap.own import Encoding

#: Columns of images that follow from the images themselves.
_OF_PICTURES = frozenset({"encoding", "width", "height", "step", "is_bigendian"})
_FORMS = {
    Form.RAW: (ros2.RAW_IMAGE, foxglove.RAW_IMAGE),
    Form.STILL: (ros2.COMPRESSED_IMAGE, foxglove.COMPRESSED_IMAGE),
    Form.VIDEO: (ros2.VIDEO, foxglove.VIDEO),
}
_BATCH_ROWS = 4096


@dataclass(slots=True)
class Channel:
    """How a stream is written.

    Attributes:
        message: its type. companion: the type of what does not fit; None where all does.
        found: what its columns are like. left_over: columns of the companion. pictures: where images come from.
        constants: columns that only the facts hold, with their value.
    """

    stream: Stream
    found: Survey
    message: Message
    companion: Message | None
    left_over: tuple[str, ...]
    constants: dict[str, object] = field(default_factory=dict)
    pictures: Pictures | None = None
    _row: int = 0

    @property
    def times(self) -> tuple[str, ...]:
        """The time columns that the stream has."""
        return tuple(name for name in TIME_COLUMNS if name in self.found.types)

    @property
    def is_own(self) -> bool:
        """Whether its messages are of a type of our own, with a field for each column."""
        return self.message.type_name.startswith("twinloop")

    def messages(self, recording: Recording) -> Iterator[Messages]:
        """All messages, in the stream's order."""
        for batch in self._batches(recording):
            columns = {name: batch.columns.column(name) for name in batch.columns.schema.names}
            columns |= {
                name: pa.nulls(len(batch), type)
                for name, type in self.found.types.items()
                if name not in columns
            }
            starts = self._starts(columns, len(batch))
            yield self._encode(batch, columns, starts)

    def _encode(self, batch: Batch, columns: dict[str, pa.Array], starts: NDArray[np.int64]) -> Messages:
        rows = len(batch)
        log_ns = self._log_times(batch)
        publish_ns = _clipped(columns, "publish_ns", log_ns)
        sequence = _clipped(columns, "seq", np.zeros(rows, np.int64))
        bulk = None
        if self.pictures is not None:
            bulk = self.pictures.of(batch.columns)
            columns |= self._picture_columns(batch.columns)
        elif batch.payload is not None:
            bulk = Ragged.of_payload(batch.payload)
        if self.found.has_exceptions:
            columns[EXCEPTIONS] = self._exceptions(columns, rows)
        columns[ROW] = pa.array(np.arange(self._row, self._row + rows))
        self._row += rows
        columns["stamp_ns"] = pa.array(_clipped(columns, "stamp_ns", log_ns))
        main = self.message.of(columns, bulk, starts)
        beside = self.companion.of(columns, None, np.arange(rows)) if self.companion else None
        return Messages(log_ns, publish_ns, sequence, starts, main, beside)

    def _batches(self, recording: Recording) -> Iterator[Batch]:
        """The stream's batches: whole messages, and no more images at once than memory should hold."""
        batches = recording.scan([self.stream.name], payload=self.stream.has_payload)
        if self.message.rows:
            yield from _of_whole_messages(batches)
            return
        size = self.pictures.rows_at_once() if self.pictures else _BATCH_ROWS
        for batch in batches:
            for start in range(0, len(batch), size):
                yield _cut(batch, start, min(size, len(batch) - start))

    def _starts(self, columns: dict[str, pa.Array], rows: int) -> NDArray[np.int64]:
        if not self.message.rows:
            return np.arange(rows)
        message = np.asarray(columns["message"])
        return np.flatnonzero(np.concatenate([[True], message[1:] != message[:-1]]))

    def _log_times(self, batch: Batch) -> NDArray[np.int64]:
        """When viewers shall show it: the recorder's time, or where there is none the stream's own."""
        columns = {name: batch.columns.column(name) for name in batch.columns.schema.names}
        return _clipped(columns, "log_ns", np.maximum(timeline_ns(self.stream, batch.columns), 0))

    def _picture_columns(self, columns: pa.RecordBatch) -> dict[str, pa.Array]:
        assert self.pictures is not None
        rows = columns.num_rows
        name = pa.array([self.pictures.format] * rows).dictionary_encode()
        if self.pictures.form is not Form.RAW:
            return {"encoding": name}
        width, height = self.pictures.size(columns)
        step = width * bytes_a_pixel(self.pictures.format)
        return {
            "encoding": name,
            "width": pa.array(width, pa.int32()),
            "height": pa.array(height, pa.int32()),
            "step": pa.array(step, pa.int32()),
            "is_bigendian": pa.array([False] * rows),
        }

    def _exceptions(self, columns: dict[str, pa.Array], rows: int) -> pa.Array:
        """For each row a JSON object of the values that its message does not hold; empty where it holds all."""
        said: dict[int, dict[str, object]] = {}
        for name in (self.found.with_nulls | self.found.beyond) - self.constants.keys() - PLACES:
            array = columns[name]
            odd = np.asarray(array.is_null())
            if name in LIMITS:
                low, high = LIMITS[name]
                values = np.asarray(array.fill_null(low), np.int64)
                odd |= (values < low) | (values > high)
            for row in np.flatnonzero(odd).tolist():
                said.setdefault(row, {})[name] = array[row].as_py()
        texts = ["" if row not in said else json.dumps(said[row], sort_keys=True) for row in range(rows)]
        return pa.array(texts, pa.string())


@dataclass(frozen=True, slots=True)
class Messages:
    """Some messages of a channel: times and sequence a row, `starts` the first row of each message."""

    log_ns: NDArray[np.int64]
    publish_ns: NDArray[np.int64]
    sequence: NDArray[np.int64]
    starts: NDArray[np.int64]
    main: Ragged
    beside: Ragged | None


def plan_channel(
    recording: Recording, stream: Stream, encoding: Encoding, *, b_frames: bool = False, exact: bool = False
) -> Channel:
    """How a stream is written. Reads its columns once. `b_frames`, `exact`: as `Pictures` has them."""
    found = survey(recording, stream)
    pictures = None
    if stream.segments:
        pictures = Pictures(stream, found.encoding, b_frames=b_frames, exact=exact)
    message = _standard(stream, found, pictures, encoding)
    if message is None:
        return _own_channel(stream, found, encoding)
    shown = set(found.types) - (PLACES | _OF_PICTURES if pictures else set())
    filled = {*message.fills, *TIME_COLUMNS}
    if stream.kind in GROUPED_KINDS and found.counted:
        filled.add("message")
    rest = [name for name in found.types if name in shown and name not in filled]
    constants = {name: found.constants[name] for name in rest if name in found.constants}
    constants |= {name: None for name in message.fills if name in _absent(found)}
    left_over = tuple(name for name in rest if name not in constants)
    exceptions = bool(((found.with_nulls | found.beyond) & shown) - constants.keys())
    unstamped = "stamp_ns" in found.types and "stamp_ns" not in message.fills
    companion = None
    if left_over or exceptions or unstamped:
        columns = {ROW: pa.int64(), **{name: found.types[name] for name in left_over}}
        if unstamped:
            columns["stamp_ns"] = pa.int64()
        if found.has_exceptions:
            columns[EXCEPTIONS] = pa.string()
        companion = own_message(f"columns of {stream.name}", columns, encoding)
    return Channel(stream, found, message, companion, left_over, constants, pictures)


def _own_channel(stream: Stream, found: Survey, encoding: Encoding) -> Channel:
    """A stream of which no standard type is: a field for each column that has values."""
    absent = _absent(found)
    held = {"publish_ns", "log_ns", "seq", *absent}
    columns = {name: type for name, type in found.types.items() if name not in held}
    if found.has_exceptions:
        columns[EXCEPTIONS] = pa.string()
    title = f"{stream.kind.value} {stream.name}"
    own = own_message(title, columns, encoding, payload=stream.has_payload)
    return Channel(stream, found, own, None, (), absent)


def _absent(found: Survey) -> dict[str, object]:
    """Columns without a value in any row."""
    return {name: None for name, value in found.constants.items() if value is None}


def _standard(stream: Stream, found: Survey, pictures: Pictures | None, encoding: Encoding) -> Message | None:
    if pictures is not None:
        ros, fox = _FORMS[pictures.form]
        known = {"encoding": pa.string(), "width": pa.int32(), "height": pa.int32(), "step": pa.int32()}
        shown = replace(found, types={**found.types, **known, "is_bigendian": pa.bool_()}, extents={})
        if encoding == "ros2":
            return ros2.ros2_message(stream, shown, ros)
        return foxglove.foxglove_message(stream, shown, fox)
    if stream.kind in GROUPED_KINDS and not found.counted:
        return None
    if stream.kind in (Kind.IMAGE, Kind.DEPTH):
        return _carried(stream, found, encoding)
    if encoding == "ros2":
        return ros2.ros2_message(stream, found)
    return foxglove.foxglove_message(stream, found)


def _carried(stream: Stream, found: Survey, encoding: Encoding) -> Message | None:
    """The message for images that no video file holds: raw ones of one encoding."""
    from twinloop.formats.video.still import is_raw

    if "encoding" not in found.constants or not is_raw(found.encoding):
        return None
    if encoding == "ros2":
        return ros2.ros2_message(stream, found, ros2.RAW_IMAGE)
    return foxglove.foxglove_message(stream, found, foxglove.RAW_IMAGE)


def _clipped(columns: dict[str, pa.Array], name: str, otherwise: NDArray[np.int64]) -> NDArray[np.int64]:
    """A time column as messages hold it; `otherwise` where the stream has none."""
    if name not in columns:
        return otherwise
    low, high = LIMITS[name]
    array = columns[name]
    values = np.where(np.asarray(array.is_null()), otherwise, np.asarray(array.fill_null(0), np.int64))
    return np.clip(values, low, high)


def _cut(batch: Batch, start: int, size: int) -> Batch:
    from twinloop.core.stream import Batch, Payload

    if size == len(batch):
        return batch
    payload = batch.payload
    if payload is not None:
        rows = slice(start, start + size)
        payload = Payload(payload.buffer, payload.offset[rows], payload.length[rows])
    return Batch(batch.stream, batch.columns.slice(start, size), payload)


def _of_whole_messages(batches: Iterator[Batch]) -> Iterator[Batch]:
    """The same rows, cut where a message ends."""
    from twinloop.core.stream import Batch

    held: pa.Table | None = None
    name = ""
    for batch in batches:
        name = batch.stream
        table = pa.Table.from_batches([batch.columns])
        if held is not None:
            table = pa.concat_tables([held, table], promote_options="permissive")
        message = np.asarray(table.column("message"))
        last = int(np.flatnonzero(message != message[-1]).max(initial=-1)) + 1
        held = table.slice(last)
        if last:
            yield Batch(name, _as_batch(table.slice(0, last)))
    if held is not None and held.num_rows:
        yield Batch(name, _as_batch(held))


def _as_batch(table: pa.Table) -> pa.RecordBatch:
    table = table.combine_chunks()
    arrays = [
        column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)
        for column in table.columns
    ]
    return pa.RecordBatch.from_arrays(arrays, names=table.schema.names)
