"""The records of an MCAP file, byte by byte (https://mcap.dev/spec).

A record is an opcode (uint8), the length of its content (uint64) and the content; all is little-endian.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

import numpy as np

MAGIC = b"\x89MCAP0\r\n"

#: Opcode and length that stand before the content of every record.
PREFIX = struct.Struct("<BQ")
#: What later versions of the format may add to a record, at most; more is taken for damage.
LATER_FIELDS_BYTES = 256
#: A footer with its prefix, and the magic after it, end the file.
FOOTER_BYTES = PREFIX.size + 20
TAIL_BYTES = FOOTER_BYTES + len(MAGIC)

#: A Message record up to its data.
MESSAGE_HEADER = np.dtype(
    [
        ("opcode", "u1"),
        ("length", "<u8"),
        ("channel", "<u2"),
        ("sequence", "<u4"),
        ("log_ns", "<i8"),
        ("publish_ns", "<i8"),
    ]
)
#: Content of a Message record before its data.
MESSAGE_FIELDS_BYTES = MESSAGE_HEADER.itemsize - PREFIX.size
#: A MessageIndex before its entries: channel, bytes of the entries. An entry is a log time and the offset of
#: a message from the start of the chunk's uncompressed records, 8 bytes each.
INDEX_FIELDS = struct.Struct("<HI")

_CHUNK_PLACE = struct.Struct("<qqQQI")  # times, offset, length, bytes of the channels' places
_CHANNEL_PLACE = struct.Struct("<HQ")
_CHUNK_INDEXED = struct.Struct("<QI")  # bytes of its message indexes, length of the compression's name
_CHUNK_SIZES = struct.Struct("<QQ")

Bytes: TypeAlias = bytes | bytearray | memoryview


class Opcode(IntEnum):
    """What a record is."""

    HEADER = 0x01
    FOOTER = 0x02
    SCHEMA = 0x03
    CHANNEL = 0x04
    MESSAGE = 0x05
    CHUNK = 0x06
    MESSAGE_INDEX = 0x07
    CHUNK_INDEX = 0x08
    ATTACHMENT = 0x09
    ATTACHMENT_INDEX = 0x0A
    STATISTICS = 0x0B
    METADATA = 0x0C
    METADATA_INDEX = 0x0D
    SUMMARY_OFFSET = 0x0E
    DATA_END = 0x0F


class BadRecord(ValueError):
    """A record's content is not what its opcode says. Never leaves the reader: it becomes a note."""


class _Fields:
    """Takes one field after the other out of a record's content."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: Bytes) -> None:
        self._data = memoryview(data)
        self._at = 0

    def blob(self, size: int) -> bytes:
        if size > len(self._data) - self._at:
            raise BadRecord(f"a field of {size} bytes in the {len(self._data) - self._at} bytes that are left")
        start, self._at = self._at, self._at + size
        return bytes(self._data[start : self._at])

    def u16(self) -> int:
        return int.from_bytes(self.blob(2), "little")

    def u32(self) -> int:
        return int.from_bytes(self.blob(4), "little")

    def u64(self) -> int:
        return int.from_bytes(self.blob(8), "little")

    def time(self) -> int:
        """Nanoseconds; uint64 in the file, wrapped into int64 as everywhere in the columns."""
        return int.from_bytes(self.blob(8), "little", signed=True)

    def text(self) -> str:
        return self.blob(self.u32()).decode("utf-8", "replace")

    def texts(self) -> dict[str, str]:
        pairs = _Fields(self.blob(self.u32()))
        found = {}
        while pairs.left:
            key = pairs.text()
            found[key] = pairs.text()
        return found

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    @property
    def at(self) -> int:
        return self._at


@dataclass(frozen=True, slots=True)
class Header:
    """Who wrote the file, by which profile."""

    profile: str
    library: str

    @classmethod
    def parse(cls, data: Bytes) -> Header:
        fields = _Fields(data)
        return cls(fields.text(), fields.text())


@dataclass(frozen=True, slots=True)
class Footer:
    """Where the summary starts (0: there is none) and its CRC-32 (0: not made)."""

    summary_start: int
    summary_offset_start: int
    summary_crc: int

    @classmethod
    def parse(cls, data: Bytes) -> Footer:
        fields = _Fields(data)
        return cls(fields.u64(), fields.u64(), fields.u32())


@dataclass(frozen=True, slots=True)
class Schema:
    """A message type and its definition."""

    id: int
    name: str
    encoding: str
    data: bytes

    @classmethod
    def parse(cls, data: Bytes) -> Schema:
        fields = _Fields(data)
        return cls(fields.u16(), fields.text(), fields.text(), fields.blob(fields.u32()))


@dataclass(frozen=True, slots=True)
class Channel:
    """A topic: what its messages are (schema 0: unknown) and how they are encoded."""

    id: int
    schema_id: int
    topic: str
    message_encoding: str
    metadata: dict[str, str]

    @classmethod
    def parse(cls, data: Bytes) -> Channel:
        fields = _Fields(data)
        return cls(fields.u16(), fields.u16(), fields.text(), fields.text(), fields.texts())


@dataclass(frozen=True, slots=True)
class ChunkHeader:
    """A Chunk record up to its data. `size`: bytes of that header; `stored`: bytes of the data."""

    start_ns: int
    end_ns: int
    uncompressed_size: int
    crc: int
    compression: str
    stored: int
    size: int

    def fits(self, length: int) -> bool:
        """Whether a Chunk record's content of `length` bytes is this header, its data, and at most a few fields
        of later versions of the format."""
        return 0 <= length - self.size - self.stored <= LATER_FIELDS_BYTES

    #: Content bytes before the data when no compression is named, and what a name may add.
    LEAST = 40
    MOST = LEAST + 32

    @classmethod
    def parse(cls, data: Bytes) -> ChunkHeader:
        """From the first `MOST` bytes (or all there are) of a Chunk record's content."""
        fields = _Fields(data)
        start, end, size, crc = fields.time(), fields.time(), fields.u64(), fields.u32()
        return cls(start, end, size, crc, fields.text(), fields.u64(), fields.at)


