"""Network captures: the records of a pcap or pcapng file, block by block.

Facts: the drafts draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import UnreadableError, Where
from twinloop.core.recording import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.formats.notes import Notes

_CLASSIC = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
_NEXT = b"\x0a\x0d\x0d\x0a"
_NEXT_ORDERS = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}
_INTERFACE, _SIMPLE, _ENHANCED = 1, 3, 6
#: Bytes read at once; no record is longer than the second.
_BLOCK_BYTES, _LONGEST = 8 << 20, 1 << 20
#: After a broken record, this far is looked for the next; its time may be this many seconds away.
_SEARCH_BYTES, _SEARCH_S = 1 << 20, 86_400


def is_capture(head: bytes) -> bool:
    """Whether a file that starts with `head` is a pcap or pcapng file."""
    if head[:4] in _CLASSIC:
        return len(head) >= 24
    return head[:4] == _NEXT and head[8:12] in _NEXT_ORDERS


@dataclass(frozen=True, slots=True)
class Records:
    """N captured packets in one buffer.

    `buffer` (B,) uint8; `start`, `length` (N,) int64 into it; `whole` (N,) bool: not cut by the capture;
    `time_ns` (N,) int64 on the Unix clock, 0 where the capture gives none; `link` (N,) int64 link types.
    `at`: where the buffer lies in the file.
    """

    buffer: NDArray[np.uint8]
    start: NDArray[np.int64]
    length: NDArray[np.int64]
    whole: NDArray[np.bool_]
    time_ns: NDArray[np.int64]
    link: NDArray[np.int64]
    at: int


def read_capture(path: Path, notes: Notes, most_bytes: int | None = None) -> Iterator[Records]:
    """The packets of a capture in the file's order, up to `most_bytes` of it (None: all).

    Raises:
        UnreadableError: it is no capture, or the system refuses to read it.
    """
    try:
        with path.open("rb") as file:
            head = file.read(24)
            if not is_capture(head):
                raise UnreadableError("it is no network capture", where=str(path), expected="pcap or pcapng")
            size = os.fstat(file.fileno()).st_size
            walk = _Classic(path, notes, head) if head[:4] in _CLASSIC else _Next(path, notes)
            at = walk.first
            end = size if most_bytes is None else min(size, most_bytes)
            while at < end:
                file.seek(at)
                block = file.read(min(_BLOCK_BYTES, end - at))
                if not block:
                    break
                found = walk.records(block, at, ended=at + len(block) >= size)
                if found.rows:
                    yield found.records(block, at)
                if not found.used:
                    if at + len(block) >= end or len(block) < _BLOCK_BYTES:
                        break
                    walk.give_up(at)
                    break
                at += found.used
    except OSError as error:
        raise UnreadableError(f"the system refuses to read it: {error.strerror}", where=str(path)) from error


@dataclass(slots=True)
class _Found:
    """Records of a block: (start, length, whole, time, link) each, and the bytes that they took."""

    rows: list[tuple[int, int, bool, int, int]] = field(default_factory=list)
    used: int = 0

    def records(self, block: bytes, at: int) -> Records:
        start, length, whole, time_ns, link = (
            np.array(column, np.int64) for column in zip(*self.rows, strict=True)
        )
        buffer = np.frombuffer(block, np.uint8)
        return Records(buffer, start, length, whole.astype(np.bool_), time_ns, link, at)


class _Classic:
    """pcap: a header of 24 bytes, then records, each after a header of 16."""

    first = 24

    def __init__(self, path: Path, notes: Notes, head: bytes) -> None:
        self._path, self._notes = path, notes
        order, self._tick = _CLASSIC[head[:4]]
        snap, link = struct.unpack(f"{order}II", head[16:24])
        self._link = link & 0x0FFFFFFF
        self._longest = min(max(snap, 1 << 18), _LONGEST)
        self._record = struct.Struct(f"{order}IIII")
        self._last_s: int | None = None

    def records(self, block: bytes, at: int, *, ended: bool) -> _Found:
        found = _Found()
        unpack, rows, place, size = self._record.unpack_from, found.rows, 0, len(block)
        while place + 16 <= size:
            seconds, ticks, length, original = unpack(block, place)
            if length > self._longest or ticks * self._tick >= 1_000_000_000:
                next_place = self._after_break(block, place, at)
                if next_place is None:
                    found.used = size
                    return found
                place = next_place
                continue
            if place + 16 + length > size:
                if ended:
                    message = f"the last packet declares {length} bytes, {size - place - 16} are there"
                    self._notes.add(Problem.TRUNCATED, message, Where(str(self._path), byte=at + place), 1)
                    place = size
                break
            time = seconds * 1_000_000_000 + ticks * self._tick
            rows.append((place + 16, length, length >= original, time, self._link))
            self._last_s = seconds
            place += 16 + length
        else:
            if ended and place < size:
                message = "the capture ends in the header of a packet"
                self._notes.add(Problem.TRUNCATED, message, Where(str(self._path), byte=at + place), 1)
                place = size
        found.used = place
        return found

    def give_up(self, at: int) -> None:
        self._notes.add(Problem.CORRUPT, "no packet can be found here", Where(str(self._path), byte=at), None)

    def _after_break(self, block: bytes, place: int, at: int) -> int | None:
        """The next place where two records may follow one another; what lies between is noted as lost."""
        where = Where(str(self._path), byte=at + place)
        unpack = self._record.unpack_from
        for candidate in range(place + 1, min(len(block) - 32, place + _SEARCH_BYTES)):
            seconds, ticks, length, original = unpack(block, candidate)
            if not 14 <= length <= min(original, self._longest) or original > self._longest:
                continue
            if self._last_s is not None and abs(seconds - self._last_s) > _SEARCH_S:
                continue
            following = candidate + 16 + length
            if ticks * self._tick >= 1_000_000_000 or following + 16 > len(block):
                continue
            seconds_2, ticks_2, length_2, _ = unpack(block, following)
            if (
                abs(seconds_2 - seconds) <= _SEARCH_S
                and length_2 <= self._longest
                and ticks_2 * self._tick < 10**9
            ):
                message = f"{candidate - place} bytes are no packet and were passed over"
                self._notes.add(Problem.CORRUPT, message, where, None)
                return candidate
        self._notes.add(Problem.CORRUPT, "what follows is no packet; it was passed over", where, None)
        return None


class _Next:
    """pcapng: blocks of a type and a length; interfaces say what follows on them."""

    first = 0

    def __init__(self, path: Path, notes: Notes) -> None:
        self._path, self._notes = path, notes
        self._order = "<"
        self._interfaces: list[tuple[int, float]] = []

    def records(self, block: bytes, at: int, *, ended: bool) -> _Found:
        found = _Found()
        place, size = 0, len(block)
        while place + 12 <= size:
            if block[place : place + 4] == _NEXT:
                order = _NEXT_ORDERS.get(block[place + 8 : place + 12])
                if order is not None:
                    self._order, self._interfaces = order, []
            kind, length = struct.unpack_from(f"{self._order}II", block, place)
            if length < 12 or length % 4 or length > _LONGEST:
                message = "a block of the capture has an impossible length; the rest was not read"
                self._notes.add(Problem.CORRUPT, message, Where(str(self._path), byte=at + place), None)
                found.used = size if ended else 0
                return found
            if place + length > size:
                if ended:
                    message = f"the last block declares {length} bytes, {size - place} are there"
                    self._notes.add(Problem.TRUNCATED, message, Where(str(self._path), byte=at + place), 1)
                    place = size
                break
            self._take(found, kind, block, place, length)
            place += length
        found.used = size if ended else place
        return found

    def give_up(self, at: int) -> None:
        self._notes.add(Problem.CORRUPT, "no block can be found here", Where(str(self._path), byte=at), None)

    def _take(self, found: _Found, kind: int, block: bytes, place: int, length: int) -> None:
        if kind == _INTERFACE and length >= 20:
            link = struct.unpack_from(f"{self._order}H", block, place + 8)[0]
            self._interfaces.append((link, self._resolution(block[place + 16 : place + length - 4])))
        elif kind == _ENHANCED and length >= 32:
            interface, high, low, kept, original = struct.unpack_from(f"{self._order}IIIII", block, place + 8)
            if interface < len(self._interfaces) and kept <= length - 32:
                link, tick_ns = self._interfaces[interface]
                time = (
                    int((high << 32 | low) * tick_ns) if tick_ns >= 1 else round((high << 32 | low) * tick_ns)
                )
                found.rows.append((place + 28, kept, kept >= original, min(time, (1 << 63) - 1), link))
        elif kind == _SIMPLE and length >= 16 and self._interfaces:
            original = struct.unpack_from(f"{self._order}I", block, place + 8)[0]
            kept = min(original, length - 16)
            found.rows.append((place + 12, kept, kept >= original, 0, self._interfaces[0][0]))

    def _resolution(self, options: bytes) -> float:
        """Nanoseconds a tick: the option if_tsresol; a microsecond where it is not given."""
        place = 0
        while place + 4 <= len(options):
            code, size = struct.unpack_from(f"{self._order}HH", options, place)
            if code == 9 and size == 1 and place + 4 < len(options):
                value = options[place + 4]
                return 1e9 / 2 ** (value & 0x7F) if value & 0x80 else float(10 ** (9 - min(value, 18)))
            if code == 0:
                break
            place += 4 + (size + 3) // 4 * 4
        return 1000.0
