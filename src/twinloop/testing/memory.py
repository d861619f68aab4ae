"""A recording held in memory, built from arrays: for tests of rules, exports and plug-ins."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.core.clock import Clock, Epoch
from twinloop.core.kinds import LAYOUTS, TIME_COLUMNS, Kind, Role, StampSource
from twinloop.core.recording import EpisodeSpan, ReadNote, Recording
from twinloop.core.stream import Batch, Payload, Stream, VideoSegment
from twinloop.core.timeline import in_window

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True)
class MemoryStream:
    """A stream and all of its samples.

    Attributes:
        stream: what a reader would say of it. table: time columns and the kind's columns, N rows.
        payload: bulk bytes of the N samples, if the kind has any.
    """

    stream: Stream
    table: pa.Table
    payload: tuple[bytes, ...] | None = None

    def times(self) -> np.ndarray:
        """Times (N,) int64 ns on the stream's timeline."""
        return np.asarray(self.table.column(self.stream.timeline).fill_null(0), np.int64)


def memory_stream(
    name: str,
    kind: Kind,
    columns: Mapping[str, ArrayLike | pa.Array] | None = None,
    *,
    stamp_ns: ArrayLike | None = None,
    publish_ns: ArrayLike | None = None,
    log_ns: ArrayLike | None = None,
    seq: ArrayLike | None = None,
    names: Sequence[str] = (),
    role: Role | None = None,
    rate_hz: float | None = None,
    timeline: str | None = None,
    stamp_source: StampSource | None = None,
    stamp_clock: Clock | None = None,
    units: Mapping[str, str] | None = None,
    attributes: Mapping[str, str] | None = None,
    segments: tuple[VideoSegment, ...] = (),
    payload: Sequence[bytes] | None = None,
    declared_count: int | None = None,
) -> MemoryStream:
    """A stream from arrays.

    Args:
        columns: (N,) or (N, D) arrays by column name; (N, D) becomes lists, of fixed size where the
            kind's layout says so. Arrow arrays are taken as they are.
        stamp_ns, publish_ns, log_ns, seq: (N,) int64, each optional.
        names: joint names (D,), the same for all samples, for `Kind.JOINTS`.
        timeline: None: ``stamp_ns`` where there are stamps, else ``log_ns``.
        stamp_source, stamp_clock: None: a driver's stamp on the Unix clock; a grid's counts from the episode.
        declared_count: what an index would claim; None: the true number.
    """
    times = {"stamp_ns": stamp_ns, "publish_ns": publish_ns, "log_ns": log_ns, "seq": seq}
    arrays: dict[str, pa.Array] = {
        column: values if isinstance(values, pa.Array) else pa.array(np.asarray(values, np.int64))
        for column, values in times.items()
        if values is not None
    }
    rows = len(next(iter(arrays.values())))
    if names:
        arrays["name"] = _repeat_names(names, rows)
    fixed = {c.name.rstrip("?") for c in LAYOUTS[kind] if c.type.startswith("fixed_size_list")}
    for column, values in (columns or {}).items():
        arrays[column] = values if isinstance(values, pa.Array) else _column(values, column in fixed)
    table = pa.table(arrays)
    timeline = timeline or ("stamp_ns" if stamp_ns is not None else "log_ns")
    on_timeline = np.asarray(table.column(timeline).fill_null(0), np.int64)
    if stamp_source is None:
        stamp_source = StampSource.DRIVER if stamp_ns is not None else StampSource.NONE
    stream = Stream(
        name,
        kind,
        role=role,
        count=rows if declared_count is None else declared_count,
        start_ns=int(on_timeline[0]) if rows else None,
        end_ns=int(on_timeline[-1]) if rows else None,
        timeline=timeline,
        stamp_source=stamp_source,
        stamp_clock=stamp_clock or Clock(Epoch.EPISODE if stamp_source is StampSource.GRID else Epoch.UNIX),
        log_clock=Clock(Epoch.UNIX, "recorder"),
        rate_hz=rate_hz,
        units=dict(units or {}),
        attributes=dict(attributes or {}),
        segments=segments,
    )
    return MemoryStream(stream, table, None if payload is None else tuple(payload))


