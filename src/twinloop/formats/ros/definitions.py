"""Message definitions: the texts of ROS 1 .msg, ROS 2 .msg and ROS 2 IDL, as one small tree of types.

Type names are normalised to ROS 2's form: ``sensor_msgs/JointState`` is ``sensor_msgs/msg/JointState``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from twinloop.core.errors import UnreadableError

if TYPE_CHECKING:
    from collections.abc import Iterator

DefinitionFormat = Literal["ros1msg", "ros2msg", "ros2idl"]


class DefinitionError(UnreadableError):
    """The text of a type does not parse, or names a type that it does not hold."""


@dataclass(frozen=True, slots=True)
class Primitive:
    """A number, as numpy names it: ``f8``, ``i4``, ``u1``, ``b1`` (a boolean byte)."""

    dtype: str

    @property
    def size(self) -> int:
        """Bytes on the wire, and in CDR the alignment."""
        return int(self.dtype[1:])


@dataclass(frozen=True, slots=True)
class Moment:
    """A time or duration: four bytes of seconds, four of nanoseconds, as numpy names them."""

    seconds: str
    nanoseconds: str = "u4"


@dataclass(frozen=True, slots=True)
class Text:
    """A string; `wide` for wstring."""

    wide: bool = False


@dataclass(frozen=True, slots=True)
class Many:
    """`count` elements, or as many as the message says (None), at most `bound` (None: any)."""

    element: Type
    count: int | None = None
    bound: int | None = None


@dataclass(frozen=True, slots=True)
class Struct:
    """A message type with its fields in order."""

    name: str
    fields: tuple[tuple[str, Type], ...]


Type = Primitive | Moment | Text | Many | Struct

_NUMBERS = {
    **{f"{sign}int{bits}": f"{sign or 'i'}{bits // 8}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float32": "f4",
    "float64": "f8",
    "bool": "b1",
    "char": "u1",
}
#: Types whose fields are two words; their own definitions are often left out of the text.
_MOMENTS = {
    "builtin_interfaces/msg/Time": Moment("i4"),
    "builtin_interfaces/msg/Duration": Moment("i4"),
    "time": Moment("u4"),
    "duration": Moment("i4", "i4"),
}
_MAX_DEPTH = 64
_MAX_COUNT = 2**31

_SEPARATOR = re.compile(r"^={10,}[ \t]*\r?$", re.MULTILINE)
_TITLE = re.compile(r"\s*(MSG|IDL)[ \t]*:[ \t]*([\w/]+)[ \t]*\r?\n?")
_LINE = re.compile(
    r"(?P<type>[A-Za-z][\w/]*)(?P<text_bound><=\d+)?"
    r"(?P<many>\[(?P<bounded><=)?(?P<count>\d*)\])?"
    r"\s+(?P<name>[A-Za-z]\w*)\s*(?P<rest>.*)"
)


@dataclass(frozen=True, slots=True)
class _Reference:
    """A field's type as written: a name to be looked up from `owner`'s package, repeated or not."""

    name: str
    many: Many | None
    owner: str
    line: int


_Fields = list[tuple[str, _Reference]]


def normal_name(type_name: str) -> str:
    """``pkg/Type`` and ``pkg/msg/Type`` and ``pkg::msg::Type``, as ``pkg/msg/Type``."""
    parts = type_name.replace("::", "/").strip("/").split("/")
    return f"{parts[0]}/msg/{parts[-1]}" if len(parts) == 2 else "/".join(parts)


def parse_definition(type_name: str, text: str, format: DefinitionFormat) -> Struct:
    """The tree of `type_name`, whose own text comes first and the types it uses after lines of ``=``.

    Raises:
        DefinitionError: the text does not parse, or lacks a type; names the type and the line.
    """
    root = normal_name(type_name)
    sections: dict[str, _Fields] = {}
    enums: set[str] = set()
    for title, body, is_idl, line in _sections(root, text, format):
        if is_idl:
            enums |= _enums(body)
            sections.update(_idl_fields(title, body, line))
        else:
            sections.setdefault(title, list(_msg_fields(title, body, line, ros1=format == "ros1msg")))
    if root not in sections:
        raise DefinitionError(
            f"the definition of {type_name} does not define it",
            expected=f"a type named {root}; there {'are ' + ', '.join(sections) if sections else 'is none'}",
        )
    return _Resolver(sections, enums, format).struct(root, ())


def _sections(root: str, text: str, format: DefinitionFormat) -> Iterator[tuple[str, str, bool, int]]:
    """(type name, text, whether it is IDL, number of the line before it) of each part of a definition."""
    start, first, separated = 0, True, False
    for end in [*(match.start() for match in _SEPARATOR.finditer(text)), len(text)]:
        part = text[start:end]
        if separated:
            part = part[part.find("\n") + 1 :] if "\n" in part else ""
        separated = True
        offset = end - len(part)
        start = end
        title, is_idl = root, format == "ros2idl"
        if match := _TITLE.match(part):
            title, is_idl = normal_name(match[2]), match[1] == "IDL"
            offset += match.end()
            part = part[match.end() :]
        elif first and not part.strip() and end < len(text):
            continue
        first = False
        yield title, part, is_idl, text.count("\n", 0, offset)


def _msg_fields(owner: str, text: str, line_before: int, *, ros1: bool) -> Iterator[tuple[str, _Reference]]:
    for number, raw in enumerate(text.splitlines(), line_before + 1):
        line = raw.strip()
        if not line or line[0] in "#@":
            continue
        match = _LINE.fullmatch(line)
        rest = match["rest"] if match else ""
        has_default = bool(rest) and rest[0] not in "#="
        if match is None or (has_default and ros1):
            raise DefinitionError(
                f"the definition of {owner} does not parse: {line!r}",
                where=f"line {number}",
                expected="a type, a name and nothing else, or a constant (type NAME=value)",
            )
        if rest.startswith("="):
            continue
        many = None
        if match["many"]:
            count = int(match["count"]) if match["count"] else None
            many = Many(Text(), bound=count) if match["bounded"] else Many(Text(), count=count)
        yield match["name"], _Reference(match["type"], many, owner, number)


def _enums(text: str) -> set[str]:
    """Names of IDL enumerations, which CDR writes as uint32 and rosbags leaves out of its result."""
    return set(re.findall(r"\benum\s+(\w+)\s*\{", text))


def _idl_fields(owner: str, text: str, line_before: int) -> dict[str, _Fields]:
    from rosbags.interfaces import Nodetype
    from rosbags.typesys import get_types_from_idl
    from rosbags.typesys.base import TypesysError

    text = re.sub(r"^[ \t]*#.*$", "", text, flags=re.MULTILINE)
    try:
        types = get_types_from_idl(text)
    except (TypesysError, RecursionError, AssertionError) as error:
        position = re.search(r"\n(\d+)\n", str(error))
        line = line_before + 1 + (text.count("\n", 0, int(position[1])) if position else 0)
        reason = "" if position else f": {error}"
        raise DefinitionError(
            f"the IDL of {owner} does not parse{reason}",
            where=f"at or after line {line}",
            expected="IDL 4.2 as rosidl writes it",
        ) from error

    def reference(description: tuple, name: str) -> _Reference:  # type: ignore[type-arg]
        node, value = description
        if node is Nodetype.BASE:
            return _Reference(value[0], None, name, line_before + 1)
        if node is Nodetype.NAME:
            return _Reference(value, None, name, line_before + 1)
        element, size = value
        is_array = node is Nodetype.ARRAY
        many = Many(Text(), count=size) if is_array else Many(Text(), bound=size or None)
        return _Reference(reference(element, name).name, many, name, line_before + 1)

    return {
        normal_name(name): [(field, reference(description, name)) for field, description in fields]
        for name, (_, fields) in types.items()
    }


class _Resolver:
    """Replaces names by the types they name."""

    def __init__(self, sections: dict[str, _Fields], enums: set[str], format: DefinitionFormat) -> None:
        self.sections = sections
        self.enums = enums
        self.format = format
        self.done: dict[str, Struct] = {}

    def struct(self, name: str, inside: tuple[str, ...]) -> Struct:
        if name in self.done:
            return self.done[name]
        if name in inside or len(inside) > _MAX_DEPTH:
            raise DefinitionError(
                f"the definition of {inside[0]} does not end: {' holds '.join((*inside[-3:], name))}",
                expected="types that do not hold themselves",
            )
        fields = tuple(
            (field, self.type(reference, (*inside, name))) for field, reference in self.sections[name]
        )
        self.done[name] = Struct(name, fields)
        return self.done[name]

    def type(self, reference: _Reference, inside: tuple[str, ...]) -> Type:
        element = self.element(reference, inside)
        if reference.many is None:
            return element
        if reference.many.count is not None and not 0 < reference.many.count < _MAX_COUNT:
            raise DefinitionError(
                f"an array of {reference.many.count} elements in the definition of {reference.owner}",
                where=f"line {reference.line}",
                expected=f"a count from 1 to {_MAX_COUNT}, or [] for any count",
            )
        return Many(element, reference.many.count, reference.many.bound)

    def element(self, reference: _Reference, inside: tuple[str, ...]) -> Type:
        name = reference.name
        if name in _NUMBERS:
            return Primitive(_NUMBERS[name])
        if name == "byte":
            return Primitive("i1" if self.format == "ros1msg" else "u1")
        if name in ("string", "wstring"):
            return Text(wide=name == "wstring")
        if name in _MOMENTS:
            return _MOMENTS[name]
        if name.rsplit("/", 1)[-1] in self.enums:
            return Primitive("u4")
        full = self.full_name(name, reference.owner)
        if full in _MOMENTS:
            return _MOMENTS[full]
        if full not in self.sections:
            raise DefinitionError(
                f"the definition of {inside[0]} lacks the type {name}",
                where=f"{reference.owner}, line {reference.line}",
                expected="every type that it uses, after a line of =",
                fix="record with full definitions, or name a folder of them (--types)",
            )
        return self.struct(full, inside)

    def full_name(self, name: str, owner: str) -> str:
        if "/" in name:
            return normal_name(name)
        if name == "Header":
            return "std_msgs/msg/Header"
        beside = f"{owner.rsplit('/', 1)[0]}/{name}"
        if beside in self.sections or beside in _MOMENTS:
            return beside
        same_last = [known for known in self.sections if known.rsplit("/", 1)[-1] == name]
        return same_last[0] if len(same_last) == 1 else beside
