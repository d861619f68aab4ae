"""A file that twinloop wrote, as the recording that it was written from."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.core.errors import Where
from twinloop.core.kinds import GROUPED_KINDS, TIME_COLUMNS
from twinloop.core.mapping import Cut, EpisodeCut
from twinloop.core.recording import Problem, ReadNote, Recording
from twinloop.core.stream import Batch, Payload
from twinloop.core.timeline import cut_to_window
from twinloop.formats.mcap.written.facts import DATA, EXCEPTIONS, PLACES, ROW

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray

    from twinloop.core.mapping import Mapping
    from twinloop.core.stream import Stream
    from twinloop.formats.mcap.written.facts import SessionFacts, StreamFacts


class WrittenRecording(Recording):
    """The streams, columns, times, episodes and calibration that the file's facts describe.

    Columns beside the messages come from a second pass over the file at the same pace; rows are matched by
    their number.
    """

    def __init__(self, inner: Recording, session: SessionFacts, streams: dict[str, StreamFacts]) -> None:
        self._inner = inner
        self._facts = {name: facts for name, facts in streams.items() if facts.topic in inner.streams}
        super().__init__(
            inner.path,
            inner.format,
            files=inner.files,
            streams={name: _stream(facts, inner) for name, facts in self._facts.items()},
            episodes=session.episodes,
            metadata=session.metadata,
            attachments=inner.attachments,
            calibration=session.calibration,
            facts=session.facts,
            mapping=_mapping(session),
            notes=inner.notes,
        )
        self.read_attachment = inner.read_attachment  # type: ignore[method-assign]

    def scan(
        self,
        streams: Collection[str] | None = None,
        *,
        start_ns: int | None = None,
        end_ns: int | None = None,
        payload: bool = True,
    ) -> Iterator[Batch]:
        """All samples of the named streams; see `Recording.scan`."""
        names = self.check_names(streams)
        by_topic = {self._facts[name].topic: name for name in names}
        beside = _Beside(self._inner, {n: t for n in names if (t := self._facts[n].companion)})
        restored = {name: _Restored(self.streams[name], self._facts[name], beside) for name in names}
        for batch in self._inner.scan(list(by_topic), payload=payload):
            name = by_topic[batch.stream]
            whole = restored[name].batch(batch)
            if (kept := cut_to_window(self.streams[name], whole, start_ns, end_ns)) is not None:
                yield kept
        for each in restored.values():
            if each.strays:
                self._note(each)

    def _note(self, restored: _Restored) -> None:
        note = ReadNote(
            Problem.CORRUPT,
            f"{restored.strays} rows have no columns beside them any more: part of the file is lost",
            Where(str(self.path), stream=restored.stream.name),
            lost=restored.strays,
        )
        if note not in self.notes:
            self.notes.append(note)

    def close(self) -> None:
        """Let go of the file."""
        self._inner.close()


def _mapping(session: SessionFacts) -> Mapping | None:
    """What the streams mean; the episodes are those that the file marks, however they were cut at first."""
    if not session.mapping.features:
        return None
    cut = EpisodeCut(Cut.MARKED, why="as they were when the file was written")
    return replace(session.mapping, episodes=cut) if session.episodes else session.mapping


def _stream(facts: StreamFacts, inner: Recording) -> Stream:
    found = inner.streams[facts.topic]
    return replace(
        facts.stream,
        count=facts.stream.count if facts.stream.kind in GROUPED_KINDS else found.count,
        encoding=found.encoding,
        bytes=found.bytes,
    )


class _Beside:
    """The companion columns of all wanted streams, read no further than they are asked for."""

    def __init__(self, inner: Recording, companions: dict[str, str]) -> None:
        self._names = {topic: name for name, topic in companions.items() if topic in inner.streams}
        self._batches = inner.scan(list(self._names)) if self._names else iter(())
        self._held: dict[str, deque[pa.Table]] = {name: deque() for name in self._names.values()}

    def rows(self, stream: str, first: int, count: int) -> pa.Table | None:
        """The rows of a stream from number `first` on, as many as there are of `count`."""
        held = self._held.get(stream)
        if held is None:
            return None
        while not held or _last_row(held[-1]) < first + count - 1:
            batch = next(self._batches, None)
            if batch is None:
                break
            name = self._names[batch.stream]
            self._held[name].append(pa.Table.from_batches([batch.columns]))
        if not held:
            return None
        table = pa.concat_tables(held, promote_options="permissive")
        rows = np.asarray(table.column(ROW), np.int64)
        held.clear()
        if (later := rows >= first + count).any():
            held.append(table.filter(pa.array(later)))
        return table.filter(pa.array((rows >= first) & ~later))


def _last_row(table: pa.Table) -> int:
    return int(table.column(ROW)[-1].as_py())


class _Restored:
    """The batches of one stream, in its own columns. `strays`: rows whose companion is gone."""

    def __init__(self, stream: Stream, facts: StreamFacts, beside: _Beside) -> None:
        self.stream = stream
        self.strays = 0
        self._facts = facts
        self._schema = facts.arrow_schema()
        self._beside = beside
        self._row = 0

    def batch(self, batch: Batch) -> Batch:
        columns = {name: batch.columns.column(name) for name in batch.columns.schema.names}
        rows = len(batch)
        beside = self._aligned(rows)
        arrays: dict[str, pa.Array] = {}
        for field in self._schema:
            if self._facts.pictures and field.name in PLACES:
                continue
            arrays[field.name] = self._column(field, columns, beside, rows)
        for name in ("width", "height", "step", "is_bigendian") if self._facts.pictures else ():
            if name in columns:
                arrays[name] = columns[name]
        self._except(arrays, columns, beside)
        self._row += rows
        payload = batch.payload
        if payload is None and self.stream.has_payload and DATA in columns:
            payload = _payload(columns[DATA])
        ordered = {n: arrays[n] for n in (*TIME_COLUMNS, *arrays) if n in arrays}
        return Batch(self.stream.name, pa.RecordBatch.from_pydict(ordered), payload)

    def _aligned(self, rows: int) -> pa.Table | None:
        """The companion's rows for the next `rows` rows; rows that are gone are null."""
        if self._facts.companion is None:
            return None
        found = self._beside.rows(self.stream.name, self._row, rows)
        if found is None:
            self.strays += rows
            return None
        if found.num_rows == rows:
            return found
        numbers = np.asarray(found.column(ROW), np.int64) - self._row
        place = np.full(rows, -1, np.int64)
        place[numbers] = np.arange(len(numbers))
        self.strays += rows - len(numbers)
        return found.take(pa.array(place, mask=place < 0))

    def _column(
        self, field: pa.Field, columns: dict[str, pa.Array], beside: pa.Table | None, rows: int
    ) -> pa.Array:
        name = field.name
        if name in self._facts.constants:
            return pa.array([self._facts.constants[name]] * rows, _plain(field.type)).cast(field.type)
        if name in self._facts.beside and beside is not None:
            source = _found(self._facts.beside[name], beside.schema.names)
            if source is not None:
                return _as(_one(beside.column(source)), field.type)
        source = _found(self._facts.fields.get(name, name), list(columns))
        if source is None and name == "stamp_ns":
            source = _found("stamp", list(columns))
        return pa.nulls(rows, field.type) if source is None else _as(columns[source], field.type)

    def _except(
        self, arrays: dict[str, pa.Array], columns: dict[str, pa.Array], beside: pa.Table | None
    ) -> None:
        """Put in the values that no message holds."""
        if beside is not None and EXCEPTIONS in beside.schema.names:
            texts = _one(beside.column(EXCEPTIONS))
        elif self._facts.fields and EXCEPTIONS in columns:
            texts = columns[EXCEPTIONS]
        else:
            return
        said = [(row, json.loads(text)) for row, text in enumerate(texts.to_pylist()) if text]
        for name in {name for _, values in said for name in values} & arrays.keys():
            rows = {row: values[name] for row, values in said if name in values}
            array = arrays[name]
            mask = np.zeros(len(array), bool)
            mask[list(rows)] = True
            if all(value is None for value in rows.values()):
                arrays[name] = array.filter(pa.array(~mask)).take(_places(mask))
            else:
                values = array.to_pylist()
                for row, value in rows.items():
                    values[row] = value
                arrays[name] = pa.array(values, array.type)


