"""A table as one recording."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinloop.core.errors import Where
from twinloop.core.kinds import TIME_COLUMNS, StampSource
from twinloop.core.recording import Problem, Recording
from twinloop.core.stream import Batch, Stream

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.core.kinds import Role
    from twinloop.formats.notes import Notes
    from twinloop.formats.table.fields import FieldPlan
    from twinloop.formats.table.source import TableSource
    from twinloop.formats.table.times import RowTimes


@dataclass(frozen=True, slots=True)
class PlannedStream:
    """One stream of a table, with what the mapping says of it beyond its columns."""

    plan: FieldPlan
    role: Role | None = None
    rate_hz: float | None = None


class TableRecording(Recording):
    """Streams that share the rows of one table, and their times."""

    def __init__(
        self,
        path: Path,
        *,
        encoding: str,
        source: TableSource,
        times: RowTimes | None,
        streams: list[PlannedStream],
        files: tuple[Path, ...],
        metadata: dict[str, str],
        notes: Notes,
    ) -> None:
        super().__init__(
            path,
            "table",
            files=files,
            streams={
                one.plan.name: _stream(one, encoding, source, times, files[0].stat().st_size) for one in streams
            },
            metadata=metadata,
            notes=notes.all,
        )
        self._source = source
        self._times = times
        self._plans = {one.plan.name: one.plan for one in streams}
        self._file = files[0]
        self._note = notes

    def scan(
        self,
        streams: Collection[str] | None = None,
        *,
        start_ns: int | None = None,
        end_ns: int | None = None,
        payload: bool = True,  # noqa: ARG002  (a table has none)
    ) -> Iterator[Batch]:
        plans = [self._plans[name] for name in self.check_names(streams)]
        extra = [name for name in TIME_COLUMNS if name in self._source.columns and not self._is_time(name)]
        exact = [*extra, *([self._times.column] if self._times else [])]
        wanted = {source for plan in plans for source in plan.sources} - set(exact)
        for batch, first_row in self._source.batches(wanted, exact):
            rows, times = self._timed(batch, first_row, extra, start_ns, end_ns)
            if not rows.num_rows:
                continue
            for plan in plans:
                yield Batch(plan.name, pa.RecordBatch.from_pydict(times | plan.columns(rows)))

    def _is_time(self, name: str) -> bool:
        return self._times is not None and self._times.column == name

    def _timed(
        self, batch: pa.RecordBatch, first_row: int, extra: list[str], start_ns: int | None, end_ns: int | None
    ) -> tuple[pa.RecordBatch, dict[str, pa.Array]]:
        """The rows inside the span and their time columns; rows without a time are noted and left out."""
        times = {name: _whole(batch.column(name)) for name in extra}
        if self._times is None:
            return batch, times
        stamps, valid = self._times.stamps(batch)
        if not valid.all():
            self._note_untimed(batch, valid, first_row)
        keep = valid
        if start_ns is not None:
            keep = keep & (stamps >= start_ns)
        if end_ns is not None:
            keep = keep & (stamps < end_ns)
        if not keep.all():
            mask = pa.array(keep)
            batch, stamps = batch.filter(mask), stamps[keep]
            times = {name: column.filter(mask) for name, column in times.items()}
        return batch, {"stamp_ns": pa.array(stamps)} | times

    def _note_untimed(self, batch: pa.RecordBatch, valid: NDArray[np.bool_], first_row: int) -> None:
        assert self._times is not None
        place = int(np.argmin(valid))
        cell = batch.column(self._times.column)[place].as_py()
        self._note.add(
            Problem.BAD_VALUE,
            f"{int((~valid).sum())} rows without a time in column {self._times.column} are left out; "
            f"the first holds {cell!r}",
            Where(file=str(self._file), row=first_row + place),
            int((~valid).sum()),
        )


def _stream(
    one: PlannedStream, encoding: str, source: TableSource, times: RowTimes | None, size: int
) -> Stream:
    plan = one.plan
    attributes = {"columns": ", ".join(plan.sources)}
    if plan.names:
        attributes["names"] = ", ".join(plan.names)
    if times is not None:
        attributes["times"] = f"column {times.column}, {times.unit}"
    return Stream(
        name=plan.name,
        kind=plan.kind,
        role=one.role,
        count=source.rows,
        start_ns=times.start_ns if times else None,
        end_ns=times.end_ns if times else None,
        timeline="stamp_ns",
        stamp_source=times.source if times else StampSource.NONE,
        stamp_clock=times.clock if times else Stream("", plan.kind).stamp_clock,
        type_name=plan.kind.value,
        encoding=encoding,
        bytes=size,
        rate_hz=one.rate_hz,
        units=plan.units,
        attributes=attributes,
    )


def _whole(column: pa.Array) -> pa.Array:
    """A time column named as ours, as int64."""
    if pa.types.is_string(column.type):
        texts = pc.utf8_trim_whitespace(column)
        column = pc.if_else(pc.match_substring_regex(texts, r"^[+-]?\d{1,18}$|^[+-]?\d{19}$"), texts, None)
    return pc.cast(column, pa.int64(), safe=False)
