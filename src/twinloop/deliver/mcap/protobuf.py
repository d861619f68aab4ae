"""Encoding N protobuf messages at once, and the descriptors of their types (https://protobuf.dev/programming-guides/encoding).

Fields are numbered by their order in the struct, from 1. Scalars are written even where they are zero, so that
most messages of a stream have one length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.deliver.mcap.values import Group, Lists, Texts
from twinloop.deliver.mcap.wire import Pieces, Ragged
from twinloop.formats.ros.definitions import Many, Moment, Primitive, Struct, Text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto, FileDescriptorSet
    from numpy.typing import NDArray

    from twinloop.deliver.mcap.values import Value
    from twinloop.formats.ros.definitions import Type

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_NS = 1_000_000_000
#: As numpy names a number -> FieldDescriptorProto's type.
_TYPES = {"f8": 1, "f4": 2, "i8": 3, "u8": 4, "b1": 8, "u4": 13, "u2": 13, "u1": 13, "i4": 5, "i2": 5, "i1": 5}
_MESSAGE, _STRING, _BYTES, _ENUM, _FIXED32_TYPE = 11, 9, 12, 14, 7
_OPTIONAL, _REPEATED = 1, 3
TIMESTAMP = ".google.protobuf.Timestamp"


@dataclass(frozen=True, slots=True)
class Fixed32(Primitive):
    """An unsigned number that takes four bytes whatever its value."""

    dtype: str = "u4"


def encode_protobuf(message: Struct, values: Mapping[str, Value], count: int) -> Ragged:
    """`count` messages of a type; `values` by dotted path. What has no value is left out, or zero."""
    pieces = Pieces(count)
    for number, (name, type) in enumerate(message.fields, start=1):
        if (piece := _field(number, type, name, values, count)) is not None:
            pieces.put(piece)
    return pieces.finish()


def _field(number: int, type: Type, path: str, values: Mapping[str, Value], count: int) -> Ragged | None:
    found = values.get(path)
    match type:
        case Struct():
            inner = _below(values, path)
            return _delimited(number, encode_protobuf(type, inner, count)) if inner else None
        case _ if found is None:
            return None
        case Moment():
            return _delimited(number, _timestamp(np.asarray(found, np.int64)))
        case Fixed32():
            fixed = np.ascontiguousarray(found, np.dtype("<u4")).view(np.uint8).reshape(count, 4)
            return _tagged(number, _FIXED32, Ragged.of_matrix(fixed))
        case Primitive(dtype):
            return _tagged(number, _wire_type(dtype), _scalars(np.asarray(found), dtype))
        case Text():
            assert isinstance(found, Texts)
            return _delimited(number, found.runs())
        case Many(Primitive("u1"), None) if isinstance(found, Ragged):
            return _delimited(number, found)
        case Many(Primitive(dtype), _):
            return _delimited(number, _packed(found, dtype))
        case Many(Text(), _):
            assert isinstance(found, Lists) and isinstance(found.values, Texts)
            return _delimited(number, found.values.runs()).joined(found.counts)
        case Many(Struct() as element, _):
            assert isinstance(found, Group)
            total = int(found.counts.sum())
            return _delimited(number, encode_protobuf(element, found.values, total)).joined(found.counts)
    return None


def _below(values: Mapping[str, Value], path: str) -> dict[str, Value]:
    return {name[len(path) + 1 :]: value for name, value in values.items() if name.startswith(f"{path}.")}


def _timestamp(times_ns: NDArray[np.int64]) -> Ragged:
    pieces = Pieces(len(times_ns))
    pieces.put(_tagged(1, _VARINT, _varints(times_ns // _NS)))
    pieces.put(_tagged(2, _VARINT, _varints(times_ns % _NS)))
    return pieces.finish()


def _packed(found: Value, dtype: str) -> Ragged:
    if isinstance(found, np.ndarray):
        found = Lists(np.full(len(found), found.shape[1], np.int64), found.reshape(-1))
    assert isinstance(found, Lists)
    return _scalars(np.asarray(found.values), dtype).joined(found.counts)


def _scalars(numbers: NDArray[np.generic], dtype: str) -> Ragged:
    if dtype in ("f4", "f8"):
        kind = np.dtype(dtype).newbyteorder("<")
        fixed = np.ascontiguousarray(numbers, kind)
        return Ragged.of_matrix(fixed.view(np.uint8).reshape(len(fixed), kind.itemsize))
    return _varints(numbers.astype(np.uint64 if dtype == "u8" else np.int64))


def _varints(numbers: NDArray[np.generic]) -> Ragged:
    """Base-128 varints of (N,) integers; negative ones take ten bytes."""
    bits = numbers.view(np.uint64) if numbers.dtype == np.int64 else numbers.astype(np.uint64)
    shifts = np.arange(10, dtype=np.uint64) * np.uint64(7)
    groups = (bits[:, None] >> shifts) & np.uint64(0x7F)
    length = np.maximum(10 - np.argmax(groups[:, ::-1] != 0, axis=1), 1)
    length[bits == 0] = 1
    there = np.arange(10) < length[:, None]
    more = np.arange(10) < (length - 1)[:, None]
    octets = (groups | np.where(more, np.uint64(0x80), np.uint64(0))).astype(np.uint8)
    return Ragged(octets[there], length.astype(np.int64))


def _tagged(number: int, wire_type: int, content: Ragged) -> Ragged:
    pieces = Pieces(len(content))
    tag = _varints(np.array([number << 3 | wire_type], np.int64)).data
    pieces.put(Ragged.of_matrix(np.broadcast_to(tag, (len(content), len(tag)))))
    pieces.put(content)
    return pieces.finish()


def _delimited(number: int, content: Ragged) -> Ragged:
    pieces = Pieces(len(content))
    tag = _varints(np.array([number << 3 | _LENGTH], np.int64)).data
    pieces.put(Ragged.of_matrix(np.broadcast_to(tag, (len(content), len(tag)))))
    pieces.put(_varints(content.length))
    pieces.put(content)
    return pieces.finish()


def _wire_type(dtype: str) -> int:
    return {"f8": _FIXED64, "f4": _FIXED32}.get(dtype, _VARINT)


def descriptor_set(message: Struct, enums: Mapping[str, Mapping[str, int]] | None = None) -> bytes:
    """A FileDescriptorSet that defines a type and all it uses, as MCAP's ``protobuf`` schemas hold them.

    `enums`: dotted path of a field, from its own type's name -> the names of its numbers.
    """
    from google.protobuf import timestamp_pb2
    from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

    found: FileDescriptorSet = FileDescriptorSet()
    stamp = FileDescriptorProto()
    timestamp_pb2.DESCRIPTOR.CopyToProto(stamp)
    found.file.append(stamp)
    package, _, _ = message.name.rpartition(".")
    file = FileDescriptorProto(
        name=f"{message.name.replace('.', '/')}.proto",
        package=package,
        syntax="proto3",
        dependency=[stamp.name],
    )
    _define(message, file, enums or {}, set())
    found.file.append(file)
    return bytes(found.SerializeToString())


def _define(
    struct: Struct, file: FileDescriptorProto, enums: Mapping[str, Mapping[str, int]], done: set[str]
) -> None:
    if struct.name in done:
        return
    done.add(struct.name)
    short = struct.name.rpartition(".")[2]
    proto = file.message_type.add(name=short)
    for number, (name, type) in enumerate(struct.fields, start=1):
        repeated = isinstance(type, Many)
        inner = type.element if isinstance(type, Many) else type
        field = proto.field.add(name=name, number=number, label=_REPEATED if repeated else _OPTIONAL)
        match inner:
            case Struct():
                field.type, field.type_name = _MESSAGE, f".{inner.name}"
                _define(inner, file, enums, done)
            case Moment():
                field.type, field.type_name = _MESSAGE, TIMESTAMP
            case Text():
                field.type = _STRING
            case Primitive("u1") if repeated:
                field.type, field.label = _BYTES, _OPTIONAL
            case Fixed32():
                field.type = _FIXED32_TYPE
            case Primitive() if names := enums.get(f"{short}.{name}"):
                field.type, field.type_name = _ENUM, _define_enum(proto, struct.name, name, names)
            case Primitive(dtype):
                field.type = _TYPES[dtype]


def _define_enum(proto: DescriptorProto, owner: str, field: str, names: Mapping[str, int]) -> str:
    title = "".join(word.capitalize() for word in field.split("_"))
    enum = proto.enum_type.add(name=title)
    for name, number in names.items():
        enum.value.add(name=name, number=number)
    return f".{owner}.{title}"
