"""Finds what a file holds without a summary: a file that was cut off, or whose summary lies."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import Where
from twinloop.core.recording import Problem
from twinloop.formats.mcap.chunk import chunk_tape
from twinloop.formats.mcap.contents import Contents, Region
from twinloop.formats.mcap.records import (
    LATER_FIELDS_BYTES,
    PREFIX,
    AttachmentIndex,
    BadRecord,
    Channel,
    ChunkHeader,
    ChunkIndex,
    Metadata,
    MetadataIndex,
    Opcode,
    Schema,
)
from twinloop.formats.mcap.tape import FileTape
from twinloop.formats.mcap.walk import Damage, Found, Other, headers_at, walk

if TYPE_CHECKING:
    from twinloop.formats.mcap.source import Source
    from twinloop.formats.notes import Notes


def rebuild(
    source: Source, contents: Contents, start: int, end: int, notes: Notes, *, truncated: bool
) -> Contents:
    """Fill `contents` with what the bytes [start, end) of the file hold.

    Reads the heads of top-level records, and looks into a chunk only where nothing else tells its channels.
    `truncated`: the file does not end with a footer, which is noted with what was cut.
    """
    _Rebuild(source, contents, notes).run(start, end, truncated)
    return contents


class _Rebuild:
    def __init__(self, source: Source, contents: Contents, notes: Notes) -> None:
        self.source = source
        self.contents = contents
        self.notes = notes
        self.file = str(source.path)
        self.region: Region | None = None
        self.data_ended = False

    def run(self, start: int, end: int, truncated: bool) -> None:
        cut: Other | None = None
        for item in walk(
            FileTape(self.source), start, end, wanted=lambda _: False, known=self.contents.channels.keys()
        ):
            match item:
                case Found():
                    self.messages(item)
                case Other():
                    self.record(item)
                case Damage():
                    cut = self.damage(item, truncated)
        self.close_region()
        for chunk in self.contents.chunks:
            if not chunk.index_length or chunk.channels - self.contents.channels.keys():
                look_inside(self.source, self.contents, chunk, tally=not chunk.index_length)
        self.contents.counted = True
        if truncated:
            self.note_cut(end, cut)

    def messages(self, found: Found) -> None:
        headers = headers_at(found.buffer, found.positions)
        first = found.base + int(found.positions[0])
        last = found.base + int(found.positions[-1]) + PREFIX.size + int(headers["length"][-1])
        self.region = Region(self.region.offset if self.region else first, last)
        for channel in np.unique(headers["channel"]).tolist():
            mine = headers["channel"] == channel
            self.contents.tally(channel).add(
                headers["log_ns"][mine], (found.base + found.positions[mine]).astype(np.int64)
            )

    def record(self, item: Other) -> None:
        try:
            self.parsed(item)
        except BadRecord as why:
            where = Where(self.file, byte=item.offset)
            self.notes.add(Problem.CORRUPT, f"a damaged {_called(item.opcode)}: {why}", where, None)

    def parsed(self, item: Other) -> None:
        contents, length = self.contents, PREFIX.size + item.length
        match item.opcode:
            case Opcode.SCHEMA:
                schema = Schema.parse(item.data)
                contents.schemas.setdefault(schema.id, schema)
            case Opcode.CHANNEL:
                channel = Channel.parse(item.data)
                contents.channels.setdefault(channel.id, channel)
            case Opcode.CHUNK:
                self.close_region()
                contents.chunks.append(chunk_index(item))
            case Opcode.MESSAGE_INDEX:
                self.message_index(item)
            case Opcode.ATTACHMENT:
                contents.attachments.append(AttachmentIndex.of_attachment(item.offset, length, item.data))
            case Opcode.METADATA:
                contents.metadata.append(MetadataIndex(item.offset, length, Metadata.parse(item.data).name))
            case Opcode.DATA_END:
                self.data_ended = True

    def message_index(self, item: Other) -> None:
        chunks = self.contents.chunks
        if not chunks or len(item.data) < 6:
            return
        chunk = chunks[-1]
        if chunk.offset + chunk.length + chunk.index_length != item.offset:
            return
        channel, size = int.from_bytes(item.data[:2], "little"), int.from_bytes(item.data[2:6], "little")
        if not 0 <= item.length - size - 6 <= LATER_FIELDS_BYTES:
            raise BadRecord(f"entries of {size} bytes in {item.length}")
        chunks[-1] = replace(
            chunk,
            channels=chunk.channels | {channel},
            index_length=chunk.index_length + PREFIX.size + item.length,
        )
        tally = self.contents.tally(channel)
        tally.count = (tally.count or 0) + size // 16

    def damage(self, damage: Damage, truncated: bool) -> Other | None:
        """Note it; gives the record that the end of the file cut, if it is that."""
        cut = damage.cut
        if cut is not None and truncated and damage.end == self.source.size:
            if cut.opcode == Opcode.CHUNK:
                self.close_region()
                try:
                    chunk = chunk_index(cut)
                except BadRecord:
                    return cut
                self.contents.chunks.append(replace(chunk, length=damage.end - cut.offset))
            return cut
        size = damage.end - damage.offset
        where = Where(self.file, byte=damage.offset)
        self.notes.add(Problem.CORRUPT, f"{size} bytes that are no record, passed over", where, None)
        return None

    def close_region(self) -> None:
        if self.region is not None:
            self.contents.regions.append(self.region)
            self.region = None

    def note_cut(self, end: int, cut: Other | None) -> None:
        if self.data_ended:
            what, lost = "after all data, inside its summary", 0
        elif cut is None:
            what, lost = "without a footer, after a whole record", 0
        elif cut.opcode == Opcode.MESSAGE:
            what, lost = f"inside the message that starts at byte {cut.offset}", 1
        elif cut.opcode == Opcode.CHUNK:
            missing = PREFIX.size + cut.length - (end - cut.offset)
            what = f"inside the chunk that starts at byte {cut.offset}, of which {missing} bytes are missing"
            return self._note_cut(end, what, None)
        else:
            what, lost = f"inside the {_called(cut.opcode)} that starts at byte {cut.offset}", 0
        return self._note_cut(end, what, lost)

    def _note_cut(self, end: int, what: str, lost: int | None) -> None:
        message = f"the file ends at byte {end}, {what}"
        self.notes.add(Problem.TRUNCATED, message, Where(self.file, byte=end), lost)


def chunk_index(item: Other) -> ChunkIndex:
    """The index entry of a Chunk record, as its own header has it.

    Raises:
        BadRecord: the header contradicts itself.
    """
    header = ChunkHeader.parse(item.data[: ChunkHeader.MOST])
    if not header.fits(item.length):
        raise BadRecord(f"{header.stored} bytes of data in a chunk of {item.length}")
    return ChunkIndex(
        start_ns=header.start_ns,
        end_ns=header.end_ns,
        offset=item.offset,
        length=PREFIX.size + item.length,
        channels=frozenset(),
        index_length=0,
        compression=header.compression,
        stored=header.stored,
        uncompressed_size=header.uncompressed_size,
    )


def look_inside(source: Source, contents: Contents, chunk: ChunkIndex, *, tally: bool) -> None:
    """Take the schemas and channels that a chunk defines, and with `tally` count its messages."""
    try:
        tape, size = chunk_tape(source, chunk)
    except BadRecord:
        return  # the scan notes it
    for item in walk(tape, 0, size, wanted=lambda _: False):
        if isinstance(item, Found) and tally:
            headers = headers_at(item.buffer, item.positions)
            for channel in np.unique(headers["channel"]).tolist():
                mine = headers["log_ns"][headers["channel"] == channel]
                contents.tally(channel).add(mine)
        elif isinstance(item, Other):
            try:
                if item.opcode == Opcode.SCHEMA:
                    schema = Schema.parse(item.data)
                    contents.schemas.setdefault(schema.id, schema)
                elif item.opcode == Opcode.CHANNEL:
                    described = Channel.parse(item.data)
                    contents.channels.setdefault(described.id, described)
            except BadRecord:
                continue


def _called(opcode: int) -> str:
    try:
        return f"{Opcode(opcode).name.lower().replace('_', ' ')} record"
    except ValueError:
        return f"record with opcode {opcode}"
