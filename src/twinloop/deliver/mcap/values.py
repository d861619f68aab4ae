"""Arrow columns as what encoders take: numbers, texts, lists of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinloop.deliver.mcap.wire import Ragged, spread

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Texts:
    """N texts by number: text i is ``vocabulary[codes[i]]``."""

    codes: NDArray[np.int64]
    vocabulary: tuple[bytes, ...]

    def runs(self, end: bytes = b"") -> Ragged:
        """The texts' bytes, each with `end` behind it."""
        words = Ragged.of_bytes([text + end for text in self.vocabulary])
        return words.take(self.codes)


@dataclass(frozen=True, slots=True)
class Lists:
    """N lists one after the other: `counts` (N,) elements each, `values` all of them."""

    counts: NDArray[np.int64]
    values: NDArray[np.generic] | Texts


@dataclass(frozen=True, slots=True)
class Group:
    """N lists of structures: `counts` (N,) elements each, `values` the elements' own by path."""

    counts: NDArray[np.int64]
    values: Mapping[str, Value]


#: Of N messages: numbers (N,) or (N, K), texts, lists, structures, bulk bytes.
Value: TypeAlias = "NDArray[np.generic] | Texts | Lists | Group | Ragged"


def take(value: Value, rows: NDArray[np.int64]) -> Value:
    """The values at `rows`."""
    match value:
        case Texts():
            return Texts(value.codes[rows], value.vocabulary)
        case Lists():
            starts = np.cumsum(value.counts) - value.counts
            inside = spread(starts[rows], value.counts[rows])
            return Lists(value.counts[rows], take(value.values, inside))  # type: ignore[arg-type]
        case Ragged():
            return value.take(rows)
        case Group():
            starts = np.cumsum(value.counts) - value.counts
            inside = spread(starts[rows], value.counts[rows])
            return Group(value.counts[rows], {path: take(v, inside) for path, v in value.values.items()})
    return value[rows]


def value_of(array: pa.Array) -> Value:
    """An Arrow column as values; nulls as zero, as empty text, as an empty list.

    Columns of other types than numbers, texts and lists of them become JSON texts.
    """
    kind = array.type
    if pa.types.is_dictionary(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _texts(array)
    if pa.types.is_fixed_size_list(kind) and is_plain(kind.value_type):
        values = _numbers(_filled(array).flatten())
        return values.reshape(len(array), kind.list_size)
    if pa.types.is_list(kind) and (is_plain(kind.value_type) or is_text(kind.value_type)):
        counts = np.asarray(pc.fill_null(pc.list_value_length(array), 0), np.int64)
        flat = array.flatten()
        return Lists(counts, _texts(flat) if is_text(kind.value_type) else _numbers(flat))
    if pa.types.is_binary(kind):
        return Ragged.of_bytes([value.as_py() or b"" for value in array])
    if is_plain(kind):
        return _numbers(array)
    return _texts(pa.array([json.dumps(value, default=str) for value in array.to_pylist()], pa.string()))


def is_plain(kind: pa.DataType) -> bool:
    """Whether values are numbers or booleans that numpy holds."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def is_text(kind: pa.DataType) -> bool:
    """Whether values are texts, coded or not."""
    return bool(
        pa.types.is_string(kind) or (pa.types.is_dictionary(kind) and pa.types.is_string(kind.value_type))
    )


def _numbers(array: pa.Array) -> NDArray[np.generic]:
    if array.null_count:
        array = array.fill_null(False if pa.types.is_boolean(array.type) else 0)
    return array.to_numpy(zero_copy_only=False)


def _filled(array: pa.FixedSizeListArray) -> pa.FixedSizeListArray:
    """The lists with those that are null as lists of zeros."""
    if not array.null_count:
        return array
    size = array.type.list_size
    zeros = pa.scalar([0] * size, array.type)
    return pc.if_else(array.is_valid(), array, zeros)


def _texts(array: pa.Array) -> Texts:
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    words = [(word or "").encode() for word in array.dictionary.to_pylist()]
    codes = np.asarray(array.indices.fill_null(len(words)), np.int64)
    return Texts(codes, (*words, b""))
