"""What a stream's numbers are: where they are not finite, what never changes, where all stand still."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinloop.checks.measure.bounded import PlaceList, Places
from twinloop.core.kinds import TIME_COLUMNS, Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from twinloop.core.stream import Stream

#: Kinds whose numbers are not looked at. A scan's ranges may be infinite or NaN (REP 117).
UNWATCHED_KINDS = frozenset(
    {Kind.SCAN, Kind.CAMERA_INFO, Kind.TEXT, Kind.EVENT, Kind.RAW, Kind.IMAGE, Kind.DEPTH, Kind.POINTS}
)
_PLACES = 200  # samples kept for each element that is not finite
_RUNS = 256  # standstills kept, the longest
_SHORTEST_RUN = 5  # samples


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """One column of a stream.

    Attributes:
        column: its name. names: of its elements, or () where they have none. rows: samples looked at.
        not_finite: element -> samples in which it is NaN or infinite; -1 for any element of columns whose
            length varies.
        missing: (D,) samples in which each element is NaN; empty where the length varies.
        low, high: (D,) smallest and largest finite value; NaN where there is none.
    """

    column: str
    names: tuple[str, ...]
    rows: int
    not_finite: dict[int, Places]
    missing: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class StreamValues:
    """All watched columns of a stream.

    Attributes:
        standstills: runs of samples with exactly the values of the one before, the longest; `row` is
            the sample that the run begins with. lengths: (P,) samples in each run.
        changing: share of the samples that differ from the one before.
    """

    columns: tuple[ColumnValues, ...]
    standstills: Places
    lengths: NDArray[np.int64]
    changing: float


def watched_columns(stream: Stream, schema: pa.Schema) -> list[str]:
    """The columns of floating-point numbers that are measurements; covariances are not."""
    if stream.kind in UNWATCHED_KINDS:
        return []
    return [
        field.name
        for field in schema
        if field.name not in TIME_COLUMNS and "covariance" not in field.name and _is_floating(field.type)
    ]


class ColumnMeter:
    """Measures one column from blocks of rows."""

    def __init__(self, column: str, names: tuple[str, ...]) -> None:
        self.column = column
        self.names = names
        self.width: int | None = None
        self.rows = 0
        self._places: dict[int, PlaceList] = {}
        self._missing = np.empty(0, np.int64)
        self._low = np.empty(0)
        self._high = np.empty(0)

    def add(
        self, array: pa.Array, rows: NDArray[np.int64], times: NDArray[np.int64]
    ) -> NDArray[np.float64] | None:
        """Take in a column (N,) of a block; gives it back as a matrix (N, D) if its rows are alike."""
        self.rows += len(array)
        matrix = _matrix(array)
        if matrix is None or (self.width not in (None, matrix.shape[1])):
            self._add_ragged(array, rows, times)
            return None
        if self.width is None:
            self.width = matrix.shape[1]
            self._missing = np.zeros(self.width, np.int64)
            self._low, self._high = np.full((2, self.width), np.nan)
        self._add_matrix(matrix, rows, times)
        return matrix

    def _add_matrix(
        self, matrix: NDArray[np.float64], rows: NDArray[np.int64], times: NDArray[np.int64]
    ) -> None:
        low, high = matrix.min(axis=0), matrix.max(axis=0)
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            bad = ~np.isfinite(matrix)
            self._missing += np.isnan(matrix).sum(axis=0)
            for element in np.flatnonzero(bad.any(axis=0)).tolist():
                self._note(element, np.flatnonzero(bad[:, element]), rows, times)
            finite = np.where(bad, np.nan, matrix)
            low, high = np.fmin.reduce(finite, axis=0), np.fmax.reduce(finite, axis=0)
        self._low, self._high = np.fmin(self._low, low), np.fmax(self._high, high)

    def _add_ragged(self, array: pa.Array, rows: NDArray[np.int64], times: NDArray[np.int64]) -> None:
        values, row_of = _flat(array)
        bad = np.unique(row_of[~np.isfinite(values)])
        if len(bad):
            self._note(-1, bad, rows, times)

    def _note(
        self, element: int, where: NDArray[np.int64], rows: NDArray[np.int64], times: NDArray[np.int64]
    ) -> None:
        places = self._places.setdefault(element, PlaceList(_PLACES))
        places.add(rows[where], times[where], times[where])

    def finish(self) -> ColumnValues:
        """The measurement."""
        names = self.names if len(self.names) == self.width else ()
        places = {element: found.places() for element, found in self._places.items()}
        return ColumnValues(self.column, names, self.rows, places, self._missing, self._low, self._high)


class ValuesMeter:
    """Measures a stream's `StreamValues` from blocks of its columns."""

    def __init__(self, columns: list[str], names: tuple[str, ...]) -> None:
        self._meters = [ColumnMeter(column, names) for column in columns]
        self._last: NDArray[np.float64] | None = None
        self._run: tuple[int, int, int, int] | None = None  # row, time, latest time, samples
        self._runs: list[NDArray[np.int64]] = []  # (4, R)
        self._changes = 0
        self._steps = 0

    def add(self, table: pa.RecordBatch, rows: NDArray[np.int64], times: NDArray[np.int64]) -> None:
        """Take in a block of rows with their numbers and times (N,)."""
        matrices = []
        for meter in self._meters:
            matrix = meter.add(table.column(meter.column), rows, times)
            if matrix is not None and matrix.shape[1]:
                matrices.append(matrix)
        if matrices and len(matrices) == sum(meter.width != 0 for meter in self._meters):
            self._look_for_standstill(
                matrices[0] if len(matrices) == 1 else np.concatenate(matrices, axis=1), rows, times
            )
        else:
            self._last = None

    def _look_for_standstill(
        self, matrix: NDArray[np.float64], rows: NDArray[np.int64], times: NDArray[np.int64]
    ) -> None:
        same = np.empty(len(matrix), np.bool_)
        np.all(matrix[1:] == matrix[:-1], axis=1, out=same[1:])
        joined = self._last is not None and self._last.shape[0] == matrix.shape[1]
        same[0] = joined and bool((matrix[0] == self._last).all())
        self._steps += len(matrix) - (not joined)
        self._changes += int((~same).sum()) - (not joined)
        self._last = matrix[-1].copy()
        begins = np.flatnonzero(~same)  # a run begins at each sample that differs from the one before
        if len(begins) == 0:
            if self._run is not None:
                row, time, _, samples = self._run
                self._run = (row, time, int(times[-1]), samples + len(matrix))
            return
        if self._run is not None:
            row, time, latest, samples = self._run
            more = int(begins[0])
            self._keep(np.array([[row], [time], [int(times[more - 1]) if more else latest], [samples + more]]))
        ends = np.append(begins[1:], len(matrix)) - 1
        lengths = ends - begins + 1
        closed = np.flatnonzero(lengths[:-1] >= _SHORTEST_RUN)
        self._keep(
            np.stack([rows[begins[closed]], times[begins[closed]], times[ends[closed]], lengths[closed]])
        )
        self._run = (int(rows[begins[-1]]), int(times[begins[-1]]), int(times[-1]), int(lengths[-1]))

    def _keep(self, runs: NDArray[np.int64]) -> None:
        runs = runs[:, runs[3] >= _SHORTEST_RUN]
        if not runs.shape[1]:
            return
        self._runs.append(runs)
        if sum(part.shape[1] for part in self._runs) > 4 * _RUNS:
            self._runs = [self._longest_runs()]

    def _longest_runs(self) -> NDArray[np.int64]:
        runs = np.concatenate(self._runs, axis=1) if self._runs else np.empty((4, 0), np.int64)
        if runs.shape[1] > _RUNS:
            runs = runs[:, np.sort(np.argpartition(runs[3], -_RUNS)[-_RUNS:])]
        return runs

    def finish(self) -> StreamValues:
        """The measurement."""
        if self._run is not None:
            self._keep(np.array(self._run, np.int64)[:, None])
            self._run = None
        runs = self._longest_runs()
        return StreamValues(
            tuple(meter.finish() for meter in self._meters),
            Places(runs[0], runs[1], runs[2], runs.shape[1]),
            runs[3],
            self._changes / self._steps if self._steps > 0 else 0.0,
        )


