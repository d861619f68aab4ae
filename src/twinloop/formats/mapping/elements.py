"""Which numbers of a sample are the elements of a feature: by joint name, by place in a column, or by column.

A picker turns batches of one stream into matrices; it learns the names from the first batch where the
feature states none.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from twinloop.core.errors import MappingError, UnknownNameError, Where
from twinloop.core.kinds import GROUPED_KINDS, PAYLOAD_KINDS, TIME_COLUMNS, Kind
from twinloop.formats.mapping.ragged import (
    float_values,
    is_list,
    is_number,
    is_numeric,
    number_rows,
    word_rows,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from twinloop.core.mapping import Feature
    from twinloop.core.stream import Stream

#: What a feature without `field` takes, in this order. Tables give all their numeric columns.
DEFAULT_FIELDS: dict[Kind, tuple[str, ...]] = {
    Kind.JOINTS: ("position",),
    Kind.TWIST: ("linear", "angular"),
    Kind.WRENCH: ("force", "torque"),
    Kind.IMU: ("orientation", "angular_velocity", "linear_acceleration"),
    Kind.MAGNETOMETER: ("field",),
    Kind.BAROMETER: ("pressure",),
    Kind.GNSS: ("latitude", "longitude", "altitude"),
    Kind.POSE: ("position", "orientation"),
    Kind.ODOMETRY: ("position", "orientation", "linear", "angular"),
    Kind.TACTILE: ("values",),
    Kind.SCAN: ("ranges",),
    Kind.JOY: ("axes",),
    Kind.GAZE: ("direction",),
    Kind.KEYPOINTS: ("xyz",),
    Kind.SCALAR: ("value",),
}

#: Kinds with a sample made of several rows or of no numbers: no feature reads as a matrix from them.
NO_MATRIX = PAYLOAD_KINDS | GROUPED_KINDS | {Kind.TEXT, Kind.EVENT, Kind.LABEL, Kind.CAMERA_INFO}

_AXES = {2: ("x", "y"), 3: ("x", "y", "z"), 4: ("w", "x", "y", "z"), 6: ("x", "y", "z", "rx", "ry", "rz")}


class ElementError(MappingError):
    """An element that the stream does not have. `key` is the key of the feature that asks for it."""

    def __init__(
        self, key: str, what: str, stream: Stream, expected: str | None, fix: str | None = None
    ) -> None:
        super().__init__(what, where=Where(stream=stream.name), expected=expected, fix=fix)
        self.key = key


class Picker(Protocol):
    """Takes a feature's elements out of batches of its stream.

    Attributes:
        names: of the elements (D,); complete after the first batch with rows.
        columns: the column that each element comes from (D,), for its unit.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]

    def pick(self, batch: pa.RecordBatch) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
        """Values (R, D) of the rows that are this feature's, and which rows those are (N,) (None: all)."""

    def finish(self) -> None:
        """Raises MappingError if what was asked for was nowhere in the batches seen."""


def picker(stream: Stream, feature: Feature) -> Picker:
    """How the elements of `feature` are found in batches of `stream`.

    Raises:
        MappingError: the stream's kind has no numbers to make a matrix of.
    """
    if stream.kind in NO_MATRIX:
        raise ElementError(
            "stream",
            f"feature {feature.name} reads numbers, but its stream is of kind {stream.kind.value}",
            stream,
            expected="a stream of joints, poses, twists, scalars or a table",
        )
    field = feature.field
    if field is None and len(fields := DEFAULT_FIELDS.get(stream.kind, ())) == 1:
        field = fields[0]
    if field is None:
        return ColumnsPicker(stream, feature)
    if stream.kind is Kind.JOINTS:
        return JointPicker(stream, feature, field)
    return ColumnPicker(stream, feature, field)


