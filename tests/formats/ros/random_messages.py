"""Random ROS messages of any type, written by rosbags, and the columns that they should become."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from twinloop.formats.ros.decoder import RosDecoder, ros_decoder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    import pyarrow as pa
    from rosbags.typesys.store import Typestore

    from twinloop.core.stream import Payload
    from twinloop.formats.messages import Decoded

Wire = Literal["cdr", "cdr-big", "ros1"]

#: Types made to be awkward: padding inside and between elements, lists of lists, texts among numbers.
#: A semicolon stands for the end of a line.
AWKWARD = {
    "test_msgs/msg/Padded": "uint8 a; float64 b; uint16 c; bool d; int64 e; string f; uint8 g; float32 h",
    "test_msgs/msg/Point": (
        "uint32 offset_time; float32 x; float32 y; float32 z; uint8 reflectivity; uint8 tag"
    ),
    "test_msgs/msg/Cloud": (
        "std_msgs/Header header; uint64 timebase; uint8 id; test_msgs/Point[] points; uint8 end"
    ),
    "test_msgs/msg/Late": "uint8 first; float64 second; uint8 third",
    "test_msgs/msg/LateList": "uint8 lead; test_msgs/Late[] late; test_msgs/Late[2] two; string[] names",
    "test_msgs/msg/Nested": "string name; test_msgs/LateList[] inner; int16[3] triple; uint8 last",
    "test_msgs/msg/Deep": "test_msgs/Nested[] nested; bool[] flags; time when; duration[] spans",
    "test_msgs/msg/Texts": (
        "string a; string[3] three; uint8[] bytes; int8[4] four; string b; float64[] values"
    ),
    "test_msgs/msg/Holes": "std_msgs/Empty nothing; int8[] small; uint64[] large; int16[] medium; char letter",
}

TEXTS = ("", "a", "base_link", "arm_joint_1", "arm_joint_2", "Größe", "\N{ROBOT FACE}", "map/odom")
_NUMBERS = {
    **{f"{s}int{n}": f"{s or 'i'}{n // 8}" for s in ("", "u") for n in (8, 16, 32, 64)},
    "float32": "f4",
    "float64": "f8",
    "bool": "b1",
    "char": "u1",
}
#: rosidl puts this byte into types without fields.
_PLACEHOLDER = "structure_needs_at_least_one_member"
#: What a column is made of: a dotted path, or several whose values stand side by side.
Made = str | tuple[str, ...]


@cache
def store(wire: Wire) -> Typestore:
    """rosbags' types of ROS 1 or ROS 2."""
    types = get_typestore(Stores.ROS1_NOETIC if wire == "ros1" else Stores.ROS2_HUMBLE)
    for name, text in AWKWARD.items():
        types.register(get_types_from_msg(text.replace("; ", "\n"), name))
    if wire == "ros1":
        transforms = "geometry_msgs/TransformStamped[] transforms"
        types.register(get_types_from_msg(transforms, "tf2_msgs/msg/TFMessage"))
    return types


def paths(types: Typestore, type_name: str) -> list[str]:
    """The dotted paths of all fields of a type that are no messages themselves; a time is one."""
    found = []
    for name, (node, value) in types.fielddefs[type_name][1]:
        if name == _PLACEHOLDER:
            continue
        is_many = node in (Nodetype.ARRAY, Nodetype.SEQUENCE)
        node, value = value[0] if is_many else (node, value)
        if node is Nodetype.NAME and not value.startswith("builtin_interfaces"):
            found += [f"{name}.{path}" for path in paths(types, value)]
        else:
            found.append(name)
    return found


def decoder_of(type_name: str, wire: Wire, types: Typestore | None = None) -> RosDecoder:
    """A decoder from the definition that rosbags writes for a type."""
    is_ros1 = wire == "ros1"
    text, _ = (types or store(wire)).generate_msgdef(type_name, ros_version=1 if is_ros1 else 2)
    encoding: Literal["cdr", "ros1"] = "ros1" if is_ros1 else "cdr"
    definition_format: Literal["ros1msg", "ros2msg"] = "ros1msg" if is_ros1 else "ros2msg"
    return ros_decoder(type_name, text, encoding=encoding, definition_format=definition_format)


def serialize(message: object, type_name: str, wire: Wire, types: Typestore | None = None) -> bytes:
    """A message's bytes."""
    types = types or store(wire)
    if wire == "ros1":
        return bytes(types.serialize_ros1(message, type_name))
    return bytes(types.serialize_cdr(message, type_name, little_endian=wire == "cdr"))


