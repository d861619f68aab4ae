"""Walks records one after the other, where no index says where they are or the index lies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.formats.mcap.records import (
    MESSAGE_FIELDS_BYTES,
    MESSAGE_HEADER,
    PREFIX,
    BadRecord,
    ChunkHeader,
    Opcode,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from numpy.typing import NDArray

    from twinloop.formats.mcap.tape import Tape

#: Bytes looked at in one go, at most and at least (while records are longer than that and not wanted).
WINDOW = 8 << 20
_SMALL_WINDOW = 4096
#: A record that is read whole though it is no message is never longer than this.
_WHOLE = 64 << 20
#: Bytes of a record's content that are given along with it.
_HEAD = 512
_COMPRESSIONS = ("", "zstd", "lz4")
#: Headers are moved as plain bytes: numpy copies structured rows field by field, ten times slower.
_OPAQUE = np.dtype(f"V{MESSAGE_HEADER.itemsize}")


@dataclass(frozen=True, slots=True)
class Found:
    """Message records in one buffer: `buffer` (B,) uint8, their `positions` (N,) int64 in it.

    `base`: where the buffer starts on the tape. A message whose body was not wanted may reach beyond it.
    """

    buffer: NDArray[np.uint8]
    positions: NDArray[np.int64]
    base: int


@dataclass(frozen=True, slots=True)
class Other:
    """A record that is no message, with the content's first bytes (all, of schemas, channels, metadata)."""

    opcode: int
    offset: int
    length: int
    data: bytes

    @property
    def end(self) -> int:
        """First byte after it."""
        return self.offset + PREFIX.size + self.length


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes [offset, end) that hold no record.

    `cut`: the record that starts at `offset` is whole as far as it goes, but reaches beyond the end.
    """

    offset: int
    end: int
    cut: Other | None = None


def headers_at(buffer: NDArray[np.uint8], positions: NDArray[np.int64]) -> NDArray[np.void]:
    """The headers (N,) `MESSAGE_HEADER` of the records at `positions` (N,) in `buffer` (B,) uint8."""
    rows = np.ndarray((max(len(buffer) - _OPAQUE.itemsize + 1, 0),), _OPAQUE, buffer, strides=(1,))
    return rows[positions].view(MESSAGE_HEADER)


def picked_headers(headers: NDArray[np.void], rows: NDArray[np.int64]) -> NDArray[np.void]:
    """Some `rows` (K,) of message headers (N,)."""
    return headers.view(_OPAQUE)[rows].view(MESSAGE_HEADER)


def joined_headers(parts: Sequence[NDArray[np.void]]) -> NDArray[np.void]:
    """Message headers one after another."""
    return np.concatenate([part.view(_OPAQUE) for part in parts]).view(MESSAGE_HEADER)


def walk(
    tape: Tape,
    start: int,
    end: int,
    *,
    wanted: Callable[[int], bool] | None = None,
    known: Collection[int] = (),
    window: int = WINDOW,
) -> Iterator[Found | Other | Damage]:
    """All records in [start, end) of `tape`, in order.

    Args:
        wanted: whether the bodies of a channel's messages are; others are passed over unread where they are
            longer than what is read at a time. None: all are.
        known: channels that there are; only messages of these are believed after damage.
    """
    at = start
    size = window if wanted is None else _SMALL_WINDOW
    while at < end:
        view = tape.read(at, min(size, end - at))
        if not len(view):
            return
        base, messages, others, at = at, *_whole_records(view, at)
        yield from _in_order(view, base, messages, others)
        if at - base >= len(view):
            size = min(size * 2, window)
            continue
        step = _partial(tape, at, end, wanted)
        if step is None:
            cut = _cut(tape, at, end)
            found = end if _is_chunk(cut) else _next_record(tape, at + 1, end, known)
            yield Damage(at, found, cut if found == end else None)
            at = found
            continue
        item, at = step
        if item is not None:
            yield item
        size = _SMALL_WINDOW if at > base + len(view) and wanted is not None else min(size * 2, window)


def _whole_records(view: bytes | memoryview, base: int) -> tuple[list[int], list[tuple[int, int, int]], int]:
    """Positions of messages and (opcode, position, length) of others wholly in `view`; where it stopped."""
    messages: list[int] = []
    others: list[tuple[int, int, int]] = []
    unpack, add, limit, at = PREFIX.unpack_from, messages.append, len(view), 0
    while at + 9 <= limit:
        opcode, length = unpack(view, at)
        after = at + 9 + length
        if after > limit:
            break
        if opcode == 5:
            if length < MESSAGE_FIELDS_BYTES:
                break
            add(at)
        elif opcode == 0:
            break
        else:
            others.append((opcode, at, length))
        at = after
    return messages, others, base + at


def _in_order(
    view: bytes | memoryview, base: int, messages: list[int], others: list[tuple[int, int, int]]
) -> Iterator[Found | Other]:
    buffer = np.frombuffer(view, np.uint8)
    positions = np.asarray(messages, np.int64)
    done = 0
    for opcode, position, length in others:
        before = int(np.searchsorted(positions, position))
        if before > done:
            yield Found(buffer, positions[done:before], base)
            done = before
        content = bytes(view[position + PREFIX.size : position + PREFIX.size + min(length, _head(opcode))])
        yield Other(opcode, base + position, length, content)
    if done < len(positions):
        yield Found(buffer, positions[done:], base)


def _head(opcode: int) -> int:
    whole = (Opcode.SCHEMA, Opcode.CHANNEL, Opcode.METADATA, Opcode.STATISTICS, Opcode.HEADER)
    return _WHOLE if opcode in whole else _HEAD


def _partial(
    tape: Tape, at: int, end: int, wanted: Callable[[int], bool] | None
) -> tuple[Found | Other | None, int] | None:
    """The record at `at`, longer than the window, and where the next starts. None: there is no record."""
    prefix = tape.read(at, min(MESSAGE_HEADER.itemsize, end - at))
    if len(prefix) < PREFIX.size:
        return None
    opcode, length = PREFIX.unpack_from(prefix)
    after = at + PREFIX.size + length
    if not opcode or after > end:
        return None
    if opcode != Opcode.MESSAGE:
        data = bytes(tape.read(at + PREFIX.size, min(length, _head(opcode))))
        return Other(opcode, at, length, data), after
    if length < MESSAGE_FIELDS_BYTES or len(prefix) < MESSAGE_HEADER.itemsize:
        return None
    channel = int.from_bytes(prefix[9:11], "little")
    if wanted is None or wanted(channel):
        view = tape.read(at, after - at)
        whole = len(view) == after - at
    else:
        view = prefix
        whole = len(tape.read(after - 1, 1)) == 1
    if not whole:
        return None
    return Found(np.frombuffer(view, np.uint8), np.zeros(1, np.int64), at), after


def _cut(tape: Tape, at: int, end: int) -> Other | None:
    """The record at `at`, if it is one that merely reaches beyond the end."""
    head = bytes(tape.read(at, min(PREFIX.size + _HEAD, end - at)))
    if len(head) < PREFIX.size:
        return Other(0, at, 0, head)
    opcode, length = PREFIX.unpack_from(head)
    if not 0 < opcode <= Opcode.DATA_END or length >> 48:
        return None
    return Other(opcode, at, length, head[PREFIX.size :])


def _is_chunk(cut: Other | None) -> bool:
    """Whether it surely is a chunk: uncompressed, it is full of what looks like records outside chunks."""
    if cut is None or cut.opcode != Opcode.CHUNK:
        return False
    try:
        header = ChunkHeader.parse(cut.data[: ChunkHeader.MOST])
    except BadRecord:
        return False
    return header.compression in _COMPRESSIONS and header.fits(cut.length)


def _next_record(tape: Tape, at: int, end: int, known: Collection[int]) -> int:
    """The next place from `at` on where a record seems to start; `end` if there is none."""
    window, overlap = 1 << 20, 128
    while at < end:
        view = tape.read(at, min(window, end - at))
        if len(view) < PREFIX.size:
            return end
        raw = np.frombuffer(view, np.uint8)
        opcode, high = raw[:-8], raw[5:]
        likely = (opcode > 0) & (opcode <= Opcode.DATA_END)
        for byte in range(4):  # no record of 4 GiB or more
            likely &= high[byte : byte + len(opcode)] == 0
        for position in np.flatnonzero(likely).tolist():
            if _plausible(view, position, end - at, known):
                return at + int(position)
        if len(view) < window:
            return end
        at += window - overlap
    return end


def _plausible(view: bytes | memoryview, at: int, limit: int, known: Collection[int]) -> bool:
    """Whether a record starts at `at`, judged by its fields and by what follows it."""
    opcode, length = PREFIX.unpack_from(view, at)
    after = at + PREFIX.size + length
    content = view[at + PREFIX.size : after]
    if opcode == Opcode.CHUNK:
        return _is_chunk(Other(opcode, at, length, bytes(content[: ChunkHeader.MOST])))
    if after > limit:
        return False
    if opcode == Opcode.MESSAGE:
        if length < MESSAGE_FIELDS_BYTES or len(content) < 2:
            return False
        if known and int.from_bytes(content[:2], "little") not in known:
            return False
    if after + PREFIX.size > len(view):
        return opcode in (Opcode.MESSAGE, Opcode.MESSAGE_INDEX, Opcode.DATA_END) or after == limit
    following, following_length = PREFIX.unpack_from(view, after)
    return 0 < following <= Opcode.DATA_END and after + PREFIX.size + following_length <= limit
