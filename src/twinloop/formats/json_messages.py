"""JSON messages as columns: all texts of a buffer are parsed in one call, columns are made by Arrow.

Nested objects become dotted paths, arrays lists, ``{"sec", "nsec"}`` objects times. A schema, where there
is one, settles the types of columns; else a column is what its values are, and values of mixed types are
kept as their JSON text. Base64 data of Foxglove's images and clouds is decoded into a buffer of its own.
"""

from __future__ import annotations

import binascii
import json
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinloop.core.kinds import StampSource
from twinloop.core.stream import Payload
from twinloop.formats.flat import TIME, Flat, attributes_of, kind_of, shape
from twinloop.formats.foxglove import recipe_for
from twinloop.formats.json_schema import declared_types, is_moment
from twinloop.formats.messages import Decoded, Peek
from twinloop.formats.ros.columns import CODES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

_NO_COLUMN = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError)


def json_decoder(type_name: str, schema: str) -> JsonDecoder:
    """The decoder of a type; `schema` is its JSON Schema, empty where there is none.

    Raises:
        JsonSchemaError: the schema does not parse.
    """
    return JsonDecoder(type_name, declared_types(type_name, schema))


class JsonDecoder:
    """Decodes messages of one type; a `MessageDecoder`. A message that is no JSON gives no row."""

    def __init__(self, type_name: str, declared: dict[str, pa.DataType]) -> None:
        self._recipe = recipe_for(type_name)
        self._declared = declared
        self._payload_path = self._recipe.payload if self._recipe else None

    def peek(self, first: bytes | None) -> Peek:
        """What is known from the type, and from the first message if there is one that parses."""
        data = first if first is not None else b""
        decoded = self.decode(
            np.frombuffer(data, np.uint8),
            np.zeros(int(first is not None), np.int64),
            np.full(int(first is not None), len(data), np.int64),
        )
        source = StampSource.DRIVER if "stamp_ns" in decoded.columns else StampSource.NONE
        if not decoded.columns or any(not len(array) for array in decoded.columns.values()):
            return Peek(kind_of(self._recipe, {}), source)
        row = {name: array[0].as_py() for name, array in decoded.columns.items()}
        kind = kind_of(self._recipe, row)
        return Peek(kind, source, attributes=attributes_of(kind, row))

    def decode(self, buffer: NDArray[np.uint8], offset: Ints, length: Ints) -> Decoded:
        """Columns of the messages at `offset` (N,) of `length` (N,) bytes in `buffer` (B,) uint8."""
        view = buffer.data
        raw = [view[a:b] for a, b in zip(offset.tolist(), (offset + length).tolist(), strict=True)]
        values, whole, why = _parsed(raw)
        payload = self._take_payload(values) if self._payload_path else None
        flat = self._flat(values)
        sizes = None if payload is None else payload.length
        columns, rows = shape(self._recipe, Flat(flat, len(values), sizes))
        bad = None
        if whole is not None:
            rows = whole if rows is None else whole[rows]
            is_bad = np.ones(len(raw), bool)
            is_bad[whole] = False
            bad = np.flatnonzero(is_bad)
        return Decoded(columns, rows, payload, bad, why)

    def _flat(self, values: list[Any]) -> dict[str, pa.Array]:
        objects = [value if isinstance(value, dict) else {"value": value} for value in values]
        flat: dict[str, pa.Array] = {}
        names: dict[str, None] = {}
        for one in objects:
            names.update(dict.fromkeys(one))
        for name in names:
            flat |= _flattened(name, _column([one.get(name) for one in objects]))
        for path, wanted in self._declared.items():
            if path == self._payload_path:
                continue
            found = flat.get(path)
            if found is None or not _same_depth(found.type, wanted):
                if found is None or pa.types.is_null(found.type):
                    flat[path] = pa.nulls(len(values), wanted)
            else:
                flat[path] = _as_declared(found, wanted)
        return {path: _coded(array) for path, array in flat.items()}

    def _take_payload(self, values: list[Any]) -> Payload:
        """Take the base64 texts out of the messages and put their bytes into one buffer."""
        pieces = []
        for value in values:
            text = value.pop(self._payload_path, None) if isinstance(value, dict) else None
            pieces.append(_from_base64(text) or b"")
        length = np.fromiter(map(len, pieces), np.int64, len(pieces))
        return Payload(np.frombuffer(b"".join(pieces), np.uint8), np.cumsum(length) - length, length)


