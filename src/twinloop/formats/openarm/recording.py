"""An OpenArm dataset as one recording."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinloop.core.clock import Clock, Epoch
from twinloop.core.errors import Where
from twinloop.core.kinds import Kind, Role, StampSource
from twinloop.core.recording import EpisodeSpan, Problem, Recording
from twinloop.core.stream import Batch, Stream
from twinloop.core.timeline import in_window
from twinloop.formats.parquet import PARQUET_ERRORS, row_groups
from twinloop.formats.steps.columns import picture_columns

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from twinloop.formats.notes import Notes
    from twinloop.formats.openarm.pictures import Pictures

UNIX = Clock(Epoch.UNIX)
_BATCH_ROWS, _PICTURES = 16_384, 32


@dataclass(frozen=True, slots=True)
class Part:
    """A Parquet file of one episode: its rows, their first and last time, bytes."""

    path: Path
    rows: int
    start_ns: int
    end_ns: int
    bytes: int


@dataclass(slots=True)
class Signal:
    """A stream of numbers: field of the kind -> the files' column, and a file an episode."""

    kind: Kind
    role: Role
    fields: dict[str, str]
    names: tuple[str, ...]
    rate_hz: float | None
    parts: dict[int, Part] = field(default_factory=dict)


@dataclass(slots=True)
class Camera:
    """A stream of pictures, and what an episode has of it."""

    rate_hz: float | None
    parts: dict[int, Pictures] = field(default_factory=dict)


class OpenArmRecording(Recording):
    """See the package's page."""

    def __init__(
        self,
        root: Path,
        *,
        signals: dict[str, Signal],
        cameras: dict[str, Camera],
        episodes: tuple[EpisodeSpan, ...],
        files: tuple[Path, ...],
        metadata: Mapping[str, str],
        notes: Notes,
    ) -> None:
        self._signals, self._cameras, self._note = signals, cameras, notes
        streams = {name: _signal_stream(name, signal) for name, signal in signals.items()}
        streams |= {name: _camera_stream(name, camera) for name, camera in cameras.items()}
        super().__init__(
            root,
            "openarm",
            files=files,
            streams=streams,
            episodes=episodes,
            metadata=metadata,
            notes=notes.all,
        )

    def scan(
        self,
        streams: Collection[str] | None = None,
        *,
        start_ns: int | None = None,
        end_ns: int | None = None,
        payload: bool = True,
    ) -> Iterator[Batch]:
        names = self.check_names(streams)
        numbers = sorted({n for name in names for n in (self._signals.get(name) or self._cameras[name]).parts})
        for episode in numbers:
            for name in names:
                if name in self._signals:
                    yield from self._signal(name, episode, start_ns, end_ns)
                else:
                    yield from self._pictures(name, episode, start_ns, end_ns, payload)

    def _signal(self, name: str, episode: int, start_ns: int | None, end_ns: int | None) -> Iterator[Batch]:
        import pyarrow.parquet as pq

        signal = self._signals[name]
        part = signal.parts.get(episode)
        if part is None or not _overlaps(part.start_ns, part.end_ns, start_ns, end_ns):
            return
        try:
            file = pq.ParquetFile(part.path, memory_map=True)
        except PARQUET_ERRORS as error:
            self._lost(part.path, name, range(part.rows), error)
            return
        columns = ["timestamp", *signal.fields.values()]
        with file:
            for group, rows in row_groups(file):
                at = rows.start
                try:
                    for batch in file.iter_batches(_BATCH_ROWS, row_groups=[group], columns=columns):
                        made = self._made(signal, batch, part.path, name, at, start_ns, end_ns)
                        at += batch.num_rows
                        if made.num_rows:
                            yield Batch(name, made)
                except PARQUET_ERRORS as error:
                    self._lost(part.path, name, range(at, rows.stop), error)

    def _made(
        self,
        signal: Signal,
        batch: pa.RecordBatch,
        path: Path,
        name: str,
        row: int,
        start_ns: int | None,
        end_ns: int | None,
    ) -> pa.RecordBatch:
        """The columns of the stream's kind, of the rows that have a time inside the span."""
        times = pc.cast(pc.cast(batch.column("timestamp"), pa.timestamp("ns")), pa.int64())
        if times.null_count:
            place = int(np.argmax(np.asarray(times.is_null())))
            where = Where(file=str(path), stream=name, row=row + place)
            self._note.add(
                Problem.BAD_VALUE,
                f"{times.null_count} rows without a time are left out",
                where,
                times.null_count,
            )
        keep = times.is_valid()
        stamps = np.asarray(times.fill_null(0))
        inside = np.asarray(keep) & in_window(stamps, start_ns, end_ns)
        if not inside.all():
            batch, stamps = batch.filter(pa.array(inside)), stamps[inside]
        columns: dict[str, pa.Array] = {"stamp_ns": pa.array(stamps)}
        if signal.kind is Kind.JOINTS:
            columns["name"] = _name_lists(signal.names, len(stamps))
        for made, source in signal.fields.items():
            columns[made] = _numbers(batch.column(source), signal.kind)
        return pa.RecordBatch.from_pydict(columns)

    def _pictures(
        self, name: str, episode: int, start_ns: int | None, end_ns: int | None, payload: bool
    ) -> Iterator[Batch]:
        part = self._cameras[name].parts.get(episode)
        if part is None:
            return
        rows = np.flatnonzero(in_window(part.stamp_ns, start_ns, end_ns))
        for at in range(0, len(rows), _PICTURES):
            some = rows[at : at + _PICTURES]
            bulk = None
            if payload:
                bulk, held = part.payload(some, self._note)
                some = some[held]
            columns = {"stamp_ns": pa.array(part.stamp_ns[some]), **picture_columns(len(some), 0, 0, "jpeg")}
            if len(some):
                yield Batch(name, pa.RecordBatch.from_pydict(columns), bulk)

    def _lost(self, path: Path, name: str, rows: range, error: Exception) -> None:
        self._note.add(
            Problem.CORRUPT,
            f"rows {rows.start} to {rows.stop} cannot be read: {error}",
            Where(file=str(path), stream=name, row=rows.start),
            len(rows),
        )


