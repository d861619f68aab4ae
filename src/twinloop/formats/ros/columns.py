"""Arrow columns from decoded rows: which fields of a type make which column.

A `Source` is bound to a plan once and then gives its column of any rows. Rows are messages, or (for
transforms) the elements of one list of each message.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa

from twinloop.formats.ros.definitions import Moment, Primitive, Text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from twinloop.formats.ros.plan import Leaf, Plan
    from twinloop.formats.ros.rows import Rows

#: Gives one column of the rows, which number so many.
Bound = Callable[["Rows", int], pa.Array]

CODES = pa.dictionary(pa.int32(), pa.string())
_ARROW = {
    "b1": pa.bool_(),
    **{f"i{n}": t for n, t in ((1, pa.int8()), (2, pa.int16()), (4, pa.int32()), (8, pa.int64()))},
    **{f"u{n}": t for n, t in ((1, pa.uint8()), (2, pa.uint16()), (4, pa.uint32()), (8, pa.uint64()))},
    "f4": pa.float32(),
    "f8": pa.float64(),
}
_WORDS = {
    "double": pa.float64(),
    "float": pa.float32(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "bool": pa.bool_(),
    "string": pa.string(),
    "dictionary<string>": CODES,
}


class Source(Protocol):
    """What a column is made of."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The fields that are in the column whole and need not follow as columns of their own."""

    def bind(self, plan: Plan, row_level: int, wanted: pa.DataType | None) -> Bound:
        """The column of a plan's rows, of the `wanted` type (None: as the field is).

        Raises:
            UnfitError: the plan does not have what it takes.
        """


class UnfitError(Exception):
    """The type is not what its name says: a field is missing or of another form."""


def arrow_type(words: str) -> pa.DataType:
    """The type that a kind's layout states in words, such as ``fixed_size_list<double>[3]``."""
    if match := re.fullmatch(r"fixed_size_list<(.+)>\[(\d+)\]", words):
        return pa.list_(arrow_type(match[1]), int(match[2]))
    if match := re.fullmatch(r"list<(.+)>", words):
        return pa.list_(arrow_type(match[1]))
    return _WORDS[words]


def number_array(values: NDArray[np.generic]) -> pa.Array:
    """(N,) numbers or booleans as an Arrow array."""
    return pa.array(np.ascontiguousarray(values))


def fixed_list_array(values: NDArray[np.generic]) -> pa.FixedSizeListArray:
    """(N, k) numbers as N lists of k."""
    return pa.FixedSizeListArray.from_arrays(number_array(values.reshape(-1)), values.shape[1])


def list_array(offsets: NDArray[np.int32], values: pa.Array) -> pa.ListArray:
    """N lists of `values`, list i from `offsets[i]` to `offsets[i + 1]`; offsets (N + 1,)."""
    return pa.Array.from_buffers(
        pa.list_(values.type), len(offsets) - 1, [None, pa.py_buffer(offsets)], children=[values]
    )


def code_array(codes: NDArray[np.int32], texts: pa.StringArray) -> pa.DictionaryArray:
    """N texts by their numbers (N,) in `texts`."""
    buffers = [None, pa.py_buffer(np.ascontiguousarray(codes))]
    return pa.DictionaryArray.from_buffers(CODES, len(codes), buffers, texts)


def leaf_type(leaf: Leaf) -> pa.DataType:
    """The Arrow type of one value of a leaf, lists around it left out."""
    if isinstance(leaf.type, Text):
        return CODES
    if isinstance(leaf.type, Moment):
        return pa.int64()
    value = _ARROW[leaf.type.dtype]
    return pa.list_(value, leaf.stop - leaf.start) if leaf.is_array else value


@dataclass(frozen=True, slots=True)
class Field:
    """One field as one column, with a list for each level between the rows and the field."""

    path: str

    @property
    def paths(self) -> tuple[str, ...]:
        return (self.path,)

    def bind(self, plan: Plan, row_level: int, wanted: pa.DataType | None) -> Bound:
        leaf = plan.leaves.get(self.path)
        if leaf is None or leaf.is_blob:
            raise UnfitError(self.path)
        levels = plan.levels_between(row_level, leaf.level)
        if levels is None:
            raise UnfitError(self.path)
        value_type = leaf_type(leaf)
        for _ in levels:
            value_type = pa.list_(value_type)
        if wanted is None or value_type == wanted:
            target = None
        elif isinstance(leaf.type, Text):
            if levels or wanted != pa.string():
                raise UnfitError(self.path)
            return lambda rows, _: leaf_values(rows, leaf).cast(pa.string())
        else:
            target = _number_target(leaf, len(levels), wanted, self.path)

        def column(rows: Rows, _: int) -> pa.Array:
            values = leaf_values(rows, leaf, target)
            for level in levels:
                values = list_array(rows.offsets[level], values)
            return values

        return column


