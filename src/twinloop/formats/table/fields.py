"""From a table's columns to the columns of a stream's kind."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinloop.core.errors import MappingError, UnknownNameError
from twinloop.core.kinds import LAYOUTS, TIME_COLUMNS, Kind
from twinloop.core.units import TO_SI, UNDECLARED

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from twinloop.formats.table.sidecar import MappedStream, TableMapping

#: Kinds whose samples are a row of plain cells.
MAPPABLE = (
    Kind.TABLE,
    Kind.JOINTS,
    Kind.SCALAR,
    Kind.TEXT,
    Kind.EVENT,
    Kind.IMU,
    Kind.POSE,
    Kind.ODOMETRY,
    Kind.TWIST,
    Kind.WRENCH,
    Kind.MAGNETOMETER,
    Kind.BAROMETER,
    Kind.GNSS,
    Kind.TACTILE,
    Kind.GAZE,
    Kind.KEYPOINTS,
    Kind.JOY,
    Kind.SCAN,
)

_UNIT_IN_NAME = re.compile(r"[(\[]\s*([^()\[\]]{1,12})\s*[)\]]\s*$")
_SPELLED = {
    "m/s^2": "m/s2",
    "m/s²": "m/s2",
    "°": "deg",
    "°/s": "deg/s",
    "degrees": "deg",
    "radians": "rad",
    "Nm": "N.m",
}


@dataclass(frozen=True, slots=True)
class Field:
    """One column of a stream: `sources` are the table's columns, `size` how many of them make a fixed list
    (0: a list of any length, 1: one value), `scale` the factor to the layout's unit."""

    name: str
    sources: tuple[str, ...]
    type: str
    size: int = 1
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class FieldPlan:
    """How one stream's columns are made. `names` are joints'; `units` what is known beyond the layout."""

    name: str
    kind: Kind
    fields: tuple[Field, ...]
    names: tuple[str, ...] = ()
    frame_id: str | None = None
    units: dict[str, str] = field(default_factory=dict)

    @property
    def sources(self) -> tuple[str, ...]:
        """The table's columns that it takes."""
        return tuple(dict.fromkeys(source for one in self.fields for source in one.sources))

    def columns(self, rows: pa.RecordBatch) -> dict[str, pa.Array]:
        """The stream's columns (without times) of some rows of the table."""
        size = rows.num_rows
        made: dict[str, pa.Array] = {}
        if self.frame_id is not None:
            zeros = pa.array(np.zeros(size, np.int32))
            made["frame_id"] = pa.DictionaryArray.from_arrays(zeros, pa.array([self.frame_id], pa.string()))
        if self.names:
            made["name"] = _name_lists(self.names, size)
        for one in self.fields:
            made[one.name] = _column(one, rows)
        return made


def plan_table(name: str, columns: Collection[str], taken: Collection[str]) -> FieldPlan:
    """All columns but those `taken`, as they are."""
    kept = [column for column in columns if column not in taken]
    return FieldPlan(
        name,
        Kind.TABLE,
        tuple(Field(column, (column,), "any") for column in kept),
        units={column: unit for column in kept if (unit := unit_in_name(column)) is not None},
    )


def plan_streams(mapping: TableMapping, columns: tuple[str, ...], time: str | None) -> list[FieldPlan]:
    """The streams that a mapping file describes.

    Raises:
        MappingError: a column, field or kind that there is not, a unit that does not fit, a field missing.
    """
    taken = {time, *TIME_COLUMNS}
    taken |= {
        source for stream in mapping.streams for value in stream.columns.values() for source in _listed(value)
    }
    names = [stream.name for stream in mapping.streams]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise MappingError(f"two streams are named {repeated}", where=mapping.path)
    return [_plan(stream, mapping.path, columns, taken) for stream in mapping.streams]


def unit_in_name(column: str) -> str | None:
    """The unit in brackets at the end of a header."""
    match = _UNIT_IN_NAME.search(column)
    return _SPELLED.get(match[1], match[1]) if match else None


def _plan(
    stream: MappedStream, path: str, columns: tuple[str, ...], taken: Collection[str | None]
) -> FieldPlan:
    where = f"{path}, stream {stream.name}"
    if stream.kind not in MAPPABLE:
        raise MappingError(
            f"a table cannot make streams of kind {stream.kind.value}",
            where=where,
            expected=f"one of: {', '.join(kind.value for kind in MAPPABLE)}",
        )
    for value in stream.columns.values():
        for source in _listed(value):
            if source not in columns:
                error = UnknownNameError("column", source, columns)
                raise MappingError(error.what, where=where, expected=error.expected, fix=error.fix)
    if stream.kind is Kind.TABLE:
        if not stream.columns:
            return plan_table(stream.name, columns, {name for name in taken if name is not None})
        fields = tuple(Field(name, _listed(value), "any") for name, value in stream.columns.items())
        return FieldPlan(stream.name, Kind.TABLE, fields, units=_table_units(stream, fields))
    return _plan_kind(stream, where)


