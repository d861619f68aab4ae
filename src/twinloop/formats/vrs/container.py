"""The container: file header, description record, record headers.

All integers are little-endian. A file is a header, then records; a record is a header of `record_header`
bytes (32 so far; it may grow) and its payload. Two records are the container's own: the description (tags
of streams and of the file) and the index.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import TwinloopError, UnreadableError, Where

if TYPE_CHECKING:
    from pathlib import Path

MAGIC = b"VisionRe"
MAGIC_3 = b"cord"
MAGIC_AT = (0, 72)

FILE_HEADER = np.dtype(
    [
        ("magic", "S8"),
        ("creation_id", "<u8"),
        ("file_header_size", "<u4"),
        ("record_header_size", "<u4"),
        ("index", "<i8"),
        ("description", "<i8"),
        ("first_record", "<i8"),
        ("future", "<u8", 3),
        ("magic_3", "S4"),
        ("version", "S4"),
    ]
)
RECORD_HEADER = np.dtype(
    [
        ("size", "<u4"),
        ("previous_size", "<u4"),
        ("type", "<i4"),
        ("format_version", "<u4"),
        ("timestamp", "<f8"),
        ("instance", "<u2"),
        ("record_type", "u1"),
        ("compression", "u1"),
        ("uncompressed_size", "<u4"),
    ]
)
#: What a record holds.
STATE, CONFIGURATION, DATA, TAGS = 1, 2, 3, 4
#: A header of more bytes than this is no header.
_MOST_HEADER = 4096
#: A description of more bytes than this is not read: it is one block of tags.
_MOST_DESCRIPTION = 64 << 20


class DamagedError(TwinloopError):
    """A part of the container is not what the format says; the message says what and where."""

    exit_code = 3


@dataclass(frozen=True, slots=True, order=True)
class StreamId:
    """A stream: the type of device and the number of the instance; written ``1201-2``."""

    type: int
    instance: int

    def __str__(self) -> str:
        return f"{self.type}-{self.instance}"


@dataclass(frozen=True, slots=True)
class Tags:
    """Tags of one stream: the application's, and the container's own (formats and layouts of records)."""

    user: dict[str, str]
    vrs: dict[str, str]


@dataclass(slots=True)
class Description:
    """The description record: tags of every declared stream, and of the file."""

    streams: dict[StreamId, Tags] = field(default_factory=dict)
    file: dict[str, str] = field(default_factory=dict)
    size: int = 0


class VrsFile:
    """An open file and its header.

    Attributes:
        size: bytes of the file. record_header: bytes of a record's header.
        index_at, description_at, first_at: where the index, the description, the first record lie; 0: unknown.

    Raises:
        UnreadableError: it is too short for a header, or the header's sizes are none.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise UnreadableError(
                f"the system refuses to read it: {error.strerror}", where=str(path)
            ) from error
        self.size = os.fstat(self._file.fileno()).st_size
        head = self.read(0, min(FILE_HEADER.itemsize, self.size))
        if len(head) < FILE_HEADER.itemsize:
            self.close()
            raise UnreadableError("the file ends in its header", where=Where(str(path), byte=self.size))
        header = np.frombuffer(head, FILE_HEADER)[0]
        self.header_size = int(header["file_header_size"])
        self.record_header = int(header["record_header_size"])
        self.version = bytes(header["version"])
        sound = FILE_HEADER.itemsize <= self.header_size <= _MOST_HEADER
        if not sound or not RECORD_HEADER.itemsize <= self.record_header <= _MOST_HEADER:
            self.close()
            raise UnreadableError(
                f"its header declares headers of {self.header_size} and {self.record_header} bytes",
                where=Where(str(path), byte=16),
                expected=f"at least {FILE_HEADER.itemsize} and {RECORD_HEADER.itemsize}",
            )
        self.index_at = int(header["index"])
        self.description_at = int(header["description"])
        self.first_at = int(header["first_record"])

    def read(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset`; fewer at the end of the file."""
        size = min(size, self.size - offset)
        return os.pread(self._file.fileno(), size, offset) if size > 0 and offset >= 0 else b""

    def record_at(self, offset: int) -> np.void:
        """The header of the record at `offset`, of which at least the header lies in the file.

        Raises:
            DamagedError: no record can be there.
        """
        head = self.read(offset, RECORD_HEADER.itemsize)
        if offset < self.header_size or len(head) < RECORD_HEADER.itemsize:
            raise DamagedError("no record lies there", where=Where(str(self.path), byte=offset))
        header: np.void = np.frombuffer(head, RECORD_HEADER)[0]
        if int(header["size"]) < self.record_header:
            message = f"a record declares {int(header['size'])} bytes, fewer than its header"
            raise DamagedError(message, where=Where(str(self.path), byte=offset))
        return header

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


def read_description(file: VrsFile) -> Description:
    """The tags of streams and file.

    Raises:
        DamagedError: the record is missing, of another version, or its lengths do not fit it.
    """
    offset = file.description_at
    header = file.record_at(offset)
    size = int(header["size"])
    if size > min(file.size - offset, _MOST_DESCRIPTION):
        message = f"the description declares {size} bytes, {file.size - offset} are left"
        raise DamagedError(message, where=Where(str(file.path), byte=offset))
    if int(header["format_version"]) != 2:
        message = f"the description is of version {int(header['format_version'])}"
        raise DamagedError(message, where=Where(str(file.path), byte=offset), expected="version 2")
    payload = file.read(offset, size)
    tags = _TagReader(payload, file.record_header, Where(str(file.path), byte=offset))
    streams = {}
    for _ in range(tags.count(14)):
        stream = StreamId(tags.number(4), tags.number(2))
        streams[stream] = Tags(tags.pairs(), tags.pairs())
    return Description(streams, tags.pairs(), size)


@dataclass(slots=True)
class _TagReader:
    """Counted texts, one after the other."""

    data: bytes
    at: int
    where: Where

    def number(self, size: int) -> int:
        return int.from_bytes(self._take(size), "little")

    def count(self, least: int) -> int:
        """A number of things of at least `least` bytes each."""
        count = self.number(4)
        if count * least > len(self.data) - self.at:
            raise DamagedError(
                f"the description declares {count} entries, more than it can hold", where=self.where
            )
        return count

    def text(self) -> str:
        return self._take(self.number(4)).decode("utf-8", "replace")

    def pairs(self) -> dict[str, str]:
        return {self.text(): self.text() for _ in range(self.count(8))}

    def _take(self, size: int) -> bytes:
        part = self.data[self.at : self.at + size]
        if len(part) < size:
            raise DamagedError("the description ends in a text", where=self.where)
        self.at += size
        return part
