"""The records of a ROS 1 bag: a header of named fields, then data, both with their lengths in front."""

from __future__ import annotations

import os
import re
import struct
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from twinloop.core.errors import UnreadableError, Where

if TYPE_CHECKING:
    from pathlib import Path

MAGIC = b"#ROSBAG V2.0\n"
#: A header holds a topic name at most; a longer one is not a header.
MAX_HEADER = 1 << 16
#: Most record headers fit into one read of this size.
_PEEK = 256
_U32 = struct.Struct("<I")


class Op(IntEnum):
    """What a record is."""

    MESSAGE = 2
    BAG_HEADER = 3
    INDEX_DATA = 4
    CHUNK = 5
    CHUNK_INFO = 6
    CONNECTION = 7


class BrokenRecordError(UnreadableError):
    """Bytes that should be a record are not one."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record at byte `pos`: its header's fields, and where its data lies."""

    pos: int
    op: int
    fields: dict[str, bytes]
    data_pos: int
    data_len: int

    @property
    def end(self) -> int:
        """The byte after it."""
        return self.data_pos + self.data_len

    def u32(self, name: str) -> int:
        """An unsigned field of 4 bytes. Raises BrokenRecordError where it is missing or of another size."""
        return self._unpack(name, "<I")

    def u64(self, name: str) -> int:
        """An unsigned field of 8 bytes."""
        return self._unpack(name, "<Q")

    def time_ns(self, name: str) -> int:
        """A ROS 1 time (seconds, nanoseconds, 4 bytes each) in ns."""
        packed = self._unpack(name, "<Q")
        return (packed & 0xFFFFFFFF) * 1_000_000_000 + (packed >> 32)

    def text(self, name: str, default: str = "") -> str:
        """A field of text; bytes that are not UTF-8 are replaced."""
        return self.fields[name].decode("utf-8", "replace") if name in self.fields else default

    def _unpack(self, name: str, layout: str) -> int:
        try:
            return int(struct.unpack(layout, self.fields[name])[0])
        except (KeyError, struct.error):
            raise BrokenRecordError(
                f"a record has no usable field {name!r}", where=Where(byte=self.pos)
            ) from None


class BagFile:
    """A bag's bytes, read by position."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._fd = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        except OSError as error:
            raise UnreadableError(
                f"the system refuses to read it: {error.strerror}",
                where=str(path),
                fix="check the permissions",
            ) from error
        self.size = os.fstat(self._fd).st_size

    def read(self, pos: int, count: int) -> bytes:
        """Up to `count` bytes from `pos`, fewer at the end of the file."""
        count = max(0, min(count, self.size - pos))
        try:
            return os.pread(self._fd, count, pos)
        except OSError as error:
            raise UnreadableError(
                f"the system cannot read it: {error.strerror}", where=Where(file=str(self.path), byte=pos)
            ) from error

    def read_into(self, target: memoryview, pos: int) -> int:
        """Fill `target` from `pos` on; returns the bytes read, fewer at the end of the file."""
        done = 0
        while done < len(target):
            try:
                got = os.preadv(self._fd, [target[done:]], pos + done)
            except OSError as error:
                raise UnreadableError(
                    f"the system cannot read it: {error.strerror}",
                    where=Where(file=str(self.path), byte=pos + done),
                ) from error
            if not got:
                break
            done += got
        return done

    def record(self, pos: int) -> Record:
        """The record at `pos`; its data may reach beyond the end of the file.

        Raises:
            BrokenRecordError: the bytes at `pos` are not a record.
        """
        head = self.read(pos, _PEEK)
        needed = 8 + (_U32.unpack_from(head)[0] if len(head) >= 4 else 0)
        if _PEEK < needed <= MAX_HEADER + 8:
            head = self.read(pos, needed)
        return parse_record(head, 0, pos)

    def close(self) -> None:
        """Let go of the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def parse_record(buffer: bytes | memoryview, at: int, base: int = 0) -> Record:
    """The record at byte `at` of `buffer`, whose byte 0 is byte `base` of the file (or of the chunk).

    Raises:
        BrokenRecordError: the bytes are not a record: a length reaches outside, a field has no name, or
            there is no op.
    """
    pos = base + at
    if at + 4 > len(buffer):
        raise BrokenRecordError("the bytes end inside a record's length", where=Where(byte=pos))
    (size,) = _U32.unpack_from(buffer, at)
    end = at + 4 + size
    if size > MAX_HEADER or end + 4 > len(buffer):
        raise BrokenRecordError(f"a record's header claims {size} bytes", where=Where(byte=pos))
    fields = parse_fields(bytes(buffer[at + 4 : end]), pos)
    op = fields.get("op", b"")
    if len(op) != 1:
        raise BrokenRecordError("a record does not say what it is", where=Where(byte=pos))
    (data_len,) = _U32.unpack_from(buffer, end)
    return Record(pos, op[0], fields, base + end + 4, data_len)


def parse_fields(header: bytes, pos: int) -> dict[str, bytes]:
    """The named fields of a header (or of a connection's data). Raises BrokenRecordError."""
    fields: dict[str, bytes] = {}
    at = 0
    while at < len(header):
        size = _U32.unpack_from(header, at)[0] if at + 4 <= len(header) else len(header)
        at += 4
        name, equals, value = header[at : at + size].partition(b"=")
        if at + size > len(header) or not equals:
            raise BrokenRecordError("a record's field reaches outside its header", where=Where(byte=pos))
        fields[name.decode("latin-1")] = value
        at += size
    return fields


_OP_FIELD = re.compile(rb"\x04\x00\x00\x00op=(.)", re.DOTALL)
#: How far behind the start of its record the op may stand: behind a compression or a connection number.
_OP_WITHIN = 96


def find_record(buffer: bytes | memoryview, at: int, ops: tuple[Op, ...], base: int = 0) -> Record | None:
    """The first record of one of `ops` at or after byte `at`: how to go on behind broken bytes."""
    wanted = {int(op) for op in ops}
    for match in _OP_FIELD.finditer(buffer, at):
        if match[1][0] not in wanted:
            continue
        for start in range(max(at, match.start() - _OP_WITHIN), match.start() - 3):
            (size,) = _U32.unpack_from(buffer, start)
            if match.end() - start - 4 <= size <= MAX_HEADER:
                with suppress(BrokenRecordError):
                    record = parse_record(buffer, start, base)
                    if record.op in wanted:
                        return record
    return None


@dataclass(frozen=True, slots=True)
class Connection:
    """One publisher's connection: the topic it is recorded under and what its messages are."""

    id: int
    topic: str
    type_name: str
    definition: str
    md5: str = ""
    callerid: str = ""
    latching: bool = False


def parse_connection(record: Record, data: bytes) -> Connection:
    """The connection of a CONNECTION record. Raises BrokenRecordError."""
    details = Record(record.pos, record.op, parse_fields(data, record.pos), 0, 0)
    return Connection(
        id=record.u32("conn"),
        topic=record.text("topic") or details.text("topic"),
        type_name=details.text("type"),
        definition=details.text("message_definition"),
        md5=details.text("md5sum"),
        callerid=details.text("callerid"),
        latching=details.text("latching") == "1",
    )