def _signal_stream(name: str, signal: Signal) -> Stream:
    parts = [part for part in signal.parts.values() if part.rows]
    return Stream(
        name,
        signal.kind,
        role=signal.role,
        count=sum(part.rows for part in parts),
        start_ns=min((part.start_ns for part in parts), default=None),
        end_ns=max((part.end_ns for part in parts), default=None),
        timeline="stamp_ns",
        stamp_source=StampSource.DRIVER,
        stamp_clock=UNIX,
        encoding="parquet",
        bytes=sum(part.bytes for part in parts),
        rate_hz=signal.rate_hz,
        attributes={"columns": ", ".join(signal.fields.values()), "names": ", ".join(signal.names)},
    )


def _camera_stream(name: str, camera: Camera) -> Stream:
    times = [part.stamp_ns for part in camera.parts.values() if len(part.stamp_ns)]
    return Stream(
        name,
        Kind.IMAGE,
        role=Role.OBSERVATION,
        count=sum(map(len, times)),
        start_ns=min((int(t[0]) for t in times), default=None),
        end_ns=max((int(t[-1]) for t in times), default=None),
        timeline="stamp_ns",
        stamp_source=StampSource.DRIVER,
        stamp_clock=UNIX,
        encoding="jpeg",
        bytes=sum(int(part.size.sum()) for part in camera.parts.values()),
        rate_hz=camera.rate_hz,
        attributes={"encoding": "jpeg"},
    )


def _overlaps(first: int, last: int, start_ns: int | None, end_ns: int | None) -> bool:
    return (end_ns is None or first < end_ns) and (start_ns is None or last >= start_ns)


def _numbers(column: pa.Array, kind: Kind) -> pa.Array:
    """Lists of doubles for joints and tables, the one number of each row for scalars."""
    nested = pa.types.is_list(column.type) or pa.types.is_large_list(column.type)
    if kind is Kind.SCALAR:
        return pc.cast(pc.list_element(column, 0) if nested else column, pa.float64())
    return pc.cast(column, pa.list_(pa.float64()))


def _name_lists(names: tuple[str, ...], rows: int) -> pa.ListArray:
    codes = pa.array(np.tile(np.arange(len(names), dtype=np.int32), rows))
    words = pa.DictionaryArray.from_arrays(codes, pa.array(names, pa.string()))
    return pa.ListArray.from_arrays(pa.array((np.arange(rows + 1) * len(names)).astype(np.int32)), words)
