"""Messages of our own for what no standard type holds: one field a column."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa

from twinloop.core.kinds import TIME_COLUMNS
from twinloop.deliver.mcap.cdr import encode_cdr
from twinloop.deliver.mcap.definition_text import definition_text
from twinloop.deliver.mcap.foxglove import message_of
from twinloop.deliver.mcap.message import Message, into
from twinloop.deliver.mcap.values import is_plain, is_text
from twinloop.formats.mcap.written.facts import DATA
from twinloop.formats.ros.definitions import Many, Moment, Primitive, Struct, Text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from twinloop.formats.ros.definitions import Type

Encoding = Literal["ros2", "foxglove"]
STAMP = "stamp"
_WORD = re.compile(r"[A-Za-z0-9]+")


def own_message(
    title: str, columns: Mapping[str, pa.DataType], encoding: Encoding, *, payload: bool = False
) -> Message:
    """A message with a field for each column, in both worlds named after `title`."""
    names = field_names(list(columns))
    fields = [(names[column], _field(column, type)) for column, type in columns.items()]
    if payload:
        fields.append((DATA, Many(Primitive("u1"))))
    fills = {column: into(name) for column, name in names.items()}
    short = "".join(word[:1].upper() + word[1:] for word in _WORD.findall(title)) or "Rows"
    if short[0].isdigit():
        short = f"Rows{short}"
    if encoding == "foxglove":
        return message_of(Struct(f"twinloop.{short}", tuple(fields)), fills, DATA if payload else None)
    struct = Struct(f"twinloop_msgs/msg/{short}", tuple(fields))
    return Message(
        type_name=struct.name,
        schema_encoding="ros2msg",
        schema=definition_text(struct).encode(),
        encoding="cdr",
        struct=struct,
        encode=encode_cdr,
        fills=fills,
        payload=DATA if payload else None,
    )


def field_names(columns: Sequence[str]) -> dict[str, str]:
    """Column -> a field's name: lower-case letters, digits, single underscores, each once (ROS 2's rule)."""
    names: dict[str, str] = {}
    taken = {STAMP, DATA, "message", *TIME_COLUMNS}
    for column in columns:
        if column == "stamp_ns":
            names[column] = STAMP
            continue
        name = re.sub(r"_+", "_", re.sub(r"[^a-z0-9]", "_", column.lower())).strip("_") or "column"
        if not name[0].isalpha():
            name = f"c_{name}"
        wanted, number = name, 2
        while name in taken:
            name, number = f"{wanted}_{number}", number + 1
        taken.add(name)
        names[column] = name
    return names


def _field(column: str, type: pa.DataType) -> Type:
    if column == "stamp_ns":
        return Moment("i4")
    if is_text(type) or pa.types.is_large_string(type):
        return Text()
    if pa.types.is_fixed_size_list(type) and is_plain(type.value_type):
        return Many(_primitive(type.value_type), type.list_size)
    if pa.types.is_list(type) and is_plain(type.value_type):
        return Many(_primitive(type.value_type))
    if pa.types.is_list(type) and is_text(type.value_type):
        return Many(Text())
    if pa.types.is_binary(type):
        return Many(Primitive("u1"))
    return _primitive(type) if is_plain(type) else Text()


def _primitive(type: pa.DataType) -> Primitive:
    if pa.types.is_boolean(type):
        return Primitive("b1")
    kind = np.dtype(type.to_pandas_dtype())
    return Primitive("f4" if kind == np.float16 else f"{kind.kind}{kind.itemsize}")