class JointPicker:
    """Joints by name, whatever their order in each sample.

    Samples that carry none of the names (another publisher's on the same topic) are passed over; where a
    sample carries only some, the others are NaN.
    """

    def __init__(self, stream: Stream, feature: Feature, field: str) -> None:
        self.stream, self.feature, self.field = stream, feature, field
        self.names = feature.names
        self.columns = (field,) * len(self.names)
        self._rows = 0
        self._known: set[str] = set()
        self._whole = False
        self._unnamed: ColumnPicker | None = None

    def pick(self, batch: pa.RecordBatch) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
        values = number_rows(_column(batch, self.field, self.stream, self.feature))
        names, words = word_rows(batch.column("name")) if "name" in batch.schema.names else (None, [])
        if self._unnamed is not None or names is None or (not self._rows and not names.length.any()):
            return self._pick_unnamed(batch)
        groups = _alike(names.values, names.start, names.length)
        if not self.names and len(names.start):
            self.names = tuple(words[i] for i in names.rows(np.array([0]), int(names.length[0]))[0])
            self.columns = (self.field,) * len(self.names)
        picked = np.full((batch.num_rows, len(self.names)), np.nan)
        mine = np.zeros(batch.num_rows, np.bool_)
        for rows, indices in groups:
            place = {words[i]: position for position, i in enumerate(indices) if i >= 0}
            self._known |= place.keys()
            wanted = [d for d, name in enumerate(self.names) if name in place]
            if not wanted:
                continue
            mine[rows] = True
            full = rows[values.length[rows] == len(indices)]
            if len(full):
                self._whole |= len(wanted) == len(self.names)
                matrix = values.rows(full, len(indices))
                picked[full[:, None], wanted] = matrix[:, [place[self.names[d]] for d in wanted]]
        self._rows += int(mine.sum())
        return (picked, None) if mine.all() else (picked[mine], mine)

    def _pick_unnamed(self, batch: pa.RecordBatch) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
        if self._unnamed is None:
            self._unnamed = ColumnPicker(self.stream, self.feature, self.field)
        picked = self._unnamed.pick(batch)
        self.names, self.columns = self._unnamed.names, self._unnamed.columns
        return picked

    def finish(self) -> None:
        if self._unnamed is not None:
            self._unnamed.finish()
        elif self._known:
            missing = [name for name in self.names if name not in self._known]
            if missing:
                raise _missing(self.feature, self.stream, missing, self._known)
            if not self._whole:
                raise ElementError(
                    "names",
                    f"no sample of the stream has a {self.field} for all joints of feature {self.feature.name}",
                    self.stream,
                    expected=f"samples with {', '.join(self.names)} and as many values as names",
                    fix="choose another field, or make a feature for each group of joints sent together",
                )


class ColumnPicker:
    """One column: a number, or a list whose elements are chosen by axis (x) or number (0), or all taken."""

    def __init__(self, stream: Stream, feature: Feature, field: str) -> None:
        self.stream, self.feature, self.field = stream, feature, field
        self.names = feature.names
        self.columns = (field,) * len(self.names)
        self._chosen: NDArray[np.int64] | None = None
        self._width = 0
        self._fits = True
        self._longest = 0

    def pick(self, batch: pa.RecordBatch) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
        array = _column(batch, self.field, self.stream, self.feature)
        if not is_list(array.type):
            self._choose(1, (self.field,))
            return float_values(array)[:, None], None
        rows = number_rows(array)
        if self._chosen is None and len(rows.length):
            width = int(rows.length.max())
            self._choose(width, _axes(array.type, width))
        if self._chosen is None:
            return np.empty((0, len(self.names))), None
        fit = np.flatnonzero(rows.length == self._width)
        picked = np.full((batch.num_rows, len(self.names)), np.nan)
        if len(fit):
            picked[fit] = rows.rows(fit, self._width)[:, self._chosen]
        return picked, None

    def _choose(self, width: int, axes: tuple[str, ...]) -> None:
        if self._chosen is not None:
            return
        names = self.feature.names
        if names and set(names) <= set(axes):
            chosen = [axes.index(name) for name in names]
        elif not names or len(names) == width:
            chosen = list(range(width))
            names = names or axes
        else:
            raise ElementError(
                "names",
                f"feature {self.feature.name} names {len(names)} elements, "
                f"but {self.field} has {width or 'no'} values",
                self.stream,
                expected=f"{width} names" + (f", or some of {', '.join(axes)}" if axes else ""),
            )
        self._chosen, self._width = np.asarray(chosen, np.int64), width
        self.names, self.columns = names, (self.field,) * len(names)

    def finish(self) -> None:
        """Nothing is left to ask for: the first batch settled it."""


