"""Protobuf messages as columns: read in step from the wire, by the FileDescriptorSet that the file carries.

There is no message object: each level of nesting is one pass over all messages of the buffer at once
(`protobuf_wire`), and bytes fields of Foxglove's images, clouds and audio are left where they are.

Absent fields are zero where protobuf says so (proto3 without ``optional``), else null; the fields of an absent
message are null. Of a singular field that occurs twice the last counts; parts of a message are not merged.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.core.kinds import StampSource
from twinloop.core.stream import Payload
from twinloop.formats.flat import TIME, Flat, attributes_of, kind_of, shape
from twinloop.formats.foxglove import recipe_for
from twinloop.formats.messages import Decoded, Peek
from twinloop.formats.protobuf_schema import Blob, Message, Moment, Scalar, Text, message_type
from twinloop.formats.protobuf_wire import (
    FIXED32,
    FIXED64,
    LENGTH,
    VARINT,
    Occurrences,
    read_fields,
    unpack_varints,
    unzigzag,
)
from twinloop.formats.ros.columns import code_array, list_array
from twinloop.formats.ros.gather import gather, gather_pieces

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from twinloop.formats.protobuf_schema import Field

    Ints = NDArray[np.int64]


def protobuf_decoder(type_name: str, descriptor_set: bytes) -> ProtobufDecoder:
    """The decoder of a type, by a serialized FileDescriptorSet.

    Raises:
        SchemaError: the set does not parse, or lacks the type or one that it uses.
    """
    return ProtobufDecoder(message_type(type_name, descriptor_set))


class ProtobufDecoder:
    """Decodes messages of one type; a `MessageDecoder`. A message that does not parse gives no row."""

    def __init__(self, type: Message) -> None:
        recipe = recipe_for(type.name)
        if recipe is not None and recipe.payload is not None:
            fields = {field.name: field for field in type.fields.values()}
            payload = fields.get(recipe.payload)
            if payload is None or payload.repeated or not isinstance(payload.type, Blob):
                recipe = None
        self._type = type
        self._recipe = recipe

    def peek(self, first: bytes | None) -> Peek:
        """What is known from the type, and from the first message if there is one that parses."""
        empty = self.decode(np.empty(0, np.uint8), np.empty(0, np.int64), np.empty(0, np.int64))
        source = StampSource.DRIVER if "stamp_ns" in empty.columns else StampSource.NONE
        peek = Peek(kind_of(self._recipe, {}), source)
        if first is None:
            return peek
        decoded = self.decode(
            np.frombuffer(first, np.uint8), np.zeros(1, np.int64), np.array([len(first)], np.int64)
        )
        if any(not len(array) for array in decoded.columns.values()):
            return peek
        row = {name: array[0].as_py() for name, array in decoded.columns.items()}
        kind = kind_of(self._recipe, row)
        return replace(peek, kind=kind, attributes=attributes_of(kind, row))

    def decode(self, buffer: NDArray[np.uint8], offset: Ints, length: Ints) -> Decoded:
        """Columns of the messages at `offset` (N,) of `length` (N,) bytes in `buffer` (B,) uint8."""
        pass_ = _Pass(buffer, self._payload_path, len(offset))
        flat = pass_.columns(self._type, offset, offset + length, np.arange(len(offset)), "")
        whole: Ints | None = None
        if pass_.broken.any():
            whole = np.flatnonzero(~pass_.broken)
            start = offset[whole]
            good = _Pass(buffer, self._payload_path, len(whole))
            flat = good.columns(self._type, start, start + length[whole], np.arange(len(whole)), "")
            bad = np.flatnonzero(pass_.broken)
            pass_ = good
        else:
            bad = None
        count = len(offset) if whole is None else len(whole)
        columns, rows = shape(self._recipe, Flat(flat, count, pass_.payload_length))
        if whole is not None:
            rows = whole if rows is None else whole[rows]
        payload = None
        if self._payload_path is not None:
            payload = Payload(buffer, pass_.payload_start, pass_.payload_length)
        why = "" if bad is None else f"it is no {self._type.name} in protobuf's wire format"
        return Decoded(columns, rows, payload, bad, why)

    @property
    def _payload_path(self) -> str | None:
        return self._recipe.payload if self._recipe else None


class _Pass:
    """One decoding of a buffer: marks the broken messages, keeps where the payloads are."""

    def __init__(self, buffer: NDArray[np.uint8], payload_path: str | None, count: int) -> None:
        self.buffer = buffer
        self.payload_path = payload_path
        self.payload_start = np.zeros(count, np.int64)
        self.payload_length = np.zeros(count, np.int64)
        self.broken = np.zeros(count, bool)

    def columns(self, type: Message, start: Ints, end: Ints, owner: Ints, path: str) -> dict[str, pa.Array]:
        """Flat columns of the messages in [start, end) (N,), which are parts of the messages `owner` (N,)."""
        found, broken = read_fields(self.buffer, start, end, type.fields.keys())
        self.broken[owner[broken]] = True
        columns: dict[str, pa.Array] = {}
        for number, field in type.fields.items():
            place = f"{path}.{field.name}" if path else field.name
            occurrences = {wire: found[n, wire] for n, wire in found if n == number}
            if place == self.payload_path:
                at = occurrences.get(LENGTH, _NOWHERE)
                self.payload_start[at.row] = at.start
                self.payload_length[at.row] = at.value.astype(np.int64)
            elif isinstance(field.type, Message):
                columns |= self._nested(field, field.type, occurrences, len(start), owner, place)
            elif isinstance(field.type, Scalar):
                columns[place] = self._numbers(field, field.type, occurrences, len(start), owner)
            else:
                columns[place] = self._pieces(field, occurrences, len(start), owner)
        return columns

    def _nested(
        self,
        field: Field,
        type: Message,
        occurrences: dict[int, Occurrences],
        count: int,
        owner: Ints,
        path: str,
    ) -> dict[str, pa.Array]:
        at = occurrences.get(LENGTH, _NOWHERE)
        if not field.repeated:
            at = _last(at)
        inner = self.columns(type, at.start, at.start + at.value.astype(np.int64), owner[at.row], path)
        if field.repeated:
            offsets = _offsets(np.bincount(at.row, minlength=count))
            return {name: list_array(offsets, array) for name, array in inner.items()}
        return {name: _placed(array, at.row, count) for name, array in inner.items()}

    def _numbers(
        self, field: Field, type: Scalar, occurrences: dict[int, Occurrences], count: int, owner: Ints
    ) -> pa.Array:
        values, row = self._scalars(type, occurrences, owner)
        if field.repeated:
            return list_array(_offsets(np.bincount(row, minlength=count)), _number_array(values, type))
        placed = np.zeros(count, values.dtype)
        placed[row] = values
        return _number_array(placed, type, _absent(row, count) if field.presence else None)

    def _scalars(
        self, type: Scalar, occurrences: dict[int, Occurrences], owner: Ints
    ) -> tuple[NDArray[np.generic], Ints]:
        """All values of a field in the messages' order, packed or not, and the message of each."""
        size = np.dtype(type.dtype).itemsize
        parts = []
        single = occurrences.get(VARINT if type.wire != "fixed" else FIXED64 if size == 8 else FIXED32)
        if single is not None:
            if type.wire == "fixed":
                parts.append((gather(self.buffer, single.start, size).view(type.dtype).reshape(-1), single.row))
            else:
                parts.append((_from_varint(single.value, type), single.row))
        packed = occurrences.get(LENGTH)
        if packed is not None:
            parts.append(self._packed(type, size, packed, owner))
        if not parts:
            return np.empty(0, type.dtype), np.empty(0, np.int64)
        values, row = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        if len(parts) > 1:
            order = np.argsort(row, kind="stable")
            values, row = values[order], row[order]
        return values, row

    def _packed(
        self, type: Scalar, size: int, packed: Occurrences, owner: Ints
    ) -> tuple[NDArray[np.generic], Ints]:
        length = packed.value.astype(np.int64)
        if type.wire == "fixed":
            clean = length % size == 0
            count = np.where(clean, length // size, 0)
            data = gather_pieces(self.buffer, packed.start, count * size)
            values: NDArray[np.generic] = data.view(type.dtype)
        else:
            varints, count, clean = unpack_varints(self.buffer, packed.start, length)
            values = _from_varint(varints, type)
        self.broken[owner[packed.row[~clean]]] = True
        return values, np.repeat(packed.row, count)

    def _pieces(self, field: Field, occurrences: dict[int, Occurrences], count: int, owner: Ints) -> pa.Array:
        """Strings, bytes and times."""
        at = occurrences.get(LENGTH, _NOWHERE)
        if field.repeated:
            return list_array(_offsets(np.bincount(at.row, minlength=count)), self._values(field, at, owner))
        at = _last(at)
        absent = _absent(at.row, count)
        if isinstance(field.type, Moment) or field.presence or not absent.any():
            return _placed(self._values(field, at, owner), at.row, count)
        start, length = np.zeros(count, np.int64), np.zeros(count, np.uint64)
        start[at.row], length[at.row] = at.start, at.value
        return self._values(field, Occurrences(np.arange(count), start, length), owner)

    def _values(self, field: Field, at: Occurrences, owner: Ints) -> pa.Array:
        length = at.value.astype(np.int64)
        match field.type:
            case Text():
                return texts(self.buffer, at.start, length)
            case Moment():
                return self._moments(at.start, at.start + length, owner[at.row])
            case _:
                return _binary(self.buffer, at.start, length)

    def _moments(self, start: Ints, end: Ints, owner: Ints) -> pa.Array:
        found, broken = read_fields(self.buffer, start, end, (1, 2))
        self.broken[owner[broken]] = True
        total = np.zeros(len(start), np.int64)
        for number, unit in ((1, 1_000_000_000), (2, 1)):
            at = found.get((number, VARINT), _NOWHERE)
            part = np.zeros(len(start), np.int64)
            part[at.row] = at.value.astype(np.int64)
            total += part * unit
        return pa.array(total).cast(TIME)


_NOWHERE = Occurrences(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint64))


