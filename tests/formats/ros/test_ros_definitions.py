"""Definitions as people write them; errors that name the type and the line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import random_messages as rm
from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore

from twinloop.core.kinds import Kind
from twinloop.formats.ros.decoder import ros_decoder
from twinloop.formats.ros.definitions import (
    DefinitionError,
    Many,
    Moment,
    Primitive,
    Struct,
    Text,
    normal_name,
    parse_definition,
)
from twinloop.formats.ros.standard import standard_definition

if TYPE_CHECKING:
    from twinloop.formats.ros.definitions import DefinitionFormat

LINE = "=" * 80
OWN = f"""# A comment
int32 PLAIN=3
string WORDS = a text # that is no comment
int32[<=3] bounded
uint8 number 7
string<=5 short "x # y"
string<=5[] shorts
float32[2] pair [1.0, 2.0]
my_msgs/Inner[] many   # and a comment
Inner[2] two
{LINE}
MSG: my_msgs/Inner
int8[3] z
bool ready true
"""


def fields(text: str, format: DefinitionFormat = "ros2msg") -> dict[str, Any]:
    return dict(parse_definition("my_msgs/Outer", text, format).fields)


def test_bounds_defaults_constants_and_nested_types() -> None:
    inner = Struct("my_msgs/msg/Inner", (("z", Many(Primitive("i1"), 3)), ("ready", Primitive("b1"))))
    assert fields(OWN) == {
        "bounded": Many(Primitive("i4"), bound=3),
        "number": Primitive("u1"),
        "short": Text(),
        "shorts": Many(Text()),
        "pair": Many(Primitive("f4"), 2),
        "many": Many(inner),
        "two": Many(inner, 2),
    }


def test_own_types_decode() -> None:
    types = get_typestore(Stores.EMPTY)
    text, inner = OWN.split(f"{LINE}\nMSG: my_msgs/Inner\n")
    types.register(get_types_from_msg(inner.replace(" true", ""), "my_msgs/msg/Inner"))
    plain = "\n".join(line for line in text.splitlines() if "=" not in line or "<=" in line)
    types.register(get_types_from_msg(plain, "my_msgs/msg/Outer"))
    outer, one = types.types["my_msgs/msg/Outer"], types.types["my_msgs/msg/Inner"]
    z = np.array([1, -2, 3], np.int8)
    message = outer(
        np.array([5, 6], np.int32), 9, "abc", ["", "de"], np.array([0.5, 2], np.float32),
        [one(z, True)], [one(z, False), one(-z, True)],
    )  # fmt: skip
    decoder = ros_decoder("my_msgs/Outer", OWN, encoding="cdr", definition_format="ros2msg")
    raw = rm.serialize(message, "my_msgs/msg/Outer", "cdr", types)
    for _ in range(2):
        decoded = rm.decode_all(decoder, [raw, raw])
        assert decoded.bad is None, decoded.why
        row = {name: column[1].as_py() for name, column in decoded.columns.items()}
        assert row == {
            "bounded": [5, 6], "number": 9, "short": "abc", "shorts": ["", "de"], "pair": [0.5, 2.0],
            "many.z": [[1, -2, 3]], "many.ready": [True],
            "two.z": [[1, -2, 3], [-1, 2, -3]], "two.ready": [False, True],
        }  # fmt: skip


def test_more_elements_than_the_bound_are_bad() -> None:
    decoder = ros_decoder("a/B", "int32[<=3] x", encoding="cdr", definition_format="ros2msg")
    raw = [b"\0\1\0\0" + np.array([n, *range(n)], "<i4").tobytes() for n in (3, 4)]
    decoded = rm.decode_all(decoder, raw)
    assert decoded.bad is not None
    assert decoded.bad.tolist() == [1]
    assert "at most 3" in decoded.why


@pytest.mark.parametrize("width", [2, 4])
def test_wide_strings_of_both_widths(width: int) -> None:
    definition = "wstring text\nint32 after\n"
    decoder = ros_decoder("a/Wide", definition, encoding="cdr", definition_format="ros2msg")
    raw = []
    for text in ("", "né", "long enough"):
        data = text.encode("utf-16-le" if width == 2 else "utf-32-le")
        body = np.array([len(text)], "<u4").tobytes() + data
        raw.append(b"\0\1\0\0" + body + bytes(-len(body) % 4) + np.array([7], "<i4").tobytes())
    for _ in range(2):
        decoded = rm.decode_all(decoder, raw)
        assert decoded.bad is None, decoded.why
        assert rm.rows_of(decoded.columns) == {"text": ["", "né", "long enough"], "after": [7, 7, 7]}


IDL = """
module my_msgs {
  module msg {
    module Shape_Constants { const int32 LIMIT = 3; };
    typedef double double__4[4];
    @verbatim (language="comment", text="A shape.")
    struct Corner { float x; float y; };
    struct Shape {
      string name;
      sequence<my_msgs::msg::Corner> corners;
      double__4 weights;
      sequence<int16, 5> few;
      @unit (value="m")
      boolean closed;
      wchar_free free;
    };
  };
};
""".replace("      wchar_free free;\n", "")


def test_idl() -> None:
    types = get_typestore(Stores.EMPTY)
    types.register(get_types_from_idl(IDL))
    shape, corner = types.types["my_msgs/msg/Shape"], types.types["my_msgs/msg/Corner"]
    message = shape("box", [corner(1.0, 2.0), corner(3.0, 4.0)], np.arange(4.0), np.array([1, 2], "i2"), True)
    decoder = ros_decoder("my_msgs/msg/Shape", IDL, encoding="cdr", definition_format="ros2idl")
    raw = rm.serialize(message, "my_msgs/msg/Shape", "cdr", types)
    assert decoder.peek(None).kind is Kind.TABLE
    decoded = rm.decode_all(decoder, [raw])
    assert {name: column[0].as_py() for name, column in decoded.columns.items()} == {
        "name": "box", "corners.x": [1.0, 3.0], "corners.y": [2.0, 4.0],
        "weights": [0.0, 1.0, 2.0, 3.0], "few": [1, 2], "closed": True,
    }  # fmt: skip


def test_idl_and_msg_texts_as_recorders_join_them() -> None:
    text = f"{LINE}\nIDL: my_msgs/msg/Shape\n{IDL}\n{LINE}\nIDL: my_msgs/msg/Other\n" + IDL.replace(
        "Shape", "Other"
    )
    struct = parse_definition("my_msgs/msg/Shape", text, "ros2idl")
    assert [name for name, _ in struct.fields] == ["name", "corners", "weights", "few", "closed"]


@pytest.mark.parametrize(
    ("text", "format", "says", "where"),
    [
        ("int32 a\n\nint32\n", "ros2msg", "my_msgs/msg/Outer", "line 3"),
        ("int32 a\nint32[ b\n", "ros1msg", "my_msgs/msg/Outer", "line 2"),
        ("int32 a 5\n", "ros1msg", "my_msgs/msg/Outer", "line 1"),
        ("Missing m\n", "ros2msg", "my_msgs/msg/Outer lacks the type Missing", "line 1"),
        (f"Inner m\n{LINE}\nMSG: my_msgs/Inner\nint8 a\nother/Thing b\n", "ros2msg", "other/Thing", "line 5"),
        (f"Inner m\n{LINE}\nMSG: my_msgs/Inner\nint8 a\nint8 b c d [\nint8", "ros1msg", "Inner", "line 5"),
        ("int8[0] a\n", "ros2msg", "0 elements", "line 1"),
        ("Outer again\n", "ros2msg", "does not end", ""),
        ("module a { struct B { int32 x; }\n", "ros2idl", "my_msgs/msg/Outer", "line"),
        ("module a { module msg { struct B { int32 x; }; }; };", "ros2idl", "does not define it", ""),
    ],
)
def test_errors_say_which_type_and_line(text: str, format: DefinitionFormat, says: str, where: str) -> None:
    with pytest.raises(DefinitionError) as error:
        parse_definition("my_msgs/Outer", text, format)
    assert says in str(error.value)
    assert where in str(error.value)


def test_a_few_lines_that_mean_millions_of_fields_are_refused() -> None:
    levels = [f"A{i + 1}[3] x\nA{i + 1} y\nA{i + 1} z\n" for i in range(12)]
    text = f"{LINE}\n".join(
        (f"MSG: a/A{i}\n" if i else "") + level for i, level in enumerate([*levels, "int8 last\n"])
    )
    with pytest.raises(DefinitionError, match="more than"):
        ros_decoder("a/A0", text, encoding="cdr", definition_format="ros2msg")


def test_names_and_times() -> None:
    assert normal_name("sensor_msgs/Imu") == normal_name("sensor_msgs::msg::Imu") == "sensor_msgs/msg/Imu"
    assert fields("time a\nduration b\nHeader h\n" + f"{LINE}\nMSG: std_msgs/Header\nuint32 seq\n", "ros1msg")[
        "a"
    ] == Moment("u4")
    assert fields("builtin_interfaces/Time a\n")["a"] == Moment("i4")


@pytest.mark.parametrize("ros2", [False, True])
def test_standard_types_bring_their_definitions(ros2: bool) -> None:
    text = standard_definition("sensor_msgs/JointState", ros2)
    assert text is not None
    struct = parse_definition("sensor_msgs/JointState", text, "ros2msg" if ros2 else "ros1msg")
    assert [name for name, _ in struct.fields] == ["header", "name", "position", "velocity", "effort"]
    assert standard_definition("my_msgs/msg/Unheard", ros2) is None
    assert standard_definition("sensor_msgs/msg/Imu", ros2, "humble")
    assert standard_definition("sensor_msgs/msg/Imu", ros2, "never_released")
