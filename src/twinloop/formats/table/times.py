"""The times of a table's rows: which column, unit, source and clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinloop.core.clock import Clock
from twinloop.core.errors import MappingError, UnknownNameError, Where
from twinloop.core.kinds import StampSource
from twinloop.core.recording import Problem
from twinloop.formats.time_column import (
    ISO,
    best_time,
    declared_unit,
    epoch_of,
    likely_unit,
    source_of,
    to_ns,
)

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.formats.notes import Notes
    from twinloop.formats.table.sidecar import TimeColumn
    from twinloop.formats.table.source import TableSource


@dataclass(frozen=True, slots=True)
class RowTimes:
    """How rows get their stamps. `start_ns`, `end_ns`: first and last, None where the ends have none."""

    column: str
    unit: str
    source: StampSource
    clock: Clock
    start_ns: int | None
    end_ns: int | None

    def stamps(self, rows: pa.RecordBatch) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Stamps (N,) int64 ns, and which rows have one (N,)."""
        return to_ns(rows.column(self.column), self.unit)


def row_times(source: TableSource, said: TimeColumn, path: Path, notes: Notes) -> RowTimes | None:
    """The times of a table; what `said` leaves open is taken from header and numbers, with a note where a
    unit is inferred. None: no column is one of times.

    Raises:
        MappingError: the mapping names a column that is not there, or no unit fits and none is given.
    """
    column = said.column or best_time(source.columns)
    if column is None:
        return None
    if column not in source.columns:
        error = UnknownNameError("column", column, source.columns)
        raise MappingError(error.what, where=f"{path}, [time]", expected=error.expected, fix=error.fix)
    first, last = source.edges(column)
    unit = said.unit or declared_unit(column) or (ISO if pa.types.is_timestamp(first.type) else None)
    if unit is None:
        unit = _inferred(column, first, path, notes)
    ends = [_range(values, unit) for values in (first, last)]
    known = [edge for edge in ends if edge is not None]
    start_ns = min(edge[0] for edge in known) if known else None
    end_ns = max(edge[1] for edge in known) if known else None
    epoch = said.epoch or epoch_of(start_ns or 0)
    return RowTimes(column, unit, said.source or source_of(column), Clock(epoch), start_ns, end_ns)


def _inferred(column: str, values: pa.Array, path: Path, notes: Notes) -> str:
    numbers = _numbers(values)
    if not len(numbers):
        return ISO
    unit = likely_unit(numbers)
    if unit is None:
        raise MappingError(
            f"the unit of the times in column {column!r} cannot be told from its numbers",
            where=str(path),
            expected="a unit in the header, such as time_ms, or in a mapping file",
            fix=f'write {path.name}.twinloop.toml with [time] column = "{column}" and unit = "ms"',
        )
    notes.add(
        Problem.SCHEMA, f"column {column} does not say its unit; its numbers fit {unit}", Where(file=str(path))
    )
    return unit


def _numbers(values: pa.Array) -> NDArray[np.float64]:
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        texts = pc.utf8_trim_whitespace(values)
        fits = pc.match_substring_regex(texts, r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$")
        values = texts.filter(pc.fill_null(fits, False))
    elif not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        return np.empty(0)
    return np.asarray(pc.cast(values, pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)


def _range(values: pa.Array, unit: str) -> tuple[int, int] | None:
    ns, valid = to_ns(values, unit)
    return (int(ns[valid].min()), int(ns[valid].max())) if valid.any() else None
