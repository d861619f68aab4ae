"""MCAP files in every combination of what the specification leaves to the writer (https://mcap.dev/spec)."""

from __future__ import annotations

import itertools
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from io import BytesIO

import lz4.frame
import zstandard

MAGIC = b"\x89MCAP0\r\n"
_PAD = b"\x01\x02\x03"
_COMPRESS = {"": bytes, "zstd": zstandard.compress, "lz4": lz4.frame.compress}


@dataclass(frozen=True)
class Features:
    """What a file has. `padded`: records of a later version, with fields that no reader knows yet."""

    chunks: bool
    message_index: bool
    chunk_index: bool
    statistics: bool
    repeated_schemas: bool
    repeated_channels: bool
    attachment_index: bool
    metadata_index: bool
    summary_offsets: bool
    padded: bool

    @property
    def name(self) -> str:
        return "-".join(f.name for f in fields(self) if getattr(self, f.name)) or "bare"


def all_features() -> Iterator[Features]:
    """Every combination that can be: indexes of chunks need chunks."""
    for choice in itertools.product((False, True), repeat=len(fields(Features))):
        features = Features(*choice)
        if features.chunks or not (features.message_index or features.chunk_index):
            yield features


@dataclass(frozen=True)
class Content:
    """What a file holds: messages on a channel, which may have no schema; an attachment; a metadata record."""

    messages: int = 0
    schemaless: bool = False
    attachment: bool = False
    metadata: bool = False


CONTENTS = {
    "no data": Content(),
    "one message": Content(1),
    "one attachment": Content(attachment=True),
    "one metadata": Content(metadata=True),
    "ten messages": Content(10),
    "one schemaless message": Content(1, schemaless=True),
    "all": Content(7, attachment=True, metadata=True),
}


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<I", len(data)) + data


def pairs(values: dict[str, str]) -> bytes:
    body = b"".join(text(k) + text(v) for k, v in values.items())
    return struct.pack("<I", len(body)) + body