class ColumnsPicker:
    """Several columns side by side: each name is a column (``j1``), or a column and an axis (``linear.x``)."""

    def __init__(self, stream: Stream, feature: Feature) -> None:
        self.stream, self.feature = stream, feature
        self.names = feature.names
        self.columns = tuple(name.rpartition(".")[0] or name for name in self.names)
        self._parts: list[tuple[str, int | None]] = []

    def pick(self, batch: pa.RecordBatch) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
        if not self._parts:
            self._settle(batch)
        picked = np.full((batch.num_rows, len(self._parts)), np.nan)
        for position, (column, element) in enumerate(self._parts):
            array = _column(batch, column, self.stream, self.feature)
            if element is None:
                picked[:, position] = float_values(array)
                continue
            rows = number_rows(array)
            fit = np.flatnonzero(rows.length > element)
            picked[fit, position] = rows.values[rows.start[fit] + element]
        return picked, None

    def _settle(self, batch: pa.RecordBatch) -> None:
        known: dict[str, tuple[str, int | None]] = {}
        wanted: list[str] = []
        defaults = DEFAULT_FIELDS.get(self.stream.kind)
        for column in batch.schema:
            if column.name in TIME_COLUMNS or not is_numeric(column.type):
                continue
            names: dict[str, tuple[str, int | None]]
            if is_number(column.type):
                names = {column.name: (column.name, None)}
            else:
                lengths = number_rows(batch.column(column.name)).length
                width = int(lengths.max()) if len(lengths) else 0
                axes = enumerate(_axes(column.type, width))
                names = {f"{column.name}.{axis}": (column.name, i) for i, axis in axes}
            known.update(names)
            if defaults is None or column.name in defaults:
                wanted += names
        missing = [name for name in self.feature.names if name not in known]
        if missing:
            raise _missing(self.feature, self.stream, missing, known)
        self.names = self.feature.names or tuple(wanted)
        if not self.names:
            raise ElementError(
                "stream",
                f"feature {self.feature.name} finds no numbers in its stream",
                self.stream,
                expected="a column of numbers",
            )
        self._parts = [known[name] for name in self.names]
        self.columns = tuple(column for column, _ in self._parts)

    def finish(self) -> None:
        """Nothing is left to ask for: the first batch settled it."""


def _axes(type_: pa.DataType, width: int) -> tuple[str, ...]:
    """What the elements of a list are called: axes where its size is fixed, else numbers."""
    axes = _AXES.get(width) if pa.types.is_fixed_size_list(type_) else None
    return axes or tuple(str(i) for i in range(width))


def _column(batch: pa.RecordBatch, name: str, stream: Stream, feature: Feature) -> pa.Array:
    """A numeric column by name; MappingError with the names there are otherwise."""
    known = [c.name for c in batch.schema if c.name not in TIME_COLUMNS and is_numeric(c.type)]
    if name not in known:
        error = UnknownNameError("field", name, known)
        raise ElementError(
            "field",
            f"feature {feature.name}: the stream has no field {name!r} of numbers",
            stream,
            expected=error.expected,
            fix=error.fix,
        )
    return batch.column(name)


def _missing(feature: Feature, stream: Stream, missing: list[str], known: Iterable[str]) -> ElementError:
    names = sorted(known)
    return ElementError(
        "names",
        f"feature {feature.name} names {', '.join(missing)}, which the stream does not have",
        stream,
        expected=f"names among: {', '.join(names)}",
        fix=UnknownNameError("name", missing[0], names).fix,
    )


def _alike(
    values: NDArray[np.generic], start: NDArray[np.int64], length: NDArray[np.int64]
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Groups of rows with equal content: (rows (R,), content (L,)) for each. One comparison for the usual
    case that all rows are alike, one sort for the rest."""
    groups = []
    for width in np.unique(length):
        rows = np.flatnonzero(length == width)
        if width == 0:
            continue
        matrix = values[start[rows][:, None] + np.arange(width)].astype(np.int64)
        if (matrix == matrix[0]).all():
            groups.append((rows, matrix[0]))
            continue
        distinct, which = np.unique(matrix, axis=0, return_inverse=True)
        which = which.reshape(-1)
        order = np.argsort(which, kind="stable")
        bounds = np.searchsorted(which[order], np.arange(len(distinct) + 1))
        groups += [(rows[order[a:b]], distinct[i]) for i, (a, b) in enumerate(pairwise(bounds))]
    return groups
