"""Data layouts: the fields of a record as its stream's tags define them, for N records at once.

A layout's bytes are its fixed fields at their offsets, then a table of (offset, length) for its variable
fields, then their bytes. Facts: `DataLayout.h` and `DataPieces.h` of facebookresearch/vrs.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.formats.ros.gather import gather, gather_pieces
from twinloop.formats.vrs.container import DamagedError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NUMBERS = {
    "Bool": "?",
    "char": "i1",
    "int8_t": "i1",
    "uint8_t": "u1",
    "int16_t": "<i2",
    "uint16_t": "<u2",
    "int32_t": "<i4",
    "uint32_t": "<u4",
    "int64_t": "<i8",
    "uint64_t": "<u8",
    "float": "<f4",
    "double": "<f8",
}
_GROUP = re.compile(r"(Point|Matrix)([234])D([ifd])")
_GROUP_TYPES = {"i": "<i4", "f": "<f4", "d": "<f8"}
_PIECE = re.compile(r"DataPiece(Value|Enum|Array|Vector|StringMap|String)(?:<(.+)>)?")
#: A layout has no more fields and no more fixed bytes than this.
_MOST_FIELDS, _MOST_FIXED = 4096, 1 << 20


@dataclass(frozen=True, slots=True)
class Field:
    """One field. `dtype` of one number, `width` numbers a value; `place`: offset, or number among the variable.

    `form` is ``fixed``, ``vector``, ``text`` or ``packed`` (texts and maps inside one another).
    """

    name: str
    form: str
    dtype: np.dtype[np.generic]
    width: int
    place: int


@dataclass(frozen=True, slots=True)
class Layout:
    """The fields of a block; `fixed` bytes of fixed fields, `variable` fields of variable length."""

    fields: tuple[Field, ...]
    fixed: int
    variable: int

    @property
    def head(self) -> int:
        """The bytes of a block before its variable bytes."""
        return self.fixed + 8 * self.variable


def parse_layout(text: str) -> Layout:
    """The layout that a tag defines.

    Raises:
        DamagedError: it is not JSON, or holds fields of no known type or of impossible places.
    """
    try:
        pieces = json.loads(text)["data_layout"]
        if not isinstance(pieces, list) or len(pieces) > _MOST_FIELDS:
            raise TypeError
        fields = tuple(_field(piece) for piece in pieces)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedError(f"a data layout does not parse: {error or type(error).__name__}") from None
    ends = [f.place + f.dtype.itemsize * f.width for f in fields if f.form == "fixed"]
    numbers = [f.place for f in fields if f.form != "fixed"]
    fixed, variable = max(ends, default=0), max(numbers, default=-1) + 1
    if fixed > _MOST_FIXED or variable > _MOST_FIELDS:
        raise DamagedError(f"a data layout has {fixed} fixed bytes and {variable} variable fields")
    return Layout(fields, fixed, variable)


def _field(piece: dict[str, object]) -> Field:
    match = _PIECE.fullmatch(str(piece["type"]))
    if match is None:
        raise ValueError(f"a field of type {piece['type']!r}")
    form, element = match[1], (match[2] or "").split(",")[-1].strip()
    name = str(piece["name"])
    place = int(str(piece["offset" if form in ("Value", "Enum", "Array") else "index"]))
    if place < 0:
        raise ValueError(f"field {name!r} at {place}")
    if form == "String":
        return Field(name, "text", np.dtype("u1"), 1, place)
    if form == "StringMap" or element == "string":
        number = _number(element)[0] if form == "StringMap" and element != "string" else np.dtype("u1")
        return Field(name, f"packed {form} {element}", number, 1, place)
    dtype, width = _number(element)
    if form == "Array":
        size = int(str(piece["size"]))
        if not 0 < size <= _MOST_FIXED:
            raise ValueError(f"field {name!r} of {size} values")
        width *= size
    return Field(name, "vector" if form == "Vector" else "fixed", dtype, width, place)


def _number(element: str) -> tuple[np.dtype[np.generic], int]:
    if element in _NUMBERS:
        return np.dtype(_NUMBERS[element]), 1
    group = _GROUP.fullmatch(element)
    if group is None:
        raise ValueError(f"values of type {element!r}")
    side = int(group[2])
    return np.dtype(_GROUP_TYPES[group[3]]), side if group[1] == "Point" else side * side


class Block:
    """A block of N records, of which all lie inside the buffer.

    `start` (N,) int64 into `buffer`; `pieces` (N, V, 2) int64: offset and length of the variable fields,
    counted from the end of the table.
    """

    def __init__(self, layout: Layout, buffer: NDArray[np.uint8], start: NDArray[np.int64]) -> None:
        self.layout, self.buffer, self.start = layout, buffer, start
        self._fields = {field.name: field for field in layout.fields}
        self._fixed = gather(buffer, start, layout.fixed)
        table = gather(buffer, start + layout.fixed, 8 * layout.variable)
        self.pieces = table.view("<u4").reshape(len(start), layout.variable, 2).astype(np.int64)

    def __len__(self) -> int:
        return len(self.start)

    def __contains__(self, name: str) -> bool:
        return name in self._fields

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._fields)

    @property
    def size(self) -> NDArray[np.int64]:
        """Bytes of each record's block (N,)."""
        if not self.layout.variable:
            return np.full(len(self), self.layout.fixed)
        return self.layout.head + np.asarray(self.pieces.sum(axis=2).max(axis=1, initial=0), np.int64)

    def fixed(self, name: str) -> NDArray[np.generic]:
        """A fixed field: (N,), or (N, width)."""
        field = self._fields[name]
        size = field.dtype.itemsize * field.width
        values = np.ascontiguousarray(self._fixed[:, field.place : field.place + size]).view(field.dtype)
        return values[:, 0] if field.width == 1 else values

    def vector(self, name: str) -> tuple[NDArray[np.generic], NDArray[np.int64]]:
        """A vector field: all values one after the other (M, width), and where each record's begin (N + 1,)."""
        field = self._fields[name]
        item = field.dtype.itemsize * field.width
        start, length = self._piece(field)
        count = length // item
        values = gather_pieces(self.buffer, start, count * item).view(field.dtype).reshape(-1, field.width)
        return values, np.concatenate([[0], np.cumsum(count)])

    def texts(self, name: str) -> pa.Array:
        """A field of texts, (N,) string; bytes that are not UTF-8 are replaced."""
        start, length = self._piece(self._fields[name])
        offsets = np.concatenate([[0], np.cumsum(length)])
        data = gather_pieces(self.buffer, start, length)
        raw = pa.Array.from_buffers(
            pa.large_binary(), len(self), [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        )
        try:
            return raw.cast(pa.large_string()).cast(pa.string())
        except pa.ArrowInvalid:
            return pa.array([value.decode("utf-8", "replace") for value in raw.to_pylist()], pa.string())

    def is_fixed(self, name: str) -> bool:
        return name in self._fields and self._fields[name].form == "fixed"

    def arrow(self, name: str) -> pa.Array:
        """Any field as a column: a number, a list of fixed or variable length, a text; maps as JSON."""
        field = self._fields[name]
        if field.form == "text":
            return self.texts(name)
        if field.form == "fixed":
            values = self.fixed(name)
            if field.width == 1:
                return pa.array(values)
            return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), field.width)
        if field.form == "vector":
            numbers, offsets = self.vector(name)
            flat = pa.array(numbers.reshape(-1))
            inner = flat if field.width == 1 else pa.FixedSizeListArray.from_arrays(flat, field.width)
            return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), inner)
        start, length = self._piece(field)
        stop = start + length
        packed = [self.buffer[a:b].tobytes() for a, b in zip(start.tolist(), stop.tolist(), strict=True)]
        return pa.array([_unpacked(one, field) for one in packed], pa.string())

    def _piece(self, field: Field) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        piece = self.pieces[:, field.place]
        return self.start + self.layout.head + piece[:, 0], piece[:, 1]


def _unpacked(data: bytes, field: Field) -> str:
    """Texts, or a map from texts, as JSON; what does not fit is left out.

    A vector of texts begins with their number; every text with its length.
    """
    _, form, element = field.form.split(" ", 2)
    at = 4 if form == "Vector" else 0
    found: list[tuple[str, object]] = []
    while (key := _counted_text(data, at)) is not None:
        at += 4 + key[1]
        if form == "Vector":
            found.append((key[0], None))
            continue
        if element == "string":
            value = _counted_text(data, at)
            if value is None:
                break
            found.append((key[0], value[0]))
            at += 4 + value[1]
        else:
            raw = data[at : at + field.dtype.itemsize]
            if len(raw) < field.dtype.itemsize:
                break
            found.append((key[0], np.frombuffer(raw, field.dtype)[0].item()))
            at += field.dtype.itemsize
    return json.dumps([key for key, _ in found] if form == "Vector" else dict(found))


def _counted_text(data: bytes, at: int) -> tuple[str, int] | None:
    size = int.from_bytes(data[at : at + 4], "little")
    if len(data) < at + 4 or len(data) < at + 4 + size:
        return None
    return data[at + 4 : at + 4 + size].decode("utf-8", "replace"), size