class Variant:
    """One file in the making."""

    def __init__(self, features: Features, content: Content, compression: str) -> None:
        self.features = features
        self.content = content
        self.compression = compression
        self.out = BytesIO()
        self.attachments: list[bytes] = []
        self.metadata: list[bytes] = []
        self.chunks: list[bytes] = []

    def record(self, opcode: int, body: bytes, pad: bool = True) -> bytes:
        body += _PAD if pad and self.features.padded else b""
        return struct.pack("<BQ", opcode, len(body)) + body

    def schema(self) -> bytes:
        return self.record(
            3, struct.pack("<H", 1) + text("Example") + text("c") + struct.pack("<I", 3) + b"\x04\x05\x06"
        )

    def channel(self) -> bytes:
        schema = 0 if self.content.schemaless else 1
        return self.record(
            4, struct.pack("<HH", 1, schema) + text("example") + text("a") + pairs({"foo": "bar"})
        )

    def message(self, number: int) -> bytes:
        return self.record(
            5, struct.pack("<HIQQ", 1, number, number + 10, number) + bytes([number, 2, 3]), pad=False
        )

    def build(self) -> bytes:
        out = self.out
        out.write(MAGIC + self.record(1, text("") + text("library")))
        definitions = (b"" if self.content.schemaless else self.schema()) + self.channel()
        numbers = range(self.content.messages)
        if self.features.chunks:
            half = max(len(numbers) // 2, 1)
            for part in (numbers[:half], numbers[half:]):
                if part:
                    self.chunk(definitions, part)
        elif numbers:
            out.write(definitions + b"".join(self.message(n) for n in numbers))
        if self.content.attachment:
            self.attachment()
        if self.content.metadata:
            start = out.tell()
            record = self.record(12, text("myMetadata") + pairs({"foo": "bar"}))
            out.write(record)
            self.metadata.append(self.record(13, struct.pack("<QQ", start, len(record)) + text("myMetadata")))
        out.write(self.record(15, struct.pack("<I", zlib.crc32(out.getvalue()))))
        self.summary()
        return out.getvalue()

    def chunk(self, definitions: bytes, numbers: range) -> None:
        records = bytearray(definitions)
        entries = []
        for number in numbers:
            entries.append(struct.pack("<QQ", number + 10, len(records)))
            records += self.message(number)
        packed = _COMPRESS[self.compression](bytes(records))
        body = struct.pack("<QQQI", numbers[0] + 10, numbers[-1] + 10, len(records), zlib.crc32(records))
        body += text(self.compression) + struct.pack("<Q", len(packed)) + packed
        start = self.out.tell()
        record = self.record(6, body)
        self.out.write(record)
        index_start = self.out.tell()
        if self.features.message_index:
            joined = b"".join(entries)
            self.out.write(self.record(7, struct.pack("<HI", 1, len(joined)) + joined))
        places = struct.pack("<HQ", 1, index_start) if self.features.message_index else b""
        index = (
            struct.pack("<QQQQI", numbers[0] + 10, numbers[-1] + 10, start, len(record), len(places)) + places
        )
        index += struct.pack("<Q", self.out.tell() - index_start) + text(self.compression)
        self.chunks.append(self.record(8, index + struct.pack("<QQ", len(packed), len(records))))

    def attachment(self) -> None:
        start = self.out.tell()
        body = struct.pack("<QQ", 2, 1) + text("myFile") + text("application/octet-stream")
        body += struct.pack("<Q", 3) + b"\x01\x02\x03"
        body += struct.pack("<I", zlib.crc32(body))
        record = self.record(9, body)
        self.out.write(record)
        index = (
            struct.pack("<QQQQQ", start, len(record), 2, 1, 3)
            + text("myFile")
            + text("application/octet-stream")
        )
        self.attachments.append(self.record(10, index))

    def summary(self) -> None:
        features, content, out = self.features, self.content, self.out
        start = out.tell()
        groups: list[tuple[int, bytes]] = []
        if features.repeated_schemas and content.messages and not content.schemaless:
            groups.append((3, self.schema()))
        if features.repeated_channels and content.messages:
            groups.append((4, self.channel()))
        if features.statistics:
            groups.append((11, self.statistics()))
        if features.chunk_index and self.chunks:
            groups.append((8, b"".join(self.chunks)))
        if features.attachment_index and self.attachments:
            groups.append((10, b"".join(self.attachments)))
        if features.metadata_index and self.metadata:
            groups.append((13, b"".join(self.metadata)))
        offsets = []
        for opcode, records in groups:
            offsets.append(self.record(14, struct.pack("<BQQ", opcode, out.tell(), len(records))))
            out.write(records)
        offset_start = 0
        if features.summary_offsets and offsets:
            offset_start = out.tell()
            out.write(b"".join(offsets))
        summary_start = start if groups else 0
        body = struct.pack("<QQ", summary_start, offset_start)
        before = out.getvalue()[start:] + struct.pack("<BQ", 2, 20) + body
        out.write(struct.pack("<BQ", 2, 20) + body + struct.pack("<I", zlib.crc32(before)) + MAGIC)

    def statistics(self) -> bytes:
        content = self.content
        count = content.messages
        channels = struct.pack("<HQ", 1, count) if count else b""
        schemas = int(bool(count) and not content.schemaless)
        times = (10, count + 9) if count else (0, 0)
        body = struct.pack(
            "<QHIIII",
            count,
            schemas,
            int(bool(count)),
            len(self.attachments),
            len(self.metadata),
            len(self.chunks),
        )
        return self.record(11, body + struct.pack("<QQI", *times, len(channels)) + channels)


def build(features: Features, content: Content, compression: str = "") -> bytes:
    """A file of these features, with that content."""
    return Variant(features, content, compression).build()
