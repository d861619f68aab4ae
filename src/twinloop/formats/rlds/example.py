"""`tf.train.Example` on the wire: where each feature's list lies, and lists as arrays.

    Example { Features features = 1 }       Features { map<string, Feature> feature = 1 }
    Feature { BytesList = 1, FloatList = 2, Int64List = 3 }, each with the repeated field value = 1

(tensorflow/core/example/*.proto; https://protobuf.dev/programming-guides/encoding). Lists are packed or not.
Big lists are hopped over, never copied. Every length is held against the bytes around it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

BYTES, FLOAT, INT = 1, 2, 3
#: Enough for a tag, a length and the key of a map entry; longer keys are read again.
_PEEK = 256
_DELIMITED = 0x0A
_WORD = struct.Struct("<I").unpack_from


class BrokenExampleError(Exception):
    """Bytes that are no Example."""


@dataclass(frozen=True, slots=True)
class Field:
    """A feature's list: `form` is BYTES, FLOAT or INT; its wire bytes are [start, end) of the record."""

    form: int
    start: int
    end: int


def example_fields(read: Callable[[int, int], bytes], length: int) -> dict[str, Field]:
    """The features of an Example of `length` bytes, of which `read(at, size)` gives parts.

    Raises:
        BrokenExampleError: lengths or tags do not fit.
    """
    fields: dict[str, Field] = {}
    for start, end in _submessages(read, 0, length):
        for entry, entry_end in _submessages(read, start, end):
            name, field = _entry(read, entry, entry_end)
            if field is not None:
                fields[name] = field
    return fields


def _submessages(read: Callable[[int, int], bytes], at: int, end: int) -> list[tuple[int, int]]:
    """The spans of field 1 of the message in [at, end)."""
    spans = []
    while at < end:
        head = read(at, min(16, end - at))
        if head[:1] != b"\x0a":  # field 1, length-delimited
            raise BrokenExampleError(f"an unexpected tag at byte {at}")
        size, used = _varint(head, 1)
        at += used
        if size > end - at:
            raise BrokenExampleError(f"a length of {size} at byte {at} reaches past its message")
        spans.append((at, at + size))
        at += size
    return spans


def _entry(read: Callable[[int, int], bytes], at: int, end: int) -> tuple[str, Field | None]:
    """A map entry: its key, and where its list lies (None: a feature without one)."""
    name, field = "", None
    while at < end:
        head = read(at, min(_PEEK, end - at))
        size, used = _varint(head, 1)
        if size > end - at - used:
            raise BrokenExampleError(f"a length of {size} at byte {at} reaches past its map entry")
        if head[0] == 0x0A:
            text = head[used : used + size] if used + size <= len(head) else read(at + used, size)
            name = text.decode("utf-8", "replace")
        elif head[0] == 0x12:
            field = _list(read, at + used, at + used + size)
        else:
            raise BrokenExampleError(f"an unexpected tag {head[0]} in the map entry at byte {at}")
        at += used + size
    return name, field


