"""TFRecord: records one after another, each between a checksum of its length and one of its data.

    uint64 length, uint32 masked CRC-32C of it, data, uint32 masked CRC-32C of the data

(https://www.tensorflow.org/tutorials/load_data/tfrecord, all little-endian.) A file may be zlib or gzip as a
whole. There is no index: records are found by hopping from one to the next.
"""

from __future__ import annotations

import os
import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import Where
from twinloop.core.recording import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from twinloop.formats.notes import Notes
    from twinloop.formats.steps.room import Room

HEADER, FOOTER = 12, 4
#: Deflate makes at most this many bytes of one; a record in a packed file holds at most `_MOST_UNPACKED`.
_MOST_RATIO, _MOST_UNPACKED = 1032, 1 << 30
_PIECE = 1 << 20
#: Bytes read and compared at a time: they stay in the processor's cache.
_AT_ONCE = 1 << 18


def masked_crc(data: bytes) -> int:
    """The checksum as TFRecord stores it: CRC-32C, rotated right by 15 bits, plus a constant."""
    import google_crc32c

    return _masked(google_crc32c.value(data))


def _masked(crc: int) -> int:
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def is_header(head: bytes) -> bool:
    """Whether bytes begin with a length and its checksum."""
    return len(head) >= HEADER and masked_crc(head[:8]) == struct.unpack_from("<I", head, 8)[0]


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a record's data lies, in the file as unpacked."""

    start: int
    length: int


class PlainBytes:
    """The bytes of a file."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self.most = os.fstat(self._file.fileno()).st_size

    def read(self, at: int, size: int) -> bytes:
        """`size` bytes from `at`, fewer where the file ends."""
        data = os.pread(self._file.fileno(), size, at)
        while len(data) < size and (more := os.pread(self._file.fileno(), size - len(data), at + len(data))):
            data += more
        return data

    def read_into(self, at: int, room: memoryview) -> int:
        """Fill `room` with the bytes from `at` on; how many there are."""
        done = 0
        while done < len(room) and (read := os.preadv(self._file.fileno(), [room[done:]], at + done)):
            done += read
        return done

    def close(self) -> None:
        self._file.close()


class InflatedBytes:
    """The bytes of a zlib or gzip file as unpacked, read forwards; going back starts again."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self.most = os.fstat(self._file.fileno()).st_size * _MOST_RATIO
        self.failure = ""
        self._rewind()

    def _rewind(self) -> None:
        self._file.seek(0)
        self._inflate = zlib.decompressobj(47)
        self._kept, self._base, self._ended = bytearray(), 0, False

    def read(self, at: int, size: int) -> bytes:
        """`size` bytes from `at`, fewer where the file ends or does not unpack."""
        if at < self._base:
            self._rewind()
        size = min(size, _MOST_UNPACKED)
        while self._base + len(self._kept) < at + size and self._more():
            drop = min(at - self._base, len(self._kept))
            if drop > 0:
                del self._kept[:drop]
                self._base += drop
        start = at - self._base
        return bytes(self._kept[start : start + size]) if start >= 0 else b""

    def read_into(self, at: int, room: memoryview) -> int:
        """Fill `room` with the bytes from `at` on; how many there are."""
        data = self.read(at, len(room))
        room[: len(data)] = data
        return len(data)

    def _more(self) -> bool:
        if self._ended:
            return False
        packed = self._inflate.unconsumed_tail or self._file.read(1 << 16)
        try:
            made = self._inflate.decompress(packed, _PIECE)
        except zlib.error as error:
            self.failure = str(error)
            self._ended = True
            return False
        self._kept += made
        if self._inflate.eof:  # another gzip member may follow
            rest = self._inflate.unused_data
            self._inflate = zlib.decompressobj(47)
            if rest or (rest := self._file.read(1 << 16)):
                self._file.seek(-len(rest), 1)
            else:
                self._ended = True
        elif not packed and not made:
            self.failure = "the packed data ends early"
            self._ended = True
        return True

    def close(self) -> None:
        self._file.close()


def open_bytes(path: Path) -> PlainBytes | InflatedBytes:
    """The bytes of a TFRecord file, unpacked where it is packed.

    Raises:
        OSError: the system refuses to read it.
    """
    with path.open("rb") as file:
        head = file.read(HEADER)
    packed = head[:2] == b"\x1f\x8b" or (head[:1] == b"\x78" and int.from_bytes(head[:2], "big") % 31 == 0)
    return InflatedBytes(path) if packed and not is_header(head) else PlainBytes(path)