def _plan_kind(stream: MappedStream, where: str) -> FieldPlan:
    layout = {column.name.rstrip("?"): column for column in LAYOUTS[stream.kind]}
    made = {"frame_id", "name"} if stream.kind in (Kind.JOINTS, Kind.KEYPOINTS) else {"frame_id"}
    missing = [
        name
        for name, column in layout.items()
        if not column.name.endswith("?") and name not in stream.columns and name not in made
    ]
    unknown = [name for name in stream.columns if name not in layout or name in made]
    if unknown or missing:
        say = f"has no field {unknown[0]}" if unknown else f"needs the field {missing[0]}"
        known = ", ".join(name for name in layout if name not in made)
        raise MappingError(f"kind {stream.kind.value} {say}", where=where, expected=f"fields among: {known}")
    fields: list[Field] = []
    units: dict[str, str] = {}
    for name, value in stream.columns.items():
        sources = _listed(value)
        size = _size(layout[name].type)
        if size and len(sources) != size:
            raise MappingError(
                f"field {name} of kind {stream.kind.value} is made of {len(sources)} columns",
                where=where,
                expected=f"{size} columns",
            )
        scale, unit = _scale(stream, name, sources, layout[name].unit, where)
        if unit is not None:
            units[name] = unit
        fields.append(Field(name, sources, layout[name].type, size, scale))
    names: tuple[str, ...] = ()
    if stream.kind in (Kind.JOINTS, Kind.KEYPOINTS):
        names = stream.names or fields[0].sources
        each = 3 if stream.kind is Kind.KEYPOINTS else 1
        wrong = next((one for one in fields if len(one.sources) != each * len(names)), None)
        if wrong is not None:
            raise MappingError(
                f"field {wrong.name} has {len(wrong.sources)} columns for {len(names)} names",
                where=where,
                expected=f"{each} for each name",
            )
    has_frame = "frame_id" in layout or (bool(stream.frame_id) and "frame_id?" in layout)
    return FieldPlan(
        stream.name, stream.kind, tuple(fields), names, stream.frame_id if has_frame else None, units
    )


def _scale(
    stream: MappedStream, name: str, sources: tuple[str, ...], wanted: str, where: str
) -> tuple[float, str | None]:
    """(factor to the layout's unit, unit to be told of); a unit that is nowhere declared stays so."""
    in_names = {unit_in_name(source) for source in sources}
    given = stream.units.get(name) or (next(iter(in_names)) if len(in_names) == 1 else None)
    given = _SPELLED.get(given or "", given)
    if wanted in ("1", "", "px"):
        return 1.0, None
    if wanted == UNDECLARED:
        return 1.0, given
    if given is None:
        return 1.0, UNDECLARED
    if given == wanted:
        return 1.0, None
    base, factor = TO_SI.get(given, (None, 1.0))
    wanted_base, wanted_factor = TO_SI.get(wanted, (wanted, 1.0))
    if base != wanted_base:
        known = ", ".join(unit for unit, (other, _) in TO_SI.items() if other == wanted_base)
        raise MappingError(
            f"field {name} is in {wanted}, which {given} cannot be converted to", where=where, expected=known
        )
    return factor / wanted_factor, None


def _table_units(stream: MappedStream, fields: tuple[Field, ...]) -> dict[str, str]:
    units = {one.name: unit for one in fields if (unit := unit_in_name(one.sources[0])) is not None}
    return units | dict(stream.units)


def _listed(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value


def _size(type_: str) -> int:
    """How many columns make a field: n for fixed lists, 0 for lists of any length, else 1."""
    match = re.search(r"\[(\d+)\]$", type_)
    if match:
        return int(match[1])
    return 0 if type_.startswith("list") else 1


def _column(one: Field, rows: pa.RecordBatch) -> pa.Array:
    if one.type == "any":
        if len(one.sources) == 1:
            return rows.column(one.sources[0])
        return _fixed(_matrix(one, rows))
    if one.type == "string" or one.type.startswith("dictionary"):
        return pc.cast(rows.column(one.sources[0]), pa.string())
    if one.size == 1:
        column = rows.column(one.sources[0])
        if one.type == "int32":
            return pc.cast(pc.cast(column, pa.float64(), safe=False), pa.int32(), safe=False)
        values = pc.cast(column, pa.float64(), safe=False)
        return values if one.scale == 1.0 else pc.multiply(values, one.scale)
    matrix = _matrix(one, rows)
    if one.size:
        return _fixed(matrix)
    kind = {"list<float>": pa.float32(), "list<int32>": pa.int32()}.get(one.type, pa.float64())
    offsets = np.arange(len(matrix) + 1, dtype=np.int32) * matrix.shape[1]
    values = pc.cast(pa.array(matrix.reshape(-1)), kind, safe=False)
    return pa.ListArray.from_arrays(pa.array(offsets), values)


def _matrix(one: Field, rows: pa.RecordBatch) -> NDArray[np.float64]:
    """The sources side by side (N, D), missing ones NaN."""
    columns = [
        np.asarray(pc.cast(rows.column(source), pa.float64(), safe=False).to_numpy(zero_copy_only=False))
        for source in one.sources
    ]
    return np.stack(columns, axis=1).astype(np.float64) * one.scale


def _fixed(matrix: NDArray[np.float64]) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(pa.array(matrix.reshape(-1)), matrix.shape[1])


def _name_lists(names: tuple[str, ...], rows: int) -> pa.Array:
    offsets = np.arange(rows + 1, dtype=np.int32) * len(names)
    indices = np.tile(np.arange(len(names), dtype=np.int32), rows)
    words = pa.DictionaryArray.from_arrays(pa.array(indices), pa.array(names, pa.string()))
    return pa.ListArray.from_arrays(pa.array(offsets), words)