def _list(read: Callable[[int, int], bytes], at: int, end: int) -> Field | None:
    """The list in a Feature; the last of a oneof counts."""
    field = None
    while at < end:
        head = read(at, min(16, end - at))
        form = head[0] >> 3
        size, used = _varint(head, 1)
        if head[0] & 7 != 2 or form not in (BYTES, FLOAT, INT) or size > end - at - used:
            raise BrokenExampleError(f"a feature at byte {at} holds no list")
        field = Field(form, at + used, at + used + size)
        at += used + size
    return field


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """(value, place after it)."""
    value = shift = 0
    for place in range(at, min(at + 10, len(data))):
        byte = data[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place + 1
        shift += 7
    raise BrokenExampleError("a number that does not end")


def floats(wire: bytes) -> NDArray[np.float32]:
    """The values of a FloatList.

    Raises:
        BrokenExampleError: it is none.
    """
    data = np.frombuffer(wire, np.uint8)
    if len(data) % 5 == 0 and (data[::5] == 0x0D).all():  # a tag before each value
        return np.ascontiguousarray(data.reshape(-1, 5)[:, 1:]).reshape(-1).view("<f4")
    packed = _packed(wire)
    if len(packed) % 4:
        raise BrokenExampleError("packed floats that are not whole")
    return np.frombuffer(packed, "<f4")


def integers(wire: bytes) -> NDArray[np.int64]:
    """The values of an Int64List.

    Raises:
        BrokenExampleError: it is none.
    """
    if wire[:1] == b"\x08":  # a tag before each value
        pairs = varints(wire)
        if len(pairs) % 2 or (pairs[::2] != 8).any():
            raise BrokenExampleError("a list of integers with other fields in it")
        return pairs[1::2]
    return varints(_packed(wire))


def _packed(wire: bytes) -> bytes:
    """The bytes of a packed list, of all its runs."""
    runs, at = [], 0
    while at < len(wire):
        if wire[at] != _DELIMITED:
            raise BrokenExampleError("a list with other fields in it")
        size, at = _varint(wire, at + 1)
        if size > len(wire) - at:
            raise BrokenExampleError("a packed list that reaches past its feature")
        runs.append(wire[at : at + size])
        at += size
    return runs[0] if len(runs) == 1 else b"".join(runs)


def varints(data: bytes) -> NDArray[np.int64]:
    """All varints of `data` as int64.

    Raises:
        BrokenExampleError: the last does not end, or one is longer than ten bytes.
    """
    octets = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(octets < 0x80)
    if len(ends) == len(octets):
        return octets.astype(np.int64)
    if not len(ends) or ends[-1] != len(octets) - 1:
        raise BrokenExampleError("a number that does not end")
    starts = np.concatenate(([0], ends[:-1] + 1))
    lengths = ends - starts + 1
    if lengths.max() > 10:
        raise BrokenExampleError("a number of more than ten bytes")
    place = np.arange(len(octets)) - np.repeat(starts, lengths)
    parts = (octets & 0x7F).astype(np.uint64) << (7 * place).astype(np.uint64)
    return np.add.reduceat(parts, starts).view(np.int64)


def _alike(
    record: bytes | memoryview, start: int, end: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """As `byte_places`, where all values are short and of one length; None: they are not."""
    size = record[start + 1] if end - start > 1 else 0x80
    if size > 0x7F or (end - start) % (size + 2):
        return None
    rows = np.frombuffer(record, np.uint8)[start:end].reshape(-1, size + 2)
    if (rows[:, 0] != _DELIMITED).any() or (rows[:, 1] != size).any():
        return None
    return start + 2 + np.arange(len(rows)) * (size + 2), np.full(len(rows), size, np.int64)


def byte_places(
    record: bytes | memoryview, start: int, end: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Offsets and lengths of the values of the BytesList in [start, end) of a record.

    Raises:
        BrokenExampleError: it is none.
    """
    alike = _alike(record, start, end)
    if alike is not None:
        return alike
    tags: list[int] = []
    add, word_at, last = tags.append, _WORD, end - 4
    at = start
    while at < end:
        add(at)
        # The tag and a length of two or three bytes at once: most pictures have between 128 bytes and 2 MB.
        word = word_at(record, at)[0] if at <= last else 0
        if word & 0x808080FF == 0x0080800A:
            at += 4 + (word >> 8 & 0x7F | word >> 9 & 0x3F80 | word >> 10 & 0x1FC000)
        elif word & 0x8080FF == 0x00800A:
            at += 3 + (word >> 8 & 0x7F | word >> 9 & 0x3F80)
        else:
            head = bytes(record[at : min(at + 12, end)])
            if head[0] != _DELIMITED:
                raise BrokenExampleError(f"an unexpected tag at byte {at}")
            size, used = _varint(head, 1)
            at += used + size
    if at != end:
        raise BrokenExampleError("a list of bytes that reaches past its feature")
    starts = np.array(tags, np.int64)
    spans = np.diff(starts, append=end)
    # A tag, then a length of a byte for each seven bits of it.
    heads = 2 + (spans > 2 + 0x7F) + (spans > 3 + 0x3FFF) + (spans > 4 + 0x1FFFFF) + (spans > 5 + 0xFFFFFFF)
    if (np.frombuffer(record, np.uint8)[starts + heads - 1] > 0x7F).any():
        raise BrokenExampleError("a length that is longer than it must be")
    return starts + heads, spans - heads
