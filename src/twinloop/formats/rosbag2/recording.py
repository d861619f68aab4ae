"""One SQLite file of a ROS 2 bag as a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import UnreadableError, Where
from twinloop.core.recording import Problem, ReadNote, Recording
from twinloop.formats.bag.channel import (
    Channel,
    Facts,
    Messages,
    Sample,
    misfit_note,
    note_once,
    open_channel,
    to_batch,
)
from twinloop.formats.rosbag2.database import Database, Topic, TopicSpan, open_database
from twinloop.formats.rosbag2.definitions import Definitions
from twinloop.formats.rosbag2.metadata import BagMetadata, parse_metadata
from twinloop.formats.rosbag2.rows import Rows, read_rows

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from twinloop.core.stream import Batch

#: A message that claims to unpack to more than this is not one.
_MAX_MESSAGE = 1 << 30


class Db3Recording(Recording):
    """One storage file.

    Args:
        path: of the file. metadata: what the bag declares; None: what the file itself holds of it.
        types_dir: folder of message definitions for bags that carry none.
        sole: the bag has no other file, so that declared counts are this file's.
    """

    def __init__(
        self,
        path: Path,
        metadata: BagMetadata | None = None,
        types_dir: Path | None = None,
        *,
        sole: bool = True,
    ) -> None:
        self._database = open_database(path)
        try:
            declared = metadata or _own_metadata(self._database)
            self._packed = declared.compression_mode == "message"
            self._topics = _by_name(self._database.topics)
            self._channels = self._open_channels(declared, types_dir, sole)
        except BaseException:
            self._database.close()
            raise
        super().__init__(
            path,
            "rosbag2",
            files=(path,),
            streams={name: channel.stream for name, channel in self._channels.items()},
            metadata=dict(declared.texts),
            notes=self._database.notes,
        )

    def scan(
        self,
        streams: Collection[str] | None = None,
        *,
        start_ns: int | None = None,
        end_ns: int | None = None,
        payload: bool = True,
    ) -> Iterator[Batch]:
        """Samples in the order they were written."""
        return self._scan(self.check_names(streams), start_ns, end_ns, payload)

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def _scan(
        self, names: list[str], start_ns: int | None, end_ns: int | None, payload: bool
    ) -> Iterator[Batch]:
        channels = {self._topics[name].id: self._channels[name].fresh() for name in names}
        done = False
        try:
            for rows in read_rows(self._database, list(channels)):
                lengths, buffer = self._lay_out(rows)
                offsets = np.cumsum(lengths) - lengths
                where = Where(file=str(self.path), row=rows.first_id)
                for topic, channel in channels.items():
                    picked = np.flatnonzero(rows.topic == topic)
                    messages = Messages(
                        buffer,
                        offsets[picked],
                        lengths[picked],
                        rows.log_ns[picked],
                        None if rows.publish_ns is None else rows.publish_ns[picked],
                    )
                    batch = to_batch(
                        channel, messages, start_ns=start_ns, end_ns=end_ns, payload=payload, where=where
                    )
                    if batch is not None:
                        yield batch
            done = True
        finally:
            for channel in channels.values():
                note_once(self.notes, misfit_note(channel))
                if done:
                    note_once(self.notes, self._count_note(channel))

    def _lay_out(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Lengths (N,) int64 and all messages in one buffer (B,) uint8; a broken message has length 0."""
        blobs = [self._unpack(blob, rows.first_id) for blob in rows.blobs] if self._packed else rows.blobs
        lengths = np.fromiter(map(len, blobs), np.int64, len(blobs))
        return lengths, np.frombuffer(b"".join(blobs), np.uint8)

    def _unpack(self, blob: bytes, row: int) -> bytes:
        import zstandard

        try:
            return zstandard.ZstdDecompressor().decompress(blob, max_output_size=_MAX_MESSAGE)
        except (zstandard.ZstdError, MemoryError) as error:
            where = Where(file=str(self._database.path), row=row)
            message = f"a compressed message behind this row does not unpack ({error})"
            note_once(self._database.notes, ReadNote(Problem.CORRUPT, message, where, 1))
            return b""

    def _count_note(self, channel: Channel) -> ReadNote | None:
        declared = channel.stream.count
        if declared is None or declared == channel.seen:
            return None
        message = f"{declared} messages are declared, {channel.seen} could be read"
        where = Where(file=str(self.path), stream=channel.stream.name)
        return ReadNote(Problem.COUNT, message, where, max(0, declared - channel.seen))

    def _open_channels(self, declared: BagMetadata, types_dir: Path | None, sole: bool) -> dict[str, Channel]:
        database = self._database
        spans = database.spans()
        distro = declared.distro or database.distro
        definitions = Definitions(database.path, database.definitions, types_dir, distro, database.notes)
        channels = {}
        for name, topic in self._topics.items():
            span = spans.get(topic.id)
            count = span.count if span else None
            if count is None and sole:
                count = declared.counts.get(name)
            if count is None and span is None:
                count = 0
            first = self._sample(span.first_id) if span else None
            last = self._sample(span.last_id) if span else None
            start, end = _log_span(span, first, last)
            facts = Facts(
                name=name,
                type_name=topic.type_name,
                encoding=topic.serialization,
                count=count,
                first=first,
                last=last,
                start_log_ns=start,
                end_log_ns=end,
                bytes=span.bytes if span else 0,
                attributes=_attributes(topic),
            )
            decoder = definitions.decoder(topic.type_name, topic.serialization, name)
            channels[name] = open_channel(facts, decoder)
        definitions.note_standard()
        return channels

    def _sample(self, row_id: int) -> Sample | None:
        found = self._database.message(row_id)
        if found is None:
            return None
        data, log_ns = found
        return Sample(self._unpack(data, row_id) if self._packed else data, log_ns)


def _own_metadata(database: Database) -> BagMetadata:
    """The metadata that the file holds itself; that of a bag without any, if there is none."""
    if database.metadata is None:
        return BagMetadata()
    try:
        return parse_metadata(database.metadata, str(database.path))
    except UnreadableError as error:
        database.notes.append(ReadNote(Problem.INDEX, error.what, Where(file=str(database.path))))
        return BagMetadata()


def _log_span(
    span: TopicSpan | None, first: Sample | None, last: Sample | None
) -> tuple[int | None, int | None]:
    """First and last time of recording: as counted, else those of the first and last message."""
    if span is not None and span.start_ns is not None:
        return span.start_ns, span.end_ns
    return first.log_ns if first else None, last.log_ns if last else None


def _by_name(topics: list[Topic]) -> dict[str, Topic]:
    """Streams by name; a topic that was recorded with two types is two streams."""
    by_name: dict[str, Topic] = {}
    for topic in topics:
        name = f"{topic.name} ({topic.type_name})" if topic.name in by_name else topic.name
        by_name[name if name not in by_name else f"{name} {topic.id}"] = topic
    return by_name


def _attributes(topic: Topic) -> dict[str, str]:
    known = {"offered_qos_profiles": topic.qos, "type_description_hash": topic.type_hash}
    return {name: text for name, text in known.items() if text}