def frames(data: PlainBytes | InflatedBytes, path: Path, notes: Notes) -> Iterator[Frame]:
    """The records of a file in order; data is not looked at, damage between records is noted.

    Where a header's checksum is wrong but the next header stands where its length says, the length was
    right. Where it does not, the next header is searched for.
    """
    at = 0
    while True:
        head = data.read(at, HEADER)
        if len(head) < HEADER:
            if head or _failure(data):
                notes.add(
                    Problem.TRUNCATED,
                    f"the file ends in a record's header{_failure(data)}",
                    Where(file=str(path), byte=at),
                    None,
                )
            return
        length = int.from_bytes(head[:8], "little")
        after = at + HEADER + length + FOOTER
        sound = is_header(head)
        if sound and after > data.most:
            notes.add(
                Problem.TRUNCATED,
                f"a record of {length} bytes runs past the end of the file",
                Where(file=str(path), byte=at),
                1,
            )
            return
        if not sound:
            if not _leads_on(data, after):
                found = _next_header(data, at + 1) if isinstance(data, PlainBytes) else None
                notes.add(
                    Problem.CORRUPT,
                    "a record's length does not fit its checksum; "
                    + ("nothing more is found" if found is None else f"reading goes on at byte {found}"),
                    Where(file=str(path), byte=at),
                    None,
                )
                if found is None:
                    return
                at = found
                continue
            notes.add(
                Problem.CORRUPT,
                "the checksum of a record's length is wrong; the length leads to the next record all the same",
                Where(file=str(path), byte=at),
            )
        yield Frame(at + HEADER, length)
        at = after


def _leads_on(data: PlainBytes | InflatedBytes, after: int) -> bool:
    """Whether the next header, or the end of the file, is at `after`. Packed data is not read twice."""
    if not isinstance(data, PlainBytes) or after > data.most:
        return False
    return after == data.most or is_header(data.read(after, HEADER))


def _failure(data: PlainBytes | InflatedBytes) -> str:
    failure = getattr(data, "failure", "")
    return f": {failure}" if failure else ""


def read_record(
    data: PlainBytes | InflatedBytes,
    frame: Frame,
    path: Path,
    notes: Notes,
    room: Room,
    lost: int,
    *,
    verify: bool,
) -> memoryview | None:
    """A record's data, in `room`; None, with a note, where it ends early or does not fit its checksum."""
    import google_crc32c

    where = Where(file=str(path), byte=frame.start)
    record = room.of(min(frame.length, max(0, data.most - frame.start)))
    octets = np.frombuffer(record, np.uint8)  # google_crc32c takes arrays as they are, memoryviews not at all
    at = crc = 0
    while at < len(record):
        read = data.read_into(frame.start + at, record[at : at + _AT_ONCE])
        if not read:
            break
        crc = google_crc32c.extend(crc, octets[at : at + read]) if verify else 0
        at += read
    if at < frame.length:
        notes.add(Problem.TRUNCATED, f"a record of {frame.length} bytes has {at}", where, lost)
        return None
    if verify and _masked(crc) != int.from_bytes(data.read(frame.start + at, FOOTER), "little"):
        notes.add(Problem.CORRUPT, "a record's data does not fit its checksum", where, lost)
        return None
    return record


def _next_header(data: PlainBytes, at: int) -> int | None:
    """The first place from `at` on where a length and its checksum stand."""
    while len(piece := data.read(at, _PIECE)) >= HEADER:
        window = np.frombuffer(piece, np.uint8)
        last = len(window) - HEADER + 1
        # Lengths below 2^40: their upper three bytes are zero, which leaves few places to look at.
        likely = (window[5 : 5 + last] | window[6 : 6 + last] | window[7 : 7 + last]) == 0
        likely &= (window[:last] | window[1 : 1 + last] | window[2 : 2 + last] | window[3 : 3 + last]) != 0
        for place in np.flatnonzero(likely).tolist():
            head = piece[place : place + HEADER]
            end = at + place + HEADER + int.from_bytes(head[:8], "little") + FOOTER
            if end <= data.most and is_header(head):
                return at + place
        if last < 1 or len(piece) < _PIECE:
            return None
        at += last
    return None
