"""The wire format of protobuf, read for all messages of a buffer in step (https://protobuf.dev/programming-guides/encoding).

Every message keeps its own place; one step takes one field of each. There are as many steps as the longest
message has fields, and each is a few numpy calls.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.formats.ros.gather import gather_pieces

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
#: When so few messages are left after so many steps, each is finished by itself.
_FEW, _MANY_STEPS = 16, 32


@dataclass(frozen=True, slots=True)
class Occurrences:
    """Where a field occurs with one wire type, in wire order within each message.

    Attributes:
        row: (K,) the message. start: (K,) the place of a fixed or length-delimited value.
        value: (K,) uint64, the varint, or the number of bytes of a length-delimited value.
    """

    row: Ints
    start: Ints
    value: NDArray[np.uint64]


def read_fields(
    buffer: NDArray[np.uint8], start: Ints, end: Ints, wanted: Collection[int]
) -> tuple[dict[tuple[int, int], Occurrences], NDArray[np.bool_]]:
    """The fields of the messages in [start, end) (N,) of `buffer` (B,) uint8.

    Gives (field number, wire type) -> occurrences of the `wanted` numbers, and which messages (N,) are broken.
    """
    at = start.copy()
    broken = np.zeros(len(start), bool)
    found: dict[tuple[int, int], list[tuple[Ints, Ints, NDArray[np.uint64]]]] = defaultdict(list)
    active = np.flatnonzero(at < end)
    step = 0
    while len(active):
        if step > _MANY_STEPS and len(active) < _FEW:
            for row in active.tolist():
                broken[row] = not _read_one(buffer, row, int(at[row]), int(end[row]), wanted, found)
            break
        tag, after, fine = read_varints(buffer, at[active], end[active])
        value, value_at, after, fine = _values(buffer, tag, after, end[active], fine)
        for one in _distinct(tag[fine]):
            number, wire = one >> 3, one & 7
            if number in wanted:
                mine = fine & (tag == one)
                found[number, wire].append((active[mine], value_at[mine], value[mine]))
        at[active] = after
        broken[active[~fine]] = True
        active = active[fine & (after < end[active])]
        step += 1
    return {key: _joined(parts) for key, parts in found.items()}, broken


def read_varints(
    buffer: NDArray[np.uint8], at: Ints, end: Ints
) -> tuple[NDArray[np.uint64], Ints, NDArray[np.bool_]]:
    """The varints at `at` (N,), the places after them, and which of them end before `end` (N,)."""
    fine = at < end
    first = buffer[np.where(fine, at, 0)] if len(buffer) else np.zeros(len(at), np.uint8)
    value = (first & 0x7F).astype(np.uint64)
    after = at + 1
    more = np.flatnonzero(fine & (first >= 0x80))
    shift = 7
    while len(more) and shift < 70:
        inside = after[more] < end[more]
        fine[more[~inside]] = False
        more = more[inside]
        byte = buffer[after[more]]
        value[more] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
        after[more] += 1
        more = more[byte >= 0x80]
        shift += 7
    fine[more] = False
    return value, after, fine


def unpack_varints(
    buffer: NDArray[np.uint8], start: Ints, length: Ints
) -> tuple[NDArray[np.uint64], Ints, NDArray[np.bool_]]:
    """All varints of packed fields: values, how many each field (N,) has, and which fields end cleanly."""
    data = gather_pieces(buffer, start, length)
    last = np.flatnonzero(data < 0x80)
    edges = np.cumsum(length)
    clean = length == 0
    filled = np.flatnonzero(length)
    clean[filled] = data[edges[filled] - 1] < 0x80
    before = np.searchsorted(last, edges - length)
    count = np.searchsorted(last, edges) - before
    first = np.concatenate([np.zeros(1, np.int64), last[:-1] + 1]) if len(last) else last
    size = last - first + 1
    value = np.zeros(len(last), np.uint64)
    for byte in range(min(int(size.max(initial=0)), 10)):
        reaching = np.flatnonzero(size > byte)
        bits = (data[first[reaching] + byte] & 0x7F).astype(np.uint64)
        value[reaching] |= bits << np.uint64(7 * byte)
    return value, count, clean


def unzigzag(value: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Signed integers from their zigzag form."""
    return (value >> np.uint64(1)).astype(np.int64) ^ -(value & np.uint64(1)).astype(np.int64)


