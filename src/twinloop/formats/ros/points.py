"""The point layout of point clouds: their lists of fields as one JSON text a row."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from twinloop.formats.ros.columns import UnfitError, code_array, number_array
from twinloop.formats.ros.definitions import Text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from twinloop.formats.ros.columns import Bound
    from twinloop.formats.ros.plan import Leaf, Plan
    from twinloop.formats.ros.rows import Rows

#: foxglove's NumericType as sensor_msgs/PointField counts: its types 1 to 8 are UINT8, INT8, UINT16, ...
_DATATYPE_OF_FOXGLOVE = np.array([0, 2, 1, 4, 3, 6, 5, 7, 8])


@dataclass(frozen=True, slots=True)
class PointFields:
    """Column `fields` of sensor_msgs/PointCloud2."""

    paths: ClassVar[tuple[str, ...]] = ("fields.name", "fields.offset", "fields.datatype", "fields.count")

    def bind(self, plan: Plan, row_level: int, wanted: pa.DataType | None) -> Bound:
        name, *numbers = _list_leaves(plan, *self.paths)

        def column(rows: Rows, count: int) -> pa.Array:
            values = np.stack([rows.numbers(leaf).astype(np.int64) for leaf in numbers], axis=1)
            return _json_lists(rows, name, values, count)

        return column


@dataclass(frozen=True, slots=True)
class FoxglovePointFields:
    """Column `fields` of foxglove_msgs/PointCloud, in sensor_msgs' terms."""

    paths: ClassVar[tuple[str, ...]] = ("fields.name", "fields.offset", "fields.type")

    def bind(self, plan: Plan, row_level: int, wanted: pa.DataType | None) -> Bound:
        name, offset, type = _list_leaves(plan, *self.paths)

        def column(rows: Rows, count: int) -> pa.Array:
            types = rows.numbers(type).astype(np.int64)
            known = np.where(types < len(_DATATYPE_OF_FOXGLOVE), types, 0)
            values = np.stack(
                [
                    rows.numbers(offset).astype(np.int64),
                    _DATATYPE_OF_FOXGLOVE[known],
                    np.ones(len(types), np.int64),
                ],
                axis=1,
            )
            return _json_lists(rows, name, values, count)

        return column


@dataclass(frozen=True, slots=True)
class FoxglovePointShape:
    """The columns that foxglove's clouds leave open: always one row of little-endian points."""

    column: str
    paths: ClassVar[tuple[str, ...]] = ()

    def bind(self, plan: Plan, row_level: int, wanted: pa.DataType | None) -> Bound:
        stride, data = plan.leaves.get("point_stride"), plan.leaves.get("data")
        if stride is None or data is None or not data.is_blob:
            raise UnfitError("point_stride, data")

        def column(rows: Rows, count: int) -> pa.Array:
            size = rows.blobs[data.node][1]
            match self.column:
                case "width":
                    values = size // np.maximum(rows.numbers(stride).astype(np.int64), 1)
                case "row_step":
                    values = size
                case "height":
                    values = np.ones(count, np.int64)
                case _:
                    return (
                        pa.nulls(count, pa.bool_()) if self.column == "is_dense" else pa.array([False] * count)
                    )
            return number_array(values.astype(np.int32))

        return column


def _list_leaves(plan: Plan, name: str, *others: str) -> list[Leaf]:
    leaves = [plan.leaves.get(path) for path in (name, *others)]
    found = [leaf for leaf in leaves if leaf is not None]
    if len(found) != len(leaves) or not isinstance(found[0].type, Text):
        raise UnfitError(", ".join((name, *others)))
    if any(leaf.level != found[0].level or plan.parents[leaf.level] != 0 or leaf.is_array for leaf in found):
        raise UnfitError(name)
    return found


def _json_lists(rows: Rows, name: Leaf, values: NDArray[np.int64], count: int) -> pa.Array:
    """One JSON list a row; a cloud's fields hardly ever change, so each different list is written once."""
    codes, offsets = rows.codes[name.node], rows.offsets[name.level]
    table = np.column_stack([codes.astype(np.int64), values])
    names = rows.vocabularies[name.node].array().to_pylist()
    size = int(offsets[1]) if count else 0
    if count and (np.diff(offsets) == size).all():
        lists = table.reshape(count, size * table.shape[1])
        if (lists == lists[0]).all():
            text = _json_list(table[:size], names)
            return code_array(np.zeros(count, np.int32), pa.array([text], pa.string()))
    texts = [_json_list(table[a:b], names) for a, b in pairwise(offsets)]
    encoded = pa.array(texts, pa.string()).dictionary_encode()
    return code_array(np.asarray(encoded.indices, np.int32), encoded.dictionary)


def _json_list(fields: NDArray[np.int64], names: list[str]) -> str:
    return json.dumps(
        [
            {"name": names[code], "offset": offset, "datatype": datatype, "count": items}
            for code, offset, datatype, items in fields.tolist()
        ]
    )