@dataclass(frozen=True)
class Maker:
    """Makes random messages; list lengths and texts come from `shape`, numbers from `value`."""

    types: Typestore
    ros1: bool
    shape: Random
    value: Random

    def message(self, type_name: str) -> Any:
        """A message of a type."""
        if type_name.endswith(("/Time", "/Duration")) and type_name.startswith("builtin_interfaces"):
            smallest = 0 if self.ros1 and type_name.endswith("/Time") else -(2**31)
            seconds, nanosec = self.value.randrange(smallest, 2**31), self.value.randrange(10**9)
            return self.types.types[type_name](seconds, nanosec)
        _, fields = self.types.fielddefs[type_name]
        kind = self.types.types[type_name]
        return kind(*(self.field(description) for name, description in fields if _is_real(name, self.ros1)))

    def field(self, description: tuple[Nodetype, Any]) -> Any:
        """A value of a field."""
        node, value = description
        match node:
            case Nodetype.NAME:
                return self.message(value)
            case Nodetype.BASE:
                return self.shape.choice(TEXTS) if value[0] == "string" else self.number(value[0])
            case _:
                return self.many(*value, is_array=node is Nodetype.ARRAY)

    def many(self, element: tuple[Nodetype, Any], size: int, *, is_array: bool) -> Any:
        """An array, or a sequence of at most `size` (0: any number)."""
        count = size if is_array else self.shape.randint(0, min(size or 4, 4))
        node, value = element
        values = [self.field(element) for _ in range(count)]
        if node is Nodetype.BASE and value[0] != "string":
            return np.array(values, self.dtype(value[0]))
        return values

    def number(self, name: str) -> Any:
        """A number; of floats, also those that compare oddly."""
        dtype = np.dtype(self.dtype(name))
        if dtype.kind == "b":
            return self.value.random() < 0.5
        if dtype.kind == "f":
            odd = self.value.choice((0.0, -0.0, math.inf, -math.inf, math.nan))
            return float(dtype.type(odd if self.value.random() < 0.1 else self.value.uniform(-1e3, 1e3)))
        if name == "byte":  # rosbags writes ROS 2's as if it were signed
            return self.value.randrange(128)
        info = np.iinfo(dtype)
        return self.value.randint(int(info.min), int(info.max))

    def dtype(self, name: str) -> str:
        """A primitive as numpy names it; `byte` is signed in ROS 1 alone."""
        return _NUMBERS.get(name) or ("i1" if self.ros1 else "u1")


def maker(wire: Wire, shape: Random, value: Random) -> Maker:
    """A maker of the standard types."""
    return Maker(store(wire), wire == "ros1", shape, value)


def _is_real(name: str, ros1: bool) -> bool:
    return not (ros1 and name == _PLACEHOLDER)


def value_at(message: Any, path: str) -> Any:
    """What lies at a dotted path, with a list for each list on the way; times in ns."""
    if isinstance(message, list):
        return [value_at(item, path) for item in message]
    name, _, rest = path.partition(".")
    value = getattr(message, name)
    if rest:
        return value_at(value, rest)
    return _moment(value) if hasattr(value, "nanosec") else value


def expected_row(message: object, made: Made) -> Any:
    """What a column should hold for a message."""
    if isinstance(made, str):
        return plain(value_at(message, made))
    return plain([value_at(message, path) for path in made])


def _moment(value: Any) -> int:
    return int(value.sec) * 10**9 + int(value.nanosec)


def plain(value: Any) -> Any:
    """Arrays as lists, and floats as text so that NaN equals NaN and 0.0 does not equal -0.0."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "nanosec"):
        return _moment(value)
    return repr(value) if isinstance(value, float) else value


def decode_all(decoder: RosDecoder, messages: Sequence[bytes], gap: bytes = b"") -> Decoded:
    """Messages one behind the other in a buffer, `gap` between them."""
    buffer, offset, length = laid_out(messages, gap)
    return decoder.decode(buffer, offset, length)


def laid_out(messages: Sequence[bytes], gap: bytes = b"") -> tuple[Any, Any, Any]:
    """A buffer (B,) with `gap` before each message, and their offsets and lengths (N,)."""
    buffer = np.frombuffer(b"".join(gap + message for message in messages), np.uint8)
    length = np.array([len(message) for message in messages], np.int64)
    return buffer, np.cumsum(length + len(gap)) - length, length


def rows_of(columns: dict[str, pa.Array]) -> dict[str, list[Any]]:
    """Columns as comparable lists."""
    for array in columns.values():
        array.validate(full=True)
    return {name: [plain(value) for value in array.to_pylist()] for name, array in columns.items()}


def bulk_of(payload: Payload | None) -> list[bytes] | None:
    """A payload's bytes, row by row."""
    return None if payload is None else [bytes(row) for row in payload]
