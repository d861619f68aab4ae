"""A feature's values in one record, as the columns of its stream."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from twinloop.core.kinds import Kind
from twinloop.core.stream import Payload
from twinloop.formats.rlds.example import BYTES, FLOAT, BrokenExampleError, byte_places, floats, integers
from twinloop.formats.ros.gather import gather_pieces
from twinloop.formats.steps.columns import (
    codec_of,
    kind_of_numbers,
    lists,
    number_columns,
    picture_columns,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from twinloop.formats.rlds.example import Field
    from twinloop.formats.rlds.features import Leaf

#: Keys of sequences within a step: https://www.tensorflow.org/datasets/api_docs (ragged features).
FLAT, LENGTHS = "ragged_flat_values", "ragged_row_lengths_0"


@dataclass(frozen=True, slots=True)
class Record:
    """One Example: its bytes and where each feature lies in them."""

    data: memoryview
    fields: Mapping[str, Field]

    def wire(self, field: Field) -> bytes:
        """The wire bytes of a list."""
        return bytes(self.data[field.start : field.end])


@dataclass(frozen=True, slots=True)
class Values:
    """Columns of R rows. `row` (R,): the step of each, None: row k is step k."""

    columns: dict[str, pa.Array]
    count: int
    payload: Payload | None = None
    row: NDArray[np.int64] | None = None


def kind_of(leaf: Leaf) -> Kind | None:
    """The kind of stream that a feature makes; None: its values cannot be read."""
    if leaf.ranks > 1:
        return None
    if leaf.form == "picture":
        if leaf.dtype == "float32":
            return Kind.RAW  # four bytes of a float in the four channels of a PNG
        return Kind.DEPTH if leaf.dtype == "uint16" and leaf.shape[2:] in ((), (1,)) else Kind.IMAGE
    if leaf.form == "text":
        return Kind.TEXT if leaf.size == 1 else None
    if leaf.dtype.startswith(("complex", "object", "variant")):
        return None
    return Kind.TABLE if leaf.size is None else kind_of_numbers(leaf.shape)


def keys_of(leaf: Leaf) -> tuple[str, ...]:
    """The keys of a record that hold a feature."""
    return (f"{leaf.key}/{FLAT}", f"{leaf.key}/{LENGTHS}") if leaf.ranks else (leaf.key,)


def values_of(leaf: Leaf, record: Record, rows: int) -> Values:
    """The values of a feature in `rows` steps.

    Raises:
        BrokenExampleError: they are not what features.json says, or not as many.
    """
    fields = [record.fields[key] for key in keys_of(leaf)]
    if leaf.form == "picture":
        return _pictures(leaf, record, fields, rows)
    if leaf.form == "text":
        return Values({"text": _texts(leaf, record, fields[0], rows)}, rows)
    if leaf.encoding != "none":
        return Values(number_columns(_unpacked(leaf, record, fields[0], rows)), rows)
    flat = numbers(record.wire(fields[0]), fields[0], leaf.dtype)
    if leaf.ranks:
        lengths = integers(record.wire(fields[1]))
        width = int(np.prod([s for s in leaf.shape if s > 0], dtype=np.int64)) if leaf.shape else 1
        offsets = _offsets(lengths, rows) * width
        if offsets[-1] != len(flat):
            raise BrokenExampleError(f"{leaf.key} has {len(flat)} values, its lengths say {offsets[-1]}")
        return Values({"values": lists(flat, offsets)}, rows)
    if leaf.size is None:  # one length for all steps of the episode, or they could not be told apart
        if rows and len(flat) % rows:
            raise BrokenExampleError(f"{leaf.key} has {len(flat)} values in {rows} steps")
        return Values({"values": lists(flat, np.arange(rows + 1) * (len(flat) // max(rows, 1)))}, rows)
    if len(flat) != rows * leaf.size:
        raise BrokenExampleError(f"{leaf.key} has {len(flat)} values, not {rows} times {leaf.size}")
    return Values(number_columns(flat.reshape(rows, leaf.size)), rows)


def one_a_step(leaf: Leaf, record: Record, rows: int) -> pa.Array:
    """One number a step in its own type; nulls where the record does not have the feature.

    Raises:
        BrokenExampleError: there are not as many as steps.
    """
    field = record.fields.get(leaf.key)
    if field is None:
        return pa.nulls(rows, pa.from_numpy_dtype(np.dtype(leaf.dtype)))
    flat = numbers(record.wire(field), field, leaf.dtype)
    if len(flat) != rows:
        raise BrokenExampleError(f"{leaf.key} has {len(flat)} values in {rows} steps")
    return pa.array(flat)


def numbers(wire: bytes, field: Field, dtype: str) -> NDArray[Any]:
    """A list of numbers in its declared type.

    Raises:
        BrokenExampleError: it is a list of bytes, or does not parse.
    """
    if field.form == BYTES:
        raise BrokenExampleError("bytes where numbers are declared")
    flat: NDArray[Any] = floats(wire) if field.form == FLOAT else integers(wire)
    try:
        declared = np.dtype(dtype)
    except TypeError:
        return flat
    return flat if declared.kind == "f" and field.form == FLOAT else flat.astype(declared)


def _offsets(lengths: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    if len(lengths) != rows or (len(lengths) and (lengths.min() < 0 or lengths.max() >= 2**31)):
        raise BrokenExampleError(f"{len(lengths)} lengths in {rows} steps")
    return np.concatenate(([0], np.cumsum(lengths)))


def _pictures(leaf: Leaf, record: Record, fields: list[Field], rows: int) -> Values:
    if fields[0].form != BYTES:
        raise BrokenExampleError(f"{leaf.key} holds numbers where pictures are declared")
    offset, length = byte_places(record.data, fields[0].start, fields[0].end)
    row = None
    if leaf.ranks:
        lengths = integers(record.wire(fields[1]))
        if _offsets(lengths, rows)[-1] != len(offset):
            raise BrokenExampleError(f"{leaf.key} has {len(offset)} pictures, its lengths say {lengths.sum()}")
        row = np.repeat(np.arange(rows), lengths)
    elif len(offset) != rows:
        raise BrokenExampleError(f"{leaf.key} has {len(offset)} pictures in {rows} steps")
    count = len(offset)
    payload = Payload(np.frombuffer(record.data, np.uint8), offset, length)
    if kind_of(leaf) is Kind.RAW:
        return Values({}, count, payload, row)
    encoding = (codec_of(bytes(payload[0][:8])) if count else "") or leaf.encoding or "png"
    height, width = (max(size, 0) for size in (*leaf.shape[:2], 0, 0)[:2])
    return Values(picture_columns(count, width, height, encoding), count, payload, row)


def _texts(leaf: Leaf, record: Record, field: Field, rows: int) -> pa.Array:
    if field.form != BYTES:
        raise BrokenExampleError(f"{leaf.key} holds numbers where texts are declared")
    offset, length = byte_places(record.data, field.start, field.end)
    if len(offset) != rows:
        raise BrokenExampleError(f"{leaf.key} has {len(offset)} texts in {rows} steps")
    joined = gather_pieces(np.frombuffer(record.data, np.uint8), offset, length)
    ends = np.concatenate(([0], np.cumsum(length))).astype(np.int32)
    texts = pa.StringArray.from_buffers(rows, pa.py_buffer(ends), pa.py_buffer(np.ascontiguousarray(joined)))
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:  # no UTF-8
        spans = zip(offset.tolist(), length.tolist(), strict=True)
        return pa.array([str(record.data[o : o + n], "utf-8", "replace") for o, n in spans], pa.string())
    return texts


def _unpacked(leaf: Leaf, record: Record, field: Field, rows: int) -> NDArray[Any]:
    """Numbers kept as the bytes of their array, one text of bytes a step, perhaps zlib."""
    if field.form != BYTES or leaf.size is None:
        raise BrokenExampleError(f"{leaf.key} is not kept as {leaf.encoding}, or its size differs")
    dtype = np.dtype(leaf.dtype)
    wanted = leaf.size * dtype.itemsize
    offset, length = byte_places(record.data, field.start, field.end)
    if len(offset) != rows:
        raise BrokenExampleError(f"{leaf.key} has {len(offset)} values in {rows} steps")
    pieces = []
    for start, size in zip(offset.tolist(), length.tolist(), strict=True):
        piece = bytes(record.data[start : start + size])
        if leaf.encoding == "zlib":
            try:
                piece = zlib.decompressobj().decompress(piece, wanted + 1)
            except zlib.error as error:
                raise BrokenExampleError(f"{leaf.key} does not unpack: {error}") from error
        if len(piece) != wanted:
            raise BrokenExampleError(f"{leaf.key} has a value of {len(piece)} bytes, not {wanted}")
        pieces.append(piece)
    return np.frombuffer(b"".join(pieces), dtype).reshape(rows, leaf.size)
