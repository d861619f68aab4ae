"""Parquet columns as the columns of a stream's kind."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinloop.core.kinds import Kind
from twinloop.formats.lerobot.streams import FLAT_ELEMENTS, element_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from twinloop.formats.lerobot.info import FeatureInfo


def number_columns(feature: FeatureInfo, kind: Kind, column: pa.Array) -> dict[str, pa.Array]:
    """The columns of a numeric feature of N rows.

    joints: name, position; scalar: value; table: one column an element, or one list column `values` where
    there are many or where rows differ in length.
    """
    values, offsets = _flat(column)
    names = element_names(feature)
    widths = np.diff(offsets)
    regular = len(widths) == 0 or bool((widths == len(names)).all())
    if kind is Kind.SCALAR:
        first = np.full(len(widths), np.nan)
        first[widths > 0] = values[offsets[:-1][widths > 0]]
        return {"value": pa.array(first)}
    if kind is Kind.JOINTS:
        return {"name": _name_lists(names, widths), "position": _lists(values, offsets)}
    if regular and len(names) <= FLAT_ELEMENTS:
        matrix = values.reshape(-1, len(names))
        return {name: pa.array(np.ascontiguousarray(matrix[:, k])) for k, name in enumerate(names)}
    return {"values": _lists(values, offsets)}


def constant(text: str, rows: int) -> pa.DictionaryArray:
    """A dictionary column that says the same in every row."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([text], pa.string()))


def plain(column: pa.Array) -> pa.Array:
    """A bookkeeping column as it is; one-element lists are unwrapped."""
    while pa.types.is_fixed_size_list(column.type) and column.type.list_size == 1:
        column = column.flatten()
    return column


def text_column(column: pa.Array) -> pa.Array:
    """Any column as text; what is no text becomes JSON."""
    if pa.types.is_string(column.type):
        return column
    if pa.types.is_large_string(column.type) or pa.types.is_dictionary(column.type):
        return pc.cast(column, pa.string())
    return pa.array(
        [None if v is None else json.dumps(v, default=str) for v in column.to_pylist()], pa.string()
    )


def _flat(column: pa.Array) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """All numbers of a column of numbers or (nested) lists, row after row, with N + 1 offsets. Nulls are NaN;
    a null list has no numbers."""
    offsets = np.arange(len(column) + 1, dtype=np.int64)
    while _is_list(column.type):
        if pa.types.is_fixed_size_list(column.type):
            if column.null_count:
                column = pc.cast(column, pa.list_(column.type.value_type))
                continue
            inner = np.arange(len(column) + 1, dtype=np.int64) * column.type.list_size
        else:
            lengths = pc.fill_null(pc.list_value_length(column), 0)
            inner = np.concatenate(([0], np.cumsum(np.asarray(lengths, np.int64))))
        column = column.flatten()
        offsets = inner[offsets]
    if pa.types.is_boolean(column.type):
        column = pc.cast(column, pa.uint8())
    values = np.asarray(pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)
    return values, offsets


def _is_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)


def _lists(values: NDArray[np.float64], offsets: NDArray[np.int64]) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), pa.array(values))


def _name_lists(names: tuple[str, ...], widths: NDArray[np.int64]) -> pa.ListArray:
    """The names of each row's joints: all of them, or as many as the row has values."""
    shown = np.minimum(widths, len(names))
    offsets = np.concatenate(([0], np.cumsum(shown))).astype(np.int32)
    if len(names) == 0 or (shown == len(names)).all():
        indices = np.tile(np.arange(len(names), dtype=np.int32), len(shown))
    else:
        indices = (np.arange(offsets[-1]) - np.repeat(offsets[:-1], shown)).astype(np.int32)
    words = pa.DictionaryArray.from_arrays(pa.array(indices), pa.array(names, pa.string()))
    return pa.ListArray.from_arrays(pa.array(offsets), words)
