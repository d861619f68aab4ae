"""Whether columns are as their kind's layout says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa

from twinloop.core.kinds import LAYOUTS, TIME_COLUMNS

if TYPE_CHECKING:
    from twinloop.core.stream import Stream

_PLAIN = {
    "bool": pa.bool_(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
}
_LIST = re.compile(r"list<(.+)>")
_FIXED = re.compile(r"fixed_size_list<(.+)>\[(\d+)\]")


def problems_of_columns(stream: Stream, schema: pa.Schema) -> list[str]:
    """What is not as `core.kinds` says: missing columns, other types, time columns out of place."""
    names = schema.names
    problems = [f"{stream.name}: {name} twice" for name in sorted({n for n in names if names.count(n) > 1})]
    times = [name for name in names if name in TIME_COLUMNS]
    if names[: len(times)] != times:
        problems.append(f"{stream.name}: time columns do not stand first: {', '.join(names)}")
    if times != [name for name in TIME_COLUMNS if name in times]:
        problems.append(f"{stream.name}: time columns in another order than {', '.join(TIME_COLUMNS)}")
    problems += [
        f"{stream.name}: {name} is {schema.field(name).type}, not int64"
        for name in times
        if schema.field(name).type != pa.int64()
    ]
    if stream.segments:
        problems += _column_problems(stream, schema, "segment", "int32")
        problems += _column_problems(stream, schema, "pts", "int64")
    for column in LAYOUTS[stream.kind]:
        name = column.name.rstrip("?")
        if name in names or not column.name.endswith("?"):
            problems += _column_problems(stream, schema, name, column.type)
    return problems


def conforms(type_: pa.DataType, words: str) -> bool:
    """Whether an Arrow type is the one that a layout describes in words, e.g. ``list<double>``."""
    if words == "dictionary<string>":
        return bool(pa.types.is_dictionary(type_) and type_.value_type == pa.string())
    if match := _FIXED.fullmatch(words):
        fixed = pa.types.is_fixed_size_list(type_) and type_.list_size == int(match[2])
        return bool(fixed and conforms(type_.value_type, match[1]))
    if match := _LIST.fullmatch(words):
        return bool(pa.types.is_list(type_) and conforms(type_.value_type, match[1]))
    return bool(type_ == _PLAIN[words])


def _column_problems(stream: Stream, schema: pa.Schema, name: str, words: str) -> list[str]:
    if name not in schema.names:
        return [f"{stream.name}: the column {name} of kind {stream.kind.value} is missing"]
    type_ = schema.field(name).type
    return [] if conforms(type_, words) else [f"{stream.name}: {name} is {type_}, not {words}"]