def texts(buffer: NDArray[np.uint8], start: Ints, length: Ints) -> pa.Array:
    """The strings at `start` (N,) of `length` (N,) bytes, dictionary-encoded; bad UTF-8 is replaced."""
    raw = _binary(buffer, start, length).dictionary_encode()
    try:
        known = raw.dictionary.cast(pa.string())
    except pa.ArrowInvalid:
        known = pa.array([text.decode("utf-8", "replace") for text in raw.dictionary.to_pylist()], pa.string())
    return code_array(np.asarray(raw.indices, np.int32), known)


def _binary(buffer: NDArray[np.uint8], start: Ints, length: Ints) -> pa.Array:
    data = gather_pieces(buffer, start, length)
    offsets = _offsets(length)
    return pa.Array.from_buffers(
        pa.binary(), len(start), [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(data))]
    )


def _offsets(count: Ints) -> NDArray[np.int32]:
    offsets = np.zeros(len(count) + 1, np.int32)
    np.cumsum(count, out=offsets[1:])
    return offsets


def _from_varint(value: NDArray[np.uint64], type: Scalar) -> NDArray[np.generic]:
    if type.dtype == "?":
        return value != 0
    signed = unzigzag(value) if type.wire == "zigzag" else value
    return signed.astype(type.dtype)