@dataclass(frozen=True, slots=True)
class ChunkIndex:
    """Where a chunk lies and what it holds. `channels`: those that its MessageIndex records name."""

    start_ns: int
    end_ns: int
    offset: int
    length: int
    channels: frozenset[int]
    index_length: int
    compression: str
    stored: int
    uncompressed_size: int

    @property
    def is_cut(self) -> bool:
        """Whether the file has fewer bytes of it than it stores."""
        return self.length < PREFIX.size + ChunkHeader.LEAST + self.stored

    @classmethod
    def parse(cls, data: Bytes) -> ChunkIndex:
        # Read by struct: a large file has tens of thousands of these.
        try:
            start, end, offset, length, size = _CHUNK_PLACE.unpack_from(data)
            at = _CHUNK_PLACE.size
            channels = frozenset(channel for channel, _ in _CHANNEL_PLACE.iter_unpack(data[at : at + size]))
            index_length, text = _CHUNK_INDEXED.unpack_from(data, at + size)
            at += size + _CHUNK_INDEXED.size
            compression = bytes(data[at : at + text]).decode("utf-8", "replace")
            stored, uncompressed = _CHUNK_SIZES.unpack_from(data, at + text)
        except struct.error as error:
            raise BadRecord(f"a chunk index that does not parse: {error}") from None
        return cls(start, end, offset, length, channels, index_length, compression, stored, uncompressed)


@dataclass(frozen=True, slots=True)
class AttachmentIndex:
    """Where an Attachment record lies. `names_size`: bytes of name and media type, with their lengths."""

    offset: int
    length: int
    log_ns: int
    create_ns: int
    data_size: int
    name: str
    media_type: str
    names_size: int

    @classmethod
    def parse(cls, data: Bytes) -> AttachmentIndex:
        f = _Fields(data)
        places = f.u64(), f.u64(), f.time(), f.time(), f.u64()
        before = f.at
        return cls(*places, f.text(), f.text(), f.at - before)._checked()

    @classmethod
    def of_attachment(cls, offset: int, length: int, data: Bytes) -> AttachmentIndex:
        """From the start of the Attachment record itself (its content up to its data)."""
        f = _Fields(data)
        log_ns, create_ns = f.time(), f.time()
        before = f.at
        name, media_type = f.text(), f.text()
        names_size = f.at - before
        return cls(offset, length, log_ns, create_ns, f.u64(), name, media_type, names_size)._checked()

    def _checked(self) -> AttachmentIndex:
        if self.data_size > self.length - PREFIX.size - 28 - self.names_size:
            raise BadRecord(f"an attachment of {self.data_size} bytes in a record of {self.length}")
        return self

    @property
    def data_offset(self) -> int:
        """Byte of the file where the attachment's data starts; a CRC of 4 bytes follows the data."""
        return self.offset + PREFIX.size + 24 + self.names_size


@dataclass(frozen=True, slots=True)
class MetadataIndex:
    """Where a Metadata record lies."""

    offset: int
    length: int
    name: str

    @classmethod
    def parse(cls, data: Bytes) -> MetadataIndex:
        fields = _Fields(data)
        return cls(fields.u64(), fields.u64(), fields.text())


@dataclass(frozen=True, slots=True)
class Metadata:
    """Named key-value pairs."""

    name: str
    values: dict[str, str]

    @classmethod
    def parse(cls, data: Bytes) -> Metadata:
        fields = _Fields(data)
        return cls(fields.text(), fields.texts())


@dataclass(frozen=True, slots=True)
class Statistics:
    """What the writer counted."""

    message_count: int
    attachment_count: int
    metadata_count: int
    chunk_count: int
    start_ns: int
    end_ns: int
    channel_counts: dict[int, int]

    @classmethod
    def parse(cls, data: Bytes) -> Statistics:
        fields = _Fields(data)
        messages, _schemas, _channels = fields.u64(), fields.u16(), fields.u32()
        attachments, metadata, chunks = fields.u32(), fields.u32(), fields.u32()
        start, end, counts = fields.time(), fields.time(), fields.blob(fields.u32())
        if len(counts) % 10:
            raise BadRecord(f"channel message counts of {len(counts)} bytes, not a multiple of 10")
        return cls(messages, attachments, metadata, chunks, start, end, dict(struct.iter_unpack("<HQ", counts)))