class MemoryRecording(Recording):
    """A recording of given streams; scans as a file with all streams interleaved in time would.

    Args:
        batch_rows: samples in each batch.
    """

    def __init__(
        self,
        streams: Sequence[MemoryStream],
        *,
        path: str = "memory",
        episodes: Sequence[EpisodeSpan] = (),
        notes: Sequence[ReadNote] = (),
        metadata: Mapping[str, str] | None = None,
        batch_rows: int = 1000,
    ) -> None:
        super().__init__(
            Path(path),
            "memory",
            files=(),
            streams={item.stream.name: item.stream for item in streams},
            episodes=tuple(episodes),
            metadata=metadata,
            notes=list(notes),
        )
        self.held = {item.stream.name: item for item in streams}
        self.batch_rows = batch_rows

    def scan(
        self,
        streams: Collection[str] | None = None,
        *,
        start_ns: int | None = None,
        end_ns: int | None = None,
        payload: bool = True,
    ) -> Iterator[Batch]:
        """All samples in batches, those of different streams interleaved by time."""
        parts: list[tuple[int, str, np.ndarray]] = []
        for name in self.check_names(streams):
            times = self.held[name].times()
            keep = in_window(times, start_ns, end_ns)
            rows = np.flatnonzero(keep)
            for begin in range(0, len(rows), self.batch_rows):
                chosen = rows[begin : begin + self.batch_rows]
                parts.append((len(parts) if not len(times) else int(times[chosen[0]]), name, chosen))
        order: dict[str, int] = {}
        for index, (time, name, _) in enumerate(parts):
            # A stream's batches keep the file's order even where its times do not.
            order[name] = time = max(time, order.get(name, time))
            parts[index] = (time, name, parts[index][2])
        for _, name, rows in sorted(parts, key=lambda part: part[0]):
            yield self._batch(self.held[name], rows, payload)

    def _batch(self, item: MemoryStream, rows: np.ndarray, payload: bool) -> Batch:
        columns = item.table.take(pa.array(rows)).combine_chunks().to_batches()[0]
        bulk = None
        if payload and item.payload is not None:
            chosen = [item.payload[row] for row in rows]
            length = np.array([len(part) for part in chosen], np.int64)
            bulk = Payload(np.frombuffer(b"".join(chosen), np.uint8), np.cumsum(length) - length, length)
        return Batch(item.stream.name, columns, bulk)


def changed(
    item: MemoryStream, columns: Mapping[str, ArrayLike | pa.Array] | None = None, **facts: object
) -> MemoryStream:
    """A copy with some columns replaced and some facts of the stream changed: how tests plant faults."""
    table = item.table
    for name, values in (columns or {}).items():
        is_time = name in TIME_COLUMNS
        if isinstance(values, pa.Array):
            array = values
        elif is_time:
            array = pa.array(np.asarray(values, np.int64))
        else:
            array = _column(values, pa.types.is_fixed_size_list(table.schema.field(name).type))
        table = table.set_column(table.schema.get_field_index(name), name, array)
    return replace(item, table=table, stream=replace(item.stream, **facts))  # type: ignore[arg-type]


def without_rows(item: MemoryStream, rows: ArrayLike) -> MemoryStream:
    """A copy that lacks some samples; its index claims no more than it holds."""
    keep = np.setdiff1d(np.arange(item.table.num_rows), np.asarray(rows))
    payload = None if item.payload is None else tuple(item.payload[row] for row in keep)
    stream = replace(item.stream, count=len(keep))
    return replace(item, table=item.table.take(pa.array(keep)), payload=payload, stream=stream)


def _column(values: ArrayLike, fixed: bool) -> pa.Array:
    array = np.asarray(values)
    if array.ndim == 1:
        return pa.array(array)
    flat = pa.array(np.ascontiguousarray(array).reshape(-1))
    if fixed:
        return pa.FixedSizeListArray.from_arrays(flat, array.shape[1])
    offsets = pa.array(np.arange(len(array) + 1, dtype=np.int32) * array.shape[1])
    return pa.ListArray.from_arrays(offsets, flat)


def _repeat_names(names: Sequence[str], rows: int) -> pa.Array:
    indices = pa.array(np.tile(np.arange(len(names), dtype=np.int32), rows))
    words = pa.DictionaryArray.from_arrays(indices, pa.array(list(names)))
    return pa.ListArray.from_arrays(pa.array(np.arange(rows + 1, dtype=np.int32) * len(names)), words)