def _is_floating(type_: pa.DataType) -> bool:
    if pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_):
        return bool(pa.types.is_floating(type_.value_type))
    return bool(pa.types.is_floating(type_))


def _matrix(array: pa.Array) -> NDArray[np.float64] | None:
    """A column (N,) of numbers or equally long lists as (N, D) float64; None where lengths differ.

    Null numbers become zero here: missing is not the same as NaN, and is for other rules to judge.
    """
    if not len(array):
        return np.empty((0, 0))
    if pa.types.is_floating(array.type):
        return _floats(array)[:, None]
    if array.null_count:
        return None
    values = _floats(array.flatten())
    if pa.types.is_fixed_size_list(array.type):
        return values.reshape(len(array), -1)
    lengths = np.diff(array.offsets.to_numpy())
    return values.reshape(len(array), -1) if (lengths == lengths[0]).all() else None


def _flat(array: pa.Array) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """All numbers of a column of lists, and the row of each."""
    if pa.types.is_floating(array.type):
        return _floats(array), np.arange(len(array))
    lengths = np.asarray(pc.list_value_length(array).fill_null(0), np.int64)
    return _floats(array.flatten()), np.repeat(np.arange(len(array)), lengths)


def _floats(array: pa.Array) -> NDArray[np.float64]:
    if array.null_count:
        array = array.fill_null(0)
    return np.asarray(array.to_numpy(zero_copy_only=False), np.float64)


def element_names(table: pa.RecordBatch) -> tuple[str, ...]:
    """Joint names of the first row, where rows carry them."""
    if "name" not in table.schema.names or not table.num_rows:
        return ()
    first = table.column("name")[0].as_py()
    return tuple(first) if isinstance(first, list) else ()