def _number_target(leaf: Leaf, depth: int, wanted: pa.DataType, path: str) -> np.dtype:  # type: ignore[type-arg]
    """The item type that turns a leaf's values into `wanted`; its lists must be those of the leaf."""
    for _ in range(depth):
        if not pa.types.is_list(wanted):
            raise UnfitError(path)
        wanted = wanted.value_type
    if leaf.is_array:
        if not pa.types.is_fixed_size_list(wanted) or wanted.list_size != leaf.stop - leaf.start:
            raise UnfitError(path)
        wanted = wanted.value_type
    if not (pa.types.is_floating(wanted) or pa.types.is_integer(wanted) or pa.types.is_boolean(wanted)):
        raise UnfitError(path)
    return np.dtype(wanted.to_pandas_dtype())


def leaf_values(rows: Rows, leaf: Leaf, target: np.dtype | None = None) -> pa.Array:  # type: ignore[type-arg]
    """All values of a leaf, at its own level, as items of `target` if given."""
    if isinstance(leaf.type, Text):
        return code_array(rows.codes[leaf.node], rows.vocabularies[leaf.node].array())
    values = rows.numbers(leaf)
    if target is not None and values.dtype != target:
        values = _cast(values, target)
    return fixed_list_array(values) if leaf.is_array else number_array(values)


def _cast(values: NDArray[Any], target: np.dtype) -> NDArray[Any]:  # type: ignore[type-arg]
    """Values as items of `target`; NaNs of all bit patterns pass without a warning."""
    with np.errstate(invalid="ignore", over="ignore"):
        return values.astype(target)


@dataclass(frozen=True, slots=True)
class Vector:
    """Some numeric fields side by side as one fixed-size list of doubles."""

    paths: tuple[str, ...]

    def bind(self, plan: Plan, row_level: int, wanted: pa.DataType | None) -> Bound:
        block = bind_block(plan, row_level, self.paths)
        return lambda rows, _: fixed_list_array(block(rows))


@dataclass(frozen=True, slots=True)
class Quaternion:
    """The fields x, y, z, w of a nested quaternion as one list wxyz."""

    path: str

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(f"{self.path}.{axis}" for axis in "xyzw")

    def bind(self, plan: Plan, row_level: int, wanted: pa.DataType | None) -> Bound:
        block = bind_block(plan, row_level, self.paths)

        def column(rows: Rows, _: int) -> pa.Array:
            from twinloop.core.se3 import from_xyzw

            return fixed_list_array(from_xyzw(block(rows)))

        return column


def bind_block(plan: Plan, row_level: int, paths: tuple[str, ...]) -> Callable[[Rows], NDArray[np.float64]]:
    """Gives (rows, fields) float64 of numeric fields; one slice where they lie side by side."""
    leaves = [plan.leaves.get(path) for path in paths]
    found = [leaf for leaf in leaves if leaf is not None and isinstance(leaf.type, Primitive)]
    if len(found) != len(paths) or any(leaf.level != row_level or leaf.is_array for leaf in found):
        raise UnfitError(", ".join(paths))
    first = found[0]
    dtype = first.type.dtype if isinstance(first.type, Primitive) else ""
    node, start, stop = first.node, first.start, first.start + len(found)
    if dtype in ("f4", "f8") and all(
        leaf.type == first.type and leaf.node == node and leaf.start == start + i
        for i, leaf in enumerate(found)
    ):
        return lambda rows: _cast(rows.runs[node][:, start:stop].view(dtype), np.dtype(np.float64))
    return lambda rows: np.stack([_cast(rows.numbers(leaf), np.dtype(np.float64)) for leaf in found], axis=1)


@dataclass(frozen=True, slots=True)
class Absent:
    """A column that the type has nothing for: all null."""

    paths: ClassVar[tuple[str, ...]] = ()

    def bind(self, plan: Plan, row_level: int, wanted: pa.DataType | None) -> Bound:
        return lambda _, count: pa.nulls(count, wanted)


@dataclass(frozen=True, slots=True)
class Constant:
    """A column that the type alone decides: one text in every row."""

    text: str
    paths: ClassVar[tuple[str, ...]] = ()

    def bind(self, plan: Plan, row_level: int, wanted: pa.DataType | None) -> Bound:
        if wanted == CODES:
            return lambda _, count: code_array(np.zeros(count, np.int32), pa.array([self.text], pa.string()))
        return lambda _, count: pa.array([self.text] * count, pa.string())
