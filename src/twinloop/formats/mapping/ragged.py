"""Arrow list columns as numpy: values with the start and length of each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Ragged:
    """N rows of any length: row i is ``values[start[i] : start[i] + length[i]]``. A null row has length 0."""

    values: NDArray[np.generic]
    start: NDArray[np.int64]
    length: NDArray[np.int64]

    def rows(self, rows: NDArray[np.int64], width: int) -> NDArray[np.generic]:
        """The rows (R,) of length `width` as a matrix (R, width)."""
        start = self.start[rows]
        if len(start) and start[-1] - start[0] == (len(start) - 1) * width and (np.diff(start) == width).all():
            return cast("NDArray[np.generic]", self.values[start[0] : start[-1] + width].reshape(-1, width))
        return cast("NDArray[np.generic]", self.values[start[:, None] + np.arange(width)])


def is_list(type_: pa.DataType) -> bool:
    """Whether an Arrow type is a list of any form."""
    return bool(pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_))


def is_number(type_: pa.DataType) -> bool:
    """Whether an Arrow type holds numbers or truth values."""
    return bool(
        pa.types.is_integer(type_)
        or pa.types.is_floating(type_)
        or pa.types.is_boolean(type_)
        or pa.types.is_decimal(type_)
    )


def is_numeric(type_: pa.DataType) -> bool:
    """Whether an Arrow type holds numbers, alone or in lists."""
    return is_number(type_.value_type) if is_list(type_) else is_number(type_)


def float_values(array: pa.Array) -> NDArray[np.float64]:
    """Numbers or truth values (N,) as float64; null is NaN."""
    return np.asarray(array.cast(pa.float64()).to_numpy(zero_copy_only=False))


def number_rows(array: pa.Array) -> Ragged:
    """Lists of numbers, as float64; null elements are NaN."""
    values, start, length = _spans(array)
    return Ragged(float_values(values), start, length)


def word_rows(array: pa.Array) -> tuple[Ragged, list[str]]:
    """Lists of words, as indices into the list of distinct words that comes with them."""
    values, start, length = _spans(array)
    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    indices = values.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return Ragged(indices, start, length), [str(word) for word in values.dictionary.to_pylist()]


def _spans(array: pa.Array) -> tuple[pa.Array, NDArray[np.int64], NDArray[np.int64]]:
    rows = len(array)
    if pa.types.is_fixed_size_list(array.type):
        width = array.type.list_size
        values = array.values
        start = (array.offset + np.arange(rows, dtype=np.int64)) * width
        length = np.full(rows, width, np.int64)
    else:
        values = array.values
        offsets = array.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
        start, length = offsets[:-1], np.diff(offsets)
    if array.null_count:
        length = np.where(array.is_null().to_numpy(zero_copy_only=False), 0, length)
    return values, start, length