def _number_array(
    values: NDArray[np.generic], type: Scalar, absent: NDArray[np.bool_] | None = None
) -> pa.Array:
    if type.names is None:
        return pa.array(values, mask=absent)
    distinct, codes = np.unique(values, return_inverse=True)
    known = pa.array([type.names.get(int(value), str(value)) for value in distinct], pa.string())
    named = code_array(codes.astype(np.int32), known)
    if absent is None or not absent.any():
        return named
    return named.take(pa.array(np.arange(len(values)), mask=absent))


def _last(at: Occurrences) -> Occurrences:
    """Of each message the last occurrence only."""
    if not len(at.row):
        return at
    last = np.append(at.row[1:] != at.row[:-1], True)
    return at if last.all() else Occurrences(at.row[last], at.start[last], at.value[last])


def _absent(row: Ints, count: int) -> NDArray[np.bool_]:
    absent = np.ones(count, bool)
    absent[row] = False
    return absent


def _placed(array: pa.Array, row: Ints, count: int) -> pa.Array:
    """Values (K,) of the messages `row` (K,) as a column of all N messages, null where there is none."""
    if len(row) == count:
        return array
    index = np.zeros(count, np.int64)
    index[row] = np.arange(len(row))
    return array.take(pa.array(index, mask=_absent(row, count)))