def _places(gone: NDArray[np.bool_]) -> pa.Array:
    """Indices that spread the rows which are not `gone` over all, null where they are."""
    return pa.array(np.cumsum(~gone) - 1, mask=gone)


def _found(name: str, names: list[str]) -> str | None:
    """A column of that name, or as readers rename one that means something else to them."""
    others = (f"{name}_", "stamp_ns") if name == "stamp" else (f"{name}_",)
    return next((each for each in (name, *others) if each in names), None)


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _as(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """An array as another type that holds the same values."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if array.type == kind:
        return array
    if pa.types.is_dictionary(kind) and pa.types.is_dictionary(array.type):
        return array.dictionary_decode().dictionary_encode().cast(kind)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_dictionary(kind):
        return array.dictionary_encode().cast(kind)
    if pa.types.is_string(array.type) and not pa.types.is_string(kind):
        return pa.array([json.loads(text) if text else None for text in array.to_pylist()], kind)
    if pa.types.is_fixed_size_list(kind) and pa.types.is_list(array.type):
        return pa.FixedSizeListArray.from_arrays(array.flatten().cast(kind.value_type), kind.list_size)
    if pa.types.is_binary(kind) and pa.types.is_list(array.type):
        return pa.array([bytes(value) for value in array.to_pylist()], kind)
    return array.cast(kind, safe=False)


def _payload(array: pa.Array) -> Payload:
    """Bulk bytes that came as a column of lists of bytes, or of binaries."""
    if pa.types.is_binary(array.type):
        runs = [value.as_py() or b"" for value in array]
        length = np.array([len(run) for run in runs], np.int64)
        return Payload(np.frombuffer(b"".join(runs), np.uint8), np.cumsum(length) - length, length)
    offsets = np.asarray(array.offsets, np.int64)
    return Payload(np.asarray(array.values, np.uint8), offsets[:-1], np.diff(offsets))
