"""Arrow columns of the forms that the kinds' layouts ask for, made of numpy arrays and words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


def vectors(values: ArrayLike) -> pa.Array:
    """Rows (N, K) as ``fixed_size_list<double>[K]``."""
    rows = np.ascontiguousarray(values, np.float64)
    return pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), rows.shape[1])


def words(values: Sequence[str | None] | pa.Array) -> pa.Array:
    """Words (N,) as ``dictionary<string>``."""
    return pa.array(values, pa.string()).dictionary_encode()


def constant(word: str, count: int) -> pa.Array:
    """One word for each of `count` rows, as ``dictionary<string>``."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array([word]))


def numbers(values: ArrayLike, type: pa.DataType) -> pa.Array:
    """Numbers (N,) as an Arrow column of a type that the layouts name."""
    return pa.array(np.asarray(values), type)


def vectors_or_null(values: ArrayLike) -> pa.Array:
    """As `vectors`, where a row with a NaN in it is none."""
    rows = np.ascontiguousarray(values, np.float64)
    missing = np.isnan(rows).any(axis=1)
    if not missing.any():
        return vectors(rows)
    return pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), rows.shape[1], mask=pa.array(missing))
