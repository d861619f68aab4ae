"""Message types from a FileDescriptorSet, as the wire decoder needs them: fields by number."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from twinloop.core.errors import TwinloopError

if TYPE_CHECKING:
    from collections.abc import Iterator

#: How each scalar type of a descriptor lies on the wire: numpy type, and varint, zigzag varint or fixed.
_SCALARS = {
    1: ("<f8", "fixed"),
    2: ("<f4", "fixed"),
    3: ("<i8", "varint"),
    4: ("<u8", "varint"),
    5: ("<i4", "varint"),
    6: ("<u8", "fixed"),
    7: ("<u4", "fixed"),
    8: ("?", "varint"),
    13: ("<u4", "varint"),
    14: ("<i4", "varint"),  # an enum
    15: ("<i4", "fixed"),
    16: ("<i8", "fixed"),
    17: ("<i4", "zigzag"),
    18: ("<i8", "zigzag"),
}
_GROUP, _MESSAGE, _STRING, _BYTES, _ENUM = 10, 11, 9, 12, 14
_MOMENTS = ("google.protobuf.Timestamp", "google.protobuf.Duration")


class SchemaError(TwinloopError):
    """A schema does not parse, or lacks a type that it uses."""

    exit_code = 3


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number: `dtype` of its values, `wire` varint, zigzag or fixed; `names` of an enum's numbers."""

    dtype: str
    wire: str
    names: dict[int, str] | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """A string."""


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes; also a message that holds itself, which has no flat columns."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A Timestamp or Duration, in ns."""


@dataclass(slots=True)
class Message:
    """A message type: its fields by number."""

    name: str
    fields: dict[int, Field] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Field:
    """One field. `presence`: an absent value is told from a zero."""

    name: str
    type: Scalar | Text | Blob | Moment | Message
    repeated: bool
    presence: bool


def message_type(type_name: str, descriptor_set: bytes) -> Message:
    """The type `type_name` as a serialized FileDescriptorSet defines it.

    Raises:
        SchemaError: the set does not parse, or lacks the type or one that it uses.
    """
    from google.protobuf.descriptor_pb2 import FileDescriptorSet
    from google.protobuf.message import DecodeError

    try:
        files = FileDescriptorSet.FromString(descriptor_set).file
    except DecodeError as error:
        raise SchemaError(f"the FileDescriptorSet of {type_name} does not parse: {error}") from None
    return _Types(files).message(type_name.lstrip("."), ())


class _Types:
    def __init__(self, files: Any) -> None:
        self._messages: dict[str, tuple[Any, bool]] = {}
        self._enums: dict[str, Any] = {}
        for file in files:
            proto3 = file.syntax == "proto3"
            prefix = f"{file.package}." if file.package else ""
            self._enums.update((prefix + enum.name, enum) for enum in file.enum_type)
            for name, message in _nested(prefix, file.message_type):
                self._messages[name] = (message, proto3)
                self._enums.update((f"{name}.{enum.name}", enum) for enum in message.enum_type)

    def message(self, name: str, inside: tuple[str, ...]) -> Message:
        if name not in self._messages:
            raise SchemaError(
                f"the FileDescriptorSet lacks the type {name}",
                expected=f"one of: {', '.join(sorted(self._messages)) or 'none'}",
            )
        descriptor, proto3 = self._messages[name]
        made = Message(name)
        for one in descriptor.field:
            presence = one.proto3_optional or one.HasField("oneof_index") or not proto3
            made.fields[one.number] = Field(
                one.name, self._type(one, (*inside, name)), one.label == one.LABEL_REPEATED, presence
            )
        return made

    def _type(self, one: Any, inside: tuple[str, ...]) -> Scalar | Text | Blob | Moment | Message:
        name = one.type_name.lstrip(".")
        if one.type == _MESSAGE:
            if name in _MOMENTS:
                return Moment()
            return Blob() if name in inside else self.message(name, inside)
        if one.type == _STRING:
            return Text()
        if one.type == _BYTES:
            return Blob()
        if one.type not in _SCALARS:
            what = "a group" if one.type == _GROUP else f"type {one.type}"
            raise SchemaError(f"field {inside[-1]}.{one.name} is {what}, which is not read here")
        dtype, wire = _SCALARS[one.type]
        if one.type != _ENUM:
            return Scalar(dtype, wire)
        if name not in self._enums:
            raise SchemaError(f"the FileDescriptorSet lacks the enum {name}")
        return Scalar(dtype, wire, {value.number: value.name for value in self._enums[name].value})


def _nested(prefix: str, messages: Any) -> Iterator[tuple[str, Any]]:
    for message in messages:
        name = prefix + message.name
        yield name, message
        yield from _nested(f"{name}.", message.nested_type)