def _parsed(raw: Sequence[memoryview]) -> tuple[list[Any], Ints | None, str]:
    """The values of all messages, which these are (None: all), and what was wrong with the first bad one."""
    try:
        values = msgspec.json.decode(b"[" + b",".join(raw) + b"]")
        if len(values) == len(raw):
            return values, None, ""
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    values, whole, why = [], [], ""
    for number, text in enumerate(raw):
        try:
            values.append(_parsed_one(text))
            whole.append(number)
        except (ValueError, RecursionError) as error:
            why = why or f"it is no JSON: {error}"
    return values, None if len(whole) == len(raw) else np.array(whole, np.int64), why


def _parsed_one(text: memoryview) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return json.loads(bytes(text))  # knows NaN and Infinity, which many writers use


def _column(values: list[Any]) -> pa.Array:
    """Values as an array of the type that they have in common; of mixed types, as their JSON texts."""
    for type in (None, pa.uint64()):
        try:
            return pa.array(values, type)
        except _NO_COLUMN:
            continue
    present = [value for value in values if value is not None]
    if all(isinstance(value, dict) for value in present):
        names = dict.fromkeys(name for value in present for name in value)
        fields = {name: _column([value.get(name) if value else None for value in values]) for name in names}
        mask = pa.array([value is None for value in values])
        return pa.StructArray.from_arrays(list(fields.values()), list(fields), mask=mask)
    texts = [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]
    return pa.array(texts, pa.string())


def _flattened(path: str, array: pa.Array) -> dict[str, pa.Array]:
    """The flat columns of an array by path."""
    if pa.types.is_struct(array.type):
        names = [field.name for field in array.type]
        children = dict(zip(names, array.flatten(), strict=True))
        if is_moment(set(names)) and all(pa.types.is_integer(child.type) for child in children.values()):
            return {path: _moments(children)}
        flat: dict[str, pa.Array] = {}
        for name, child in children.items():
            flat |= _flattened(f"{path}.{name}", child)
        return flat
    if pa.types.is_list(array.type) and _holds_struct(array.type):
        mask = array.is_null() if array.null_count else None
        counts = np.asarray(pc.list_value_length(array).fill_null(0), np.int64)
        offsets = np.zeros(len(counts) + 1, np.int32)
        np.cumsum(counts, out=offsets[1:])
        inner = _flattened(path, array.flatten())
        return {
            name: pa.ListArray.from_arrays(pa.array(offsets), child, mask=mask) for name, child in inner.items()
        }
    return {path: array}


def _holds_struct(type: pa.DataType) -> bool:
    while pa.types.is_list(type):
        type = type.value_type
    return bool(pa.types.is_struct(type))


def _moments(children: dict[str, pa.Array]) -> pa.Array:
    whole = next(child for name, child in children.items() if name.startswith("sec"))
    rest = next(child for name, child in children.items() if name.startswith("n"))
    seconds, ns = whole.cast(pa.int64()), rest.cast(pa.int64())
    return pc.add(pc.multiply(seconds, 1_000_000_000), ns).cast(TIME)


def _same_depth(found: pa.DataType, wanted: pa.DataType) -> bool:
    while pa.types.is_list(found) and pa.types.is_list(wanted):
        found, wanted = found.value_type, wanted.value_type
    return not pa.types.is_list(found) and not pa.types.is_list(wanted)


def _as_declared(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """The array as its schema declares it; as it is, where its values are something else."""
    if wanted == pa.binary():
        if not pa.types.is_string(array.type) and not pa.types.is_null(array.type):
            return array
        return pa.array([_from_base64(text) for text in array.to_pylist()], pa.binary())
    if array.type == wanted or TIME in (_item(array.type), _item(wanted)):
        return array
    if pa.types.is_string(_item(array.type)) or pa.types.is_boolean(_item(array.type)):
        return array  # a number as text stays the text that it was
    try:
        return array.cast(wanted)
    except _NO_COLUMN:
        return array


def _item(type: pa.DataType) -> pa.DataType:
    while pa.types.is_list(type):
        type = type.value_type
    return type


def _coded(array: pa.Array) -> pa.Array:
    """Texts dictionary-encoded, in lists too, as all decoders give them."""
    if not pa.types.is_string(_item(array.type)):
        return array
    wanted = CODES
    for _ in range(_depth(array.type)):
        wanted = pa.list_(wanted)
    return array.cast(wanted) if wanted != CODES else array.dictionary_encode()


def _depth(type: pa.DataType) -> int:
    depth = 0
    while pa.types.is_list(type):
        type, depth = type.value_type, depth + 1
    return depth


def _from_base64(text: Any) -> bytes | None:
    if not isinstance(text, str):
        return None
    try:
        return binascii.a2b_base64(text)
    except (binascii.Error, ValueError):
        return None