def _values(
    buffer: NDArray[np.uint8],
    tag: NDArray[np.uint64],
    at: Ints,
    end: Ints,
    fine: NDArray[np.bool_],
) -> tuple[NDArray[np.uint64], Ints, Ints, NDArray[np.bool_]]:
    """What follows each tag: its value (a length, for bytes), where its bytes are, the place after it."""
    wire = (tag & np.uint64(7)).astype(np.int64)
    fine = fine & (tag >= 8) & ((wire <= LENGTH) | (wire == FIXED32))
    value = np.zeros(len(tag), np.uint64)
    value_at, after = at.copy(), at.copy()
    after[wire == FIXED64] += 8
    after[wire == FIXED32] += 4
    counted = np.flatnonzero(fine & ((wire == VARINT) | (wire == LENGTH)))
    if len(counted):
        number, next_at, ends = read_varints(buffer, at[counted], end[counted])
        value[counted], value_at[counted], after[counted] = number, next_at, next_at
        fine[counted] &= ends
        sized = wire[counted] == LENGTH
        bytes_left = (end[counted] - next_at).clip(0).astype(np.uint64)
        fits = ~sized | (number <= bytes_left)
        fine[counted] &= fits
        longer = counted[sized & fits]
        after[longer] += value[longer].astype(np.int64)
    fine &= after <= end
    return value, value_at, after, fine


def _read_one(
    buffer: NDArray[np.uint8],
    row: int,
    at: int,
    end: int,
    wanted: Collection[int],
    found: dict[tuple[int, int], list[tuple[Ints, Ints, NDArray[np.uint64]]]],
) -> bool:
    """The fields of one message, one by one; whether it is whole."""
    view = memoryview(buffer[at:end].tobytes())
    taken: dict[tuple[int, int], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    place, whole = 0, True
    while place < len(view):
        tag, place = _varint(view, place)
        wire, value, value_at = tag & 7, 0, place
        if wire == VARINT:
            value, place = _varint(view, place)
        elif wire == LENGTH:
            value, place = _varint(view, place)
            value_at, place = place, place + value
        elif wire in (FIXED64, FIXED32):
            place += 8 if wire == FIXED64 else 4
        whole = tag >= 8 and wire in (VARINT, FIXED64, LENGTH, FIXED32) and place <= len(view)
        if not whole:
            break
        if tag >> 3 in wanted:
            places, values = taken[tag >> 3, wire]
            places.append(at + value_at)
            values.append(value & 0xFFFF_FFFF_FFFF_FFFF)
    for key, (places, values) in taken.items():
        rows = np.full(len(places), row, np.int64)
        found[key].append((rows, np.array(places, np.int64), np.array(values, np.uint64)))
    return whole


def _varint(view: memoryview, at: int) -> tuple[int, int]:
    """The varint at `at` and the place after it; a place beyond the view where it is cut off or too long."""
    value = shift = 0
    while at < len(view) and shift < 70:
        byte = view[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
    return 0, len(view) + 1


def _distinct(tags: NDArray[np.uint64]) -> list[int]:
    if not len(tags):
        return []
    if (tags == tags[0]).all():
        return [int(tags[0])]
    return np.unique(tags).tolist()  # type: ignore[no-any-return]


def _joined(parts: list[tuple[Ints, Ints, NDArray[np.uint64]]]) -> Occurrences:
    row, start, value = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    if len(parts) > 1:
        order = np.argsort(row, kind="stable")
        row, start, value = row[order], start[order], value[order]
    return Occurrences(row, start, value)
