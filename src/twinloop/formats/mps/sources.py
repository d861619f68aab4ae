"""Sources of streams: what the parts beside a recording have in common, and tables as sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinloop.core.clock import Clock, Epoch
from twinloop.core.errors import UnreadableError, Where
from twinloop.core.kinds import GROUPED_KINDS, Kind, Role, StampSource
from twinloop.core.recording import Problem
from twinloop.core.stream import Batch, Stream
from twinloop.core.timeline import cut_to_window
from twinloop.formats.arrow_columns import words
from twinloop.formats.mps.rows import open_rows
from twinloop.formats.time_column import to_ns

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.formats.mps.layouts import Layout
    from twinloop.formats.notes import Notes

DEVICE = Clock(Epoch.DEVICE, "device")
#: Messages of tables up to this size are counted when they are opened.
_COUNTED = 16 << 20


class Source(Protocol):
    """One or more streams in a file beside a recording."""

    streams: dict[str, Stream]
    files: tuple[Path, ...]

    def batches(self, names: Collection[str]) -> Iterator[tuple[str, pa.RecordBatch]]:
        """All samples of the named streams in one pass, time columns first."""


def scan_source(
    source: Source, names: Collection[str], start_ns: int | None, end_ns: int | None
) -> Iterator[Batch]:
    """The samples of a source within a window of each stream's timeline."""
    for name, rows in source.batches(names):
        batch = cut_to_window(source.streams[name], Batch(name, rows), start_ns, end_ns)
        if batch is not None:
            yield batch


class TableSource:
    """A known table as a stream.

    `categories`: object uid -> category, for boxes of objects.

    Raises:
        UnreadableError: the table has no rows.
    """

    def __init__(
        self,
        path: Path,
        name: str,
        layout: Layout,
        head: bytes,
        notes: Notes,
        *,
        role: Role | None = None,
        categories: Mapping[str, str] | None = None,
    ) -> None:
        self.files: tuple[Path, ...] = (path,)
        self._layout, self._notes, self._categories = layout, notes, categories or {}
        self._rows = open_rows(path, head, notes)
        self._try_columns(path)
        start, end = self._span()
        timed = layout.time is not None
        stream = Stream(
            name,
            layout.kind,
            role,
            count=self._count(),
            start_ns=start,
            end_ns=end,
            timeline="stamp_ns" if timed else "log_ns",
            stamp_source=layout.source if timed else StampSource.NONE,
            stamp_clock=DEVICE if timed else Clock(),
            type_name=path.name,
            encoding="csv",
            bytes=path.stat().st_size,
            units=dict(layout.units),
            attributes=dict(layout.attributes),
        )
        self.streams = {name: stream}

    def batches(self, names: Collection[str]) -> Iterator[tuple[str, pa.RecordBatch]]:
        for name in names:
            yield from ((name, rows) for rows in self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        messages = MessageCounter(self._layout.message)
        first = 0
        for rows in self._rows.batches():
            stamps = self._stamps(rows, first)
            first += rows.num_rows
            if stamps is not None and not stamps[1].all():
                rows, stamps = rows.filter(pa.array(stamps[1])), (stamps[0][stamps[1]], stamps[1])
            if not rows.num_rows:
                continue
            columns = {} if stamps is None else {"stamp_ns": pa.array(stamps[0])}
            if self._layout.kind in GROUPED_KINDS:
                columns["message"] = pa.array(messages.number(rows))
            made = self._layout.columns(rows)
            if self._layout.kind is Kind.DETECTIONS:
                tracks = made["track"].dictionary_decode().to_pylist()
                made["category"] = words([self._categories.get(uid, "") for uid in tracks])
            yield pa.RecordBatch.from_pydict(columns | made)

    def _stamps(self, rows: pa.RecordBatch, first: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]] | None:
        if self._layout.time is None:
            return None
        stamps, valid = to_ns(rows.column(self._layout.time), self._layout.unit)
        if not valid.all():
            lost = int((~valid).sum())
            where = Where(str(self.files[0]), row=first + int(np.argmin(valid)))
            self._notes.add(Problem.BAD_VALUE, f"{lost} rows without a time are left out", where, lost)
        return stamps, valid

    def _span(self) -> tuple[int | None, int | None]:
        """The first and last time of rows in the order of time; what is unordered is found by the scan."""
        if self._layout.time is None or (edges := self._rows.edges(self._layout.time)) is None:
            return None, None
        known = [
            stamps[valid]
            for stamps, valid in (to_ns(values, self._layout.unit) for values in edges)
            if valid.any()
        ]
        if not known:
            return None, None
        return min(int(k.min()) for k in known), max(int(k.max()) for k in known)

    def _try_columns(self, path: Path) -> None:
        """Whether all columns are there that the layout's are made of."""
        names = self._rows.columns
        empty = pa.RecordBatch.from_pydict({name: pa.array([], pa.string()) for name in names})
        try:
            self._layout.columns(empty)
        except KeyError as error:
            raise UnreadableError(f"the table is cut or changed: {error.args[0]}", where=str(path)) from None

    def _count(self) -> int | None:
        if not self._layout.message:
            return self._rows.count
        if self.files[0].stat().st_size > _COUNTED:
            return None
        messages = MessageCounter(self._layout.message)
        for rows in self._rows.batches():
            messages.number(rows)
        return messages.met


class MessageCounter:
    """Numbers the messages of a table of several rows a message: a new one where a named column changes."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self._last: tuple[object, ...] | None = None
        self.met = 0

    def number(self, rows: pa.RecordBatch) -> NDArray[np.int64]:
        """The message of each row (N,)."""
        changed = np.zeros(rows.num_rows, np.bool_)
        for name in self._names:
            column = rows.column(name)
            if rows.num_rows > 1:
                changed[1:] |= np.asarray(pc.fill_null(pc.not_equal(column[1:], column[:-1]), False))
        ends = [tuple(rows.column(name)[row].as_py() for name in self._names) for row in (0, rows.num_rows - 1)]
        changed[0] = ends[0] != self._last
        self._last = ends[1]
        numbers = self.met + np.cumsum(changed) - 1
        self.met += int(changed.sum())
        return np.asarray(numbers, np.int64)
