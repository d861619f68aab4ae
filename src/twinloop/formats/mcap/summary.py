"""Reads what an MCAP file says of itself at its end, and does not believe what cannot be true."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from twinloop.core.errors import UnreadableError, Where
from twinloop.core.recording import Problem
from twinloop.formats.mcap.contents import Contents, Region
from twinloop.formats.mcap.rebuild import look_inside, rebuild
from twinloop.formats.mcap.records import (
    FOOTER_BYTES,
    LATER_FIELDS_BYTES,
    MAGIC,
    PREFIX,
    TAIL_BYTES,
    AttachmentIndex,
    BadRecord,
    Channel,
    ChunkIndex,
    Footer,
    Header,
    Metadata,
    MetadataIndex,
    Opcode,
    Schema,
    Statistics,
)
from twinloop.formats.mcap.tape import FileTape, MemoryTape
from twinloop.formats.mcap.walk import Damage, Found, Other, walk

if TYPE_CHECKING:
    from twinloop.formats.mcap.source import Source
    from twinloop.formats.notes import Notes

_DATA_END_BYTES = PREFIX.size + 4


class _Distrust(Exception):
    """Why the summary is not used."""


def read_contents(source: Source, notes: Notes) -> Contents:
    """What the file holds, from its summary where that can be believed, else by walking its records.

    Raises:
        UnreadableError: it does not start as an MCAP file.
    """
    if source.read(0, len(MAGIC)) != MAGIC:
        raise UnreadableError(
            "this is not an MCAP file", where=str(source.path), expected=f"{MAGIC!r} at byte 0"
        )
    header, start = _header(source, notes)
    contents, end = Contents(header), source.size
    footer = _footer(source, notes)
    if footer is not None:
        end = source.size - TAIL_BYTES
        try:
            _read_summary(source, contents, footer, start)
            return contents
        except (_Distrust, BadRecord) as why:
            message = f"{why}: found what it holds by walking it"
            notes.add(Problem.INDEX, message, Where(str(source.path), byte=footer.summary_start))
    return rebuild(source, contents, start, end, notes, truncated=footer is None)


def _header(source: Source, notes: Notes) -> tuple[Header, int]:
    start = len(MAGIC)
    prefix = source.read(start, PREFIX.size)
    if len(prefix) == PREFIX.size:
        opcode, length = PREFIX.unpack(prefix)
        if opcode == Opcode.HEADER and length < 1 << 20:
            try:
                header = Header.parse(source.read(start + PREFIX.size, length))
                return header, start + PREFIX.size + length
            except BadRecord:
                pass
        where = Where(str(source.path), byte=start)
        notes.add(Problem.CORRUPT, "the header record is damaged", where)
    return Header("", ""), start


def _footer(source: Source, notes: Notes) -> Footer | None:
    """The footer; None where the file does not end with one."""
    at = source.size - TAIL_BYTES
    tail = source.read(at, TAIL_BYTES) if at >= len(MAGIC) else b""
    if len(tail) < TAIL_BYTES or PREFIX.unpack_from(tail) != (Opcode.FOOTER, 20):
        return None
    if tail[FOOTER_BYTES:] != MAGIC:
        where = Where(str(source.path), byte=at + FOOTER_BYTES)
        notes.add(Problem.CORRUPT, "the magic bytes after the footer are damaged", where)
    return Footer.parse(tail[PREFIX.size : FOOTER_BYTES])


def _read_summary(source: Source, contents: Contents, footer: Footer, start: int) -> None:
    """Fill `contents`; raises _Distrust and leaves it as it was where the summary cannot be believed."""
    end = source.size - TAIL_BYTES
    if footer.summary_start == 0:
        raise _Distrust("the file has no summary")
    data_end = _data_end(source, footer.summary_start, start, end)
    if data_end is None:
        raise _Distrust(f"the footer puts the summary at byte {footer.summary_start}, where none starts")
    summary = source.read(footer.summary_start, end - footer.summary_start)
    tail = source.read(end, FOOTER_BYTES - 4)
    if footer.summary_crc and zlib.crc32(tail, zlib.crc32(summary)) != footer.summary_crc:
        raise _Distrust("the summary does not match its CRC")
    fresh = Contents(contents.header)
    statistics = _parse(summary, fresh)
    _place(source, fresh, statistics, start, data_end)
    _count(fresh, statistics)
    _describe(source, fresh)
    for name in Contents.__slots__:
        setattr(contents, name, getattr(fresh, name))


def _data_end(source: Source, summary_start: int, start: int, end: int) -> int | None:
    """Where the DataEnd record before the summary starts; None where none ends there."""
    latest = summary_start - _DATA_END_BYTES
    if not start <= latest <= end:
        return None
    earliest = max(start, latest - LATER_FIELDS_BYTES)
    before = source.read(earliest, latest - earliest + PREFIX.size)
    for at in range(latest - earliest, -1, -1):
        if before[at : at + PREFIX.size] == PREFIX.pack(
            Opcode.DATA_END, summary_start - earliest - at - PREFIX.size
        ):
            return earliest + at
    return None


def _parse(summary: bytes, contents: Contents) -> Statistics | None:
    statistics = None
    for item in walk(MemoryTape(memoryview(summary)), 0, len(summary)):
        if not isinstance(item, Other):
            raise _Distrust(f"the summary holds something else at its byte {_offset(item)}")
        content = summary[item.offset + PREFIX.size : item.end]
        match item.opcode:
            case Opcode.SCHEMA:
                schema = Schema.parse(content)
                contents.schemas[schema.id] = schema
            case Opcode.CHANNEL:
                channel = Channel.parse(content)
                contents.channels[channel.id] = channel
            case Opcode.CHUNK_INDEX:
                contents.chunks.append(ChunkIndex.parse(content))
            case Opcode.ATTACHMENT_INDEX:
                contents.attachments.append(AttachmentIndex.parse(content))
            case Opcode.METADATA_INDEX:
                contents.metadata.append(MetadataIndex.parse(content))
            case Opcode.STATISTICS:
                statistics = Statistics.parse(content)
    contents.chunks.sort(key=lambda chunk: chunk.offset)
    return statistics


def _offset(item: Found | Damage) -> int:
    return item.base if isinstance(item, Found) else item.offset


def _place(
    source: Source, contents: Contents, statistics: Statistics | None, start: int, data_end: int
) -> None:
    """Hold what the summary places against the data section: no overlap, nothing outside, no gap unsaid."""
    if not contents.chunks:
        if statistics and statistics.message_count and not statistics.chunk_count:
            indexed = len(contents.attachments), len(contents.metadata)
            if indexed != (statistics.attachment_count, statistics.metadata_count):
                raise _Distrust("the summary has no index of attachments or metadata")
            contents.regions = [Region(start, data_end)]
            return
        if statistics is None or statistics.message_count:
            raise _Distrust("the summary has no index of messages")
    spans = sorted(
        [(c.offset, c.offset + c.length + c.index_length) for c in contents.chunks]
        + [(a.offset, a.offset + a.length) for a in contents.attachments]
        + [(m.offset, m.offset + m.length) for m in contents.metadata]
    )
    at = start
    for span_start, span_end in [*spans, (data_end, data_end)]:
        if span_start < at or span_end > data_end:
            raise _Distrust(f"the summary places something at byte {span_start}, where it cannot be")
        if span_start > at:
            _look_through(source, contents, at, span_start)
        at = span_end


def _look_through(source: Source, contents: Contents, start: int, end: int) -> None:
    """Take in what the summary does not list of the bytes between what it lists."""
    for item in walk(FileTape(source), start, end, wanted=lambda _: False):
        if not isinstance(item, Other):
            raise _Distrust(f"the summary does not list what is at byte {_offset(item)}")
        match item.opcode:
            case Opcode.CHUNK:
                raise _Distrust(f"the summary does not list the chunk at byte {item.offset}")
            case Opcode.SCHEMA:
                schema = Schema.parse(item.data)
                contents.schemas.setdefault(schema.id, schema)
            case Opcode.CHANNEL:
                channel = Channel.parse(item.data)
                contents.channels.setdefault(channel.id, channel)
            case Opcode.ATTACHMENT:
                length = PREFIX.size + item.length
                contents.attachments.append(AttachmentIndex.of_attachment(item.offset, length, item.data))
            case Opcode.METADATA:
                name = Metadata.parse(item.data).name
                contents.metadata.append(MetadataIndex(item.offset, PREFIX.size + item.length, name))


def _describe(source: Source, contents: Contents) -> None:
    """Find the schemas and channels that the summary does not repeat: a chunk defines what it first uses."""
    sought: set[int] = set()
    untold = not contents.channels and not contents.tallies
    for chunk in contents.chunks:
        unknown = (chunk.channels or contents.tallies.keys()) - sought - _described(contents)
        if unknown or (untold and not chunk.channels):
            look_inside(source, contents, chunk, tally=False)
            sought |= chunk.channels
    missing = contents.tallies.keys() - _described(contents)
    if missing and contents.regions:
        raise _Distrust(f"the summary does not describe channel {min(missing)}")


def _described(contents: Contents) -> set[int]:
    schemas = {0, *contents.schemas}
    return {channel.id for channel in contents.channels.values() if channel.schema_id in schemas}


def _count(contents: Contents, statistics: Statistics | None) -> None:
    if statistics is None:
        return
    for channel, count in statistics.channel_counts.items():
        contents.tally(channel).count = count
    contents.counted = contents.declared = sum(statistics.channel_counts.values()) == statistics.message_count
