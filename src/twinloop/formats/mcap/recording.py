"""An MCAP file as a recording."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from twinloop.core.errors import Where
from twinloop.core.recording import Attachment, Problem, Recording
from twinloop.formats.mcap.records import PREFIX, BadRecord, Metadata, Opcode
from twinloop.formats.mcap.scan import Request, Scan
from twinloop.formats.mcap.source import Source
from twinloop.formats.mcap.summary import read_contents
from twinloop.formats.mcap.tallies import read_tallies
from twinloop.formats.mcap.topics import read_topics
from twinloop.formats.notes import Notes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from twinloop.core.stream import Batch
    from twinloop.formats.mcap.contents import Contents
    from twinloop.formats.reader import ReadOptions

#: Metadata records are kept in memory up to this many bytes of one.
_LARGEST_METADATA = 16 << 20


class McapRecording(Recording):
    """One file.

    Opening reads its summary and, to tell kinds and clocks, the first and the last message of each channel.
    A chunk is read and decompressed once a scan, for all wanted streams together; chunks that hold none of
    them, or that lie outside the wanted span of time, are not read. Where a stream is ordered by its stamps,
    a sample whose stamp strays from its time of receipt by more than a minute may lie in such a chunk.

    Raises:
        UnreadableError: it is no MCAP file, or the system refuses to read it.
    """

    def __init__(self, path: Path, options: ReadOptions) -> None:
        notes = Notes()
        self._source = Source(path)
        try:
            self._contents = read_contents(self._source, notes)
            read_tallies(self._source, self._contents)
            self._topics = read_topics(self._source, self._contents, options.types_dir, notes)
            metadata = _metadata(self._source, self._contents, notes)
        except BaseException:
            self._source.close()
            raise
        self._verify = options.verify
        self._notes = notes
        super().__init__(
            path,
            "mcap",
            files=(path,),
            streams={name: topic.decoded.stream for name, topic in self._topics.items()},
            metadata=metadata,
            attachments=tuple(_attachments(path, self._contents)),
            notes=notes.all,
        )

    @property
    def bytes_read(self) -> int:
        """Bytes that were read from the file so far."""
        return self._source.bytes_read

    def scan(
        self,
        streams: Collection[str] | None = None,
        *,
        start_ns: int | None = None,
        end_ns: int | None = None,
        payload: bool = True,
    ) -> Iterator[Batch]:
        """All samples of the named streams in one pass; see `Recording.scan`."""
        topics = [self._topics[name] for name in self.check_names(streams)]
        request = Request(topics, start_ns, end_ns, payload, self._verify)
        return Scan(self._source, self._contents, request, self._notes).run()

    def read_attachment(self, attachment: Attachment) -> bytes:
        """The bytes of an attachment as carried; a CRC that does not match is noted."""
        data = self._source.read(attachment.offset, attachment.size)
        where = Where(str(self.path), byte=attachment.offset)
        if len(data) < attachment.size:
            message = f"attachment {attachment.name!r} is cut off after {len(data)} of {attachment.size} bytes"
            self._notes.add(Problem.TRUNCATED, message, where)
            return data
        record = next(a for a in self._contents.attachments if a.data_offset == attachment.offset)
        start = record.offset + PREFIX.size
        before = self._source.read(start, attachment.offset - start)
        crc = int.from_bytes(self._source.read(attachment.offset + attachment.size, 4), "little")
        if crc and zlib.crc32(data, zlib.crc32(before)) != crc:
            self._notes.add(Problem.CORRUPT, f"attachment {attachment.name!r} does not match its CRC", where)
        return data

    def close(self) -> None:
        """Let go of the file."""
        self._source.close()


def _attachments(path: Path, contents: Contents) -> Iterator[Attachment]:
    for found in sorted(contents.attachments, key=lambda a: a.offset):
        yield Attachment(
            name=found.name,
            media_type=found.media_type,
            size=found.data_size,
            log_ns=found.log_ns,
            file=str(path),
            offset=found.data_offset,
        )


def _metadata(source: Source, contents: Contents, notes: Notes) -> dict[str, str]:
    """The file's key-value records as ``record/key``; a second record of one name is ``record#2/key``."""
    values = {"mcap/profile": contents.header.profile, "mcap/library": contents.header.library}
    values = {name: value for name, value in values.items() if value}
    seen: dict[str, int] = {}
    for found in sorted(contents.metadata, key=lambda m: m.offset):
        where = Where(str(source.path), byte=found.offset)
        if not PREFIX.size < found.length <= _LARGEST_METADATA:
            notes.add(Problem.CORRUPT, f"metadata {found.name!r} of {found.length} bytes is left out", where)
            continue
        raw = source.read(found.offset, found.length)
        try:
            if raw[:1] != bytes([Opcode.METADATA]):
                raise BadRecord("no such record is there")
            record = Metadata.parse(raw[PREFIX.size :])
        except BadRecord as why:
            notes.add(Problem.CORRUPT, f"metadata {found.name!r} cannot be read: {why}", where)
            continue
        seen[record.name] = seen.get(record.name, 0) + 1
        name = record.name if seen[record.name] == 1 else f"{record.name}#{seen[record.name]}"
        values.update({f"{name}/{key}": value for key, value in record.values.items()})
    return values
