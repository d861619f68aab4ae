"""Arrays of steps as the columns of a stream's kind."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from twinloop.core.kinds import Kind
from twinloop.core.stream import Payload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

#: More elements than this are kept as one list column, not as a column each.
FLAT_ELEMENTS = 128
#: Rows of columns that are the same everywhere are made for at least so many.
_ROOM = 4096

#: Raw pictures: (type, channels) -> ROS's name of the encoding.
_RAW = {
    ("uint8", 1): "mono8",
    ("uint8", 3): "rgb8",
    ("uint8", 4): "rgba8",
    ("uint16", 1): "16UC1",
    ("float32", 1): "32FC1",
}
_MAGIC = (
    (b"\xff\xd8", "jpeg"),
    (b"\x89PNG", "png"),
    (b"RIFF", "webp"),
    (b"II*\0", "tiff"),
    (b"MM\0*", "tiff"),
)


def kind_of_numbers(shape: Sequence[int]) -> Kind:
    """The kind of numbers that have `shape` in each step."""
    return Kind.SCALAR if math.prod(shape) == 1 else Kind.TABLE


def number_columns(values: NDArray[Any], names: Sequence[str] = ()) -> dict[str, pa.Array]:
    """Columns of `values` (N, ...): scalar `value`; or one column an element, named or ``dim_0``, ``dim_1``...;
    or, of many elements, one list column `values`."""
    width = math.prod(values.shape[1:])
    if values.dtype == np.float16:
        values = values.astype(np.float32)
    if width == 1:
        return {"value": pa.array(np.ascontiguousarray(values.reshape(-1), np.float64))}
    if width == 0 or width > FLAT_ELEMENTS:
        flat = np.ascontiguousarray(values).reshape(-1)
        return {"values": lists(flat, np.arange(len(values) + 1) * width)}
    columns = np.ascontiguousarray(values.reshape(len(values), width).T)
    names = names if len(names) == width else [f"dim_{k}" for k in range(width)]
    return {name: pa.array(columns[k]) for k, name in enumerate(names)}


def joint_columns(
    values: NDArray[Any], names: Sequence[str] = (), field: str = "position"
) -> dict[str, pa.Array]:
    """Columns `name` and `field` of joint values (N, J); without names they are ``dim_0``, ``dim_1``..."""
    count, width = values.shape[0], math.prod(values.shape[1:])
    words = list(names) if len(names) == width else [f"dim_{k}" for k in range(width)]
    offsets = pa.array((np.arange(count + 1) * width).astype(np.int32))
    codes = pa.array(np.tile(np.arange(width, dtype=np.int32), count))
    named = pa.DictionaryArray.from_arrays(codes, pa.array(words, pa.string()))
    flat = np.ascontiguousarray(values, np.float64).reshape(-1)
    return {
        "name": pa.ListArray.from_arrays(offsets, named),
        field: pa.ListArray.from_arrays(offsets, pa.array(flat)),
    }


def lists(flat: NDArray[Any], offsets: NDArray[np.int64]) -> pa.ListArray:
    """A list column: row k is flat[offsets[k] : offsets[k + 1]]."""
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), pa.array(flat))


@lru_cache(maxsize=64, typed=True)
def _repeated(value: str | int | bool, rows: int) -> pa.Array:
    """A column that says the same in every row: texts as a dictionary, numbers as int32."""
    if isinstance(value, str):
        codes = pa.array(np.zeros(rows, np.int32))
        return pa.DictionaryArray.from_arrays(codes, pa.array([value], pa.string()))
    return pa.array(np.full(rows, value, bool if isinstance(value, bool) else np.int32))


def constant(value: str | int | bool, rows: int) -> pa.Array:
    """The first rows of a column that says the same in every row, made once for many lengths."""
    room = max(_ROOM, 1 << (rows - 1).bit_length() if rows else 1)
    return _repeated(value, room)[:rows]


def picture_columns(
    rows: int, width: int, height: int, encoding: str, step: int | None = None
) -> dict[str, pa.Array]:
    """The columns of `rows` pictures of one size; `step`: bytes a row of raw ones."""
    columns = {
        "frame_id": constant("", rows),
        "width": constant(width, rows),
        "height": constant(height, rows),
        "encoding": constant(encoding, rows),
    }
    if step is not None:
        columns["step"] = constant(step, rows)
        columns["is_bigendian"] = constant(False, rows)
    return columns


def raw_encoding(dtype: np.dtype[Any], shape: Sequence[int]) -> str | None:
    """ROS's name for pictures of `shape` (H, W) or (H, W, channels); None: they are no pictures."""
    if len(shape) not in (2, 3):
        return None
    return _RAW.get((dtype.name, shape[2] if len(shape) == 3 else 1))


def raw_payload(images: NDArray[Any]) -> Payload:
    """Raw pictures (N, H, W[, channels]) as bytes by reference."""
    size = images[0].nbytes if len(images) else 0
    buffer = np.ascontiguousarray(images).reshape(-1).view(np.uint8)
    return Payload(buffer, np.arange(len(images), dtype=np.int64) * size, np.full(len(images), size, np.int64))


def codec_of(head: bytes) -> str:
    """The codec of a compressed picture by its first bytes; empty: none that is known."""
    return next((codec for magic, codec in _MAGIC if head.startswith(magic)), "")
