"""A message type to write: its definition, and which columns of a stream fill which of its fields."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from twinloop.core.errors import UsageError
from twinloop.deliver.mcap.values import Group, Ragged, Texts, value_of
from twinloop.deliver.mcap.wire import spread

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
    from numpy.typing import NDArray

    from twinloop.deliver.mcap.values import Value
    from twinloop.formats.ros.definitions import Struct

#: Gives values by path from one column's values.
Fill = Callable[["Value"], "Mapping[str, Value]"]


@dataclass(frozen=True, slots=True)
class Message:
    """How rows of a stream become messages.

    Attributes:
        type_name, schema_encoding, schema: for the MCAP schema. encoding: ``cdr`` or ``protobuf``.
        struct: the type. encode: makes messages of values by path.
        fills: column -> how it fills fields. payload: the field of bulk bytes.
        constants: fields that are the same in all messages, by path.
        rows: the list whose elements are the rows; empty: each row is a message.
    """

    type_name: str
    schema_encoding: str
    schema: bytes
    encoding: str
    struct: Struct
    encode: Callable[[Struct, Mapping[str, Value], int], Ragged]
    fills: Mapping[str, Fill]
    payload: str | None = None
    constants: Mapping[str, str] = field(default_factory=dict)
    rows: str = ""

    def of(self, columns: Mapping[str, pa.Array], bulk: Ragged | None, starts: NDArray[np.int64]) -> Ragged:
        """The messages of some rows. `starts` (N,): the first row of each message; without `rows`, every row.

        Raises:
            UsageError: a column's values cannot be what the field holds.
        """
        count = len(starts)
        values: dict[str, Value] = {}
        for name, fill in self.fills.items():
            if name in columns:
                values.update(fill(value_of(columns[name])))
        if self.rows:
            total = len(next(iter(columns.values())))
            counts = np.diff(np.append(starts, total))
            inner = {path.removeprefix(f"{self.rows}."): v for path, v in values.items()}
            values = {self.rows: Group(counts, inner)}
        for path, text in self.constants.items():
            values[path] = Texts(np.zeros(count, np.int64), (text.encode(),))
        if self.payload is not None:
            values[self.payload] = (
                bulk if bulk is not None else Ragged(np.empty(0, np.uint8), np.zeros(count, np.int64))
            )
        return self.encode(self.struct, values, count)


def into(path: str) -> Fill:
    """A column that is one field."""
    return lambda value: {path: value}


def apart(paths: tuple[str, ...]) -> Fill:
    """A column of fixed lists whose elements are fields of their own: `paths` in the column's order."""

    def fill(value: Value) -> dict[str, Value]:
        if not isinstance(value, np.ndarray) or value.ndim != 2 or value.shape[1] != len(paths):
            raise UsageError(f"a column for {paths} does not hold {len(paths)} numbers a row")
        return {path: np.ascontiguousarray(value[:, place]) for place, path in enumerate(paths)}

    return fill


def wxyz(path: str) -> Fill:
    """A quaternion as we hold it, into the fields x, y, z, w."""
    return apart(tuple(f"{path}.{axis}" for axis in "wxyz"))


def point_fields(path: str, fields: Callable[[list[dict[str, Any]]], dict[str, list[Any]]]) -> Fill:
    """The layout of a point cloud; `fields` gives, of one layout, each subfield's values."""

    def fill(value: Value) -> dict[str, Value]:
        assert isinstance(value, Texts)
        layouts = [fields(json.loads(text or b"[]")) for text in value.vocabulary]
        sizes = np.array([len(layout["name"]) for layout in layouts], np.int64)
        starts = np.cumsum(sizes) - sizes
        counts = sizes[value.codes]
        rows = spread(starts[value.codes], counts)
        inner: dict[str, Value] = {}
        for name in layouts[0]:
            flat = [item for layout in layouts for item in layout[name]]
            if name == "name":
                inner[name] = Texts(rows, tuple(str(item).encode() for item in flat))
            else:
                inner[name] = np.array(flat, np.int64)[rows] if flat else np.empty(0, np.int64)
        return {path: Group(counts, inner)}

    return fill
