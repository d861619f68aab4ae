"""Trees of types as the texts of ROS 2 message definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.formats.ros.definitions import Many, Moment, Primitive, Struct

if TYPE_CHECKING:
    from twinloop.formats.ros.definitions import Type

_NUMBERS = {"f": "float", "i": "int", "u": "uint"}
_SEPARATOR = "=" * 80


def definition_text(struct: Struct) -> str:
    """The definition of a type, followed by those of the types that it uses."""
    found: dict[str, Struct] = {}
    _collect(struct, found)
    texts = []
    for number, each in enumerate(found.values()):
        title = "" if number == 0 else f"{_SEPARATOR}\nMSG: {_short(each.name)}\n"
        fields = "".join(f"{_type(type)} {name}\n" for name, type in each.fields)
        texts.append(title + (fields or "# no fields\n"))
    if any(isinstance(_innermost(type), Moment) for each in found.values() for _, type in each.fields):
        texts.append(f"{_SEPARATOR}\nMSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n")
    return "".join(texts)


def _collect(struct: Struct, found: dict[str, Struct]) -> None:
    if struct.name in found:
        return
    found[struct.name] = struct
    for _, type in struct.fields:
        inner = _innermost(type)
        if isinstance(inner, Struct):
            _collect(inner, found)


def _innermost(type: Type) -> Type:
    while isinstance(type, Many):
        type = type.element
    return type


def _type(type: Type) -> str:
    match type:
        case Many(element, count):
            return f"{_type(element)}[{'' if count is None else count}]"
        case Struct(name):
            return _short(name)
        case Moment():
            return "builtin_interfaces/Time"
        case Primitive("b1"):
            return "bool"
        case Primitive(dtype):
            return f"{_NUMBERS[dtype[0]]}{int(dtype[1:]) * 8}"
    return "string"


def _short(name: str) -> str:
    return name.replace("/msg/", "/")
