"""Flat columns of a message type, and recipes that make the columns of a kind of them.

A decoder of protobuf or JSON gives one Arrow array a leaf, by dotted path, with a list for each repeated level
and `TIME` for times. A `Recipe` makes the columns of a kind; what it does not name follows under its own
path, so that nothing is lost. Types without a recipe are tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinloop.core.kinds import LAYOUTS, Kind
from twinloop.formats.ros.columns import arrow_type
from twinloop.formats.ros.pictures import is_depth_encoding

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Fields that say when, in a type of anyone's, if they are times.
_STAMPS = ("timestamp", "stamp", "header.stamp", "header.timestamp")
_TIMES = ("stamp_ns", "publish_ns", "log_ns", "seq")


@dataclass(frozen=True, slots=True)
class Flat:
    """The flat columns of N messages (or rows), by path; `sizes` (N,) are the bytes of their payloads."""

    columns: Mapping[str, pa.Array]
    count: int
    sizes: NDArray[np.int64] | None = None


#: Makes one column of flat ones; None where they lack what it takes.
Source = Callable[[Flat], "pa.Array | None"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a type becomes a kind.

    Attributes:
        columns: column -> what it is made of. used: paths that need not follow as extra columns.
        rows: the repeated field whose elements are the rows (empty: messages are).
        payload: the bytes field that is kept by reference.
    """

    kind: Kind
    columns: Mapping[str, Source] = field(default_factory=dict)
    used: tuple[str, ...] = ()
    rows: str = ""
    payload: str | None = None


def shape(recipe: Recipe | None, flat: Flat) -> tuple[dict[str, pa.Array], NDArray[np.int64] | None]:
    """The kind's columns, and the message (rows,) that each row came from (None: its own)."""
    if recipe is None:
        return _named(_table_times(flat), {}), None
    rows = None
    if recipe.rows:
        flat, rows = _unnest(flat, recipe.rows)
    made: dict[str, pa.Array] = {}
    layout = {column.name.rstrip("?"): column for column in LAYOUTS[recipe.kind]}
    used = recipe.used
    for name, source in recipe.columns.items():
        wanted = arrow_type(layout[name].type) if name in layout else pa.int64() if name == "stamp_ns" else None
        try:
            array = source(flat)
            if array is not None:
                made[name] = array if wanted in (None, array.type) else array.cast(wanted, safe=False)
        except (pa.ArrowException, TypeError, ValueError):
            used = ()  # the fields are of other types than the schema's: all are kept as they are
    for name, column in layout.items():
        if name not in made and not column.name.endswith("?") and name != "message":
            made[name] = pa.nulls(flat.count, arrow_type(column.type))
    if recipe.kind is Kind.TRANSFORMS:
        made["message"] = pa.array(np.arange(flat.count) if rows is None else rows)
    rest = {path: array for path, array in flat.columns.items() if not _is_used(path, used)}
    return _named(rest, made), rows


def kind_of(recipe: Recipe | None, row: Mapping[str, object]) -> Kind:
    """The kind, once a first row is known: an image may be depth."""
    if recipe is None:
        return Kind.TABLE
    if recipe.kind is Kind.IMAGE and is_depth_encoding(str(row.get("encoding")), str(row.get("frame_id"))):
        return Kind.DEPTH
    return recipe.kind


def attributes_of(kind: Kind, row: Mapping[str, object]) -> dict[str, str]:
    """What a first row tells of a stream."""
    wanted: tuple[str, ...] = ("frame_id", "parent", "child") if kind is not Kind.TRANSFORMS else ()
    if kind in (Kind.IMAGE, Kind.DEPTH, Kind.AUDIO):
        wanted = (*wanted, "encoding", "width", "height", "format", "sample_rate", "channels")
    found = {name: str(row[name]) for name in wanted if row.get(name) not in (None, "")}
    names = row.get("name")
    if kind is Kind.JOINTS and isinstance(names, list):
        found["names"] = ",".join(map(str, names))
    return found


def _named(columns: Mapping[str, pa.Array], made: dict[str, pa.Array]) -> dict[str, pa.Array]:
    """The made columns, then the rest; a field with the name of one that means something else is renamed."""
    for path, array in columns.items():
        name = path
        while name in made or (name in _TIMES and path != "stamp_ns"):
            name += "_"
        made[name] = _plain(array)
    return made


def _plain(array: pa.Array) -> pa.Array:
    """Times, also in lists, as int64 ns."""
    plain, depth = array.type, 0
    while pa.types.is_list(plain):
        plain, depth = plain.value_type, depth + 1
    if plain != TIME:
        return array
    plain = pa.int64()
    for _ in range(depth):
        plain = pa.list_(plain)
    return array.cast(plain)


def _table_times(flat: Flat) -> dict[str, pa.Array]:
    """The columns of a table; the field that says when it was becomes `stamp_ns`."""
    columns = {("stamp_ns_" if path == "stamp_ns" else path): array for path, array in flat.columns.items()}
    for path in _STAMPS:
        if path in columns and is_time(columns[path]):
            columns["stamp_ns"] = columns.pop(path).cast(pa.int64())
            break
    return columns


#: The type of a time or duration among flat columns; it tells a time from any other integer.
TIME = pa.duration("ns")


def is_time(array: pa.Array) -> bool:
    """Whether a flat column holds times or durations."""
    return bool(array.type == TIME)


def _is_used(path: str, used: tuple[str, ...]) -> bool:
    return any(path == name or path.startswith(f"{name}.") for name in used)


def _unnest(flat: Flat, rows: str) -> tuple[Flat, NDArray[np.int64]]:
    """The elements of the repeated field `rows` as rows, and the message of each."""
    lists = {
        path: pc.list_parent_indices(array)
        for path, array in flat.columns.items()
        if path.startswith(f"{rows}.") and pa.types.is_list(array.type)
    }
    if not lists:
        return Flat({}, 0), np.empty(0, np.int64)
    parents = next(iter(lists.values()))
    inside = {path: flat.columns[path] for path, indices in lists.items() if indices.equals(parents)}
    parent = np.asarray(parents, np.int64)
    columns = {path.removeprefix(f"{rows}."): array.flatten() for path, array in inside.items()}
    outside = {path: array.take(pa.array(parent)) for path, array in flat.columns.items() if path not in inside}
    return Flat(outside | columns, len(parent)), parent
