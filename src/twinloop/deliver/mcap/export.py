"""Writing a session as an MCAP file: ROS 2 messages in CDR, or Foxglove's in protobuf."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from twinloop import __version__
from twinloop.deliver.mcap.calibration import calibration_messages
from twinloop.deliver.mcap.channel import plan_channel
from twinloop.deliver.mcap.facts import session_facts, stream_facts
from twinloop.deliver.workspace import whole_file
from twinloop.formats.mcap.written.facts import RECORD, SESSION, STREAM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from mcap.writer import Writer

    from twinloop.core.recording import Recording
    from twinloop.deliver.mcap.channel import Channel
    from twinloop.deliver.mcap.message import Message
    from twinloop.deliver.mcap.own import Encoding
    from twinloop.deliver.source import ExportSource

_PROFILES = {"ros2": "ros2", "foxglove": ""}
_CHUNK_BYTES = 4 << 20
#: (log time, channel, sequence, publish time, message): one record on its way into the file.
_Record = tuple[int, int, int, int, memoryview]


@dataclass(slots=True)
class McapAccount:
    """What was written.

    Attributes:
        messages: stream -> count. types: stream -> message type. beside: streams with a companion channel.
        encoded_again: streams whose images were encoded again: see `pictures`.
        lost_images: stream -> images that could not be had.
    """

    path: str
    session: str
    messages: dict[str, int] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    beside: list[str] = field(default_factory=list)
    encoded_again: list[str] = field(default_factory=list)
    lost_images: dict[str, int] = field(default_factory=dict)

    def add(self, channel: Channel) -> None:
        """A stream that is about to be written."""
        name = channel.stream.name
        self.messages[name], self.types[name] = 0, channel.message.type_name
        if channel.companion:
            self.beside.append(name)
        if channel.pictures and channel.pictures.again:
            self.encoded_again.append(name)


def export_mcap(
    source: ExportSource,
    out: Path,
    *,
    encoding: Encoding = "ros2",
    exact: bool = False,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> McapAccount:
    """Write a session to the file `out`; it is there whole or not at all.

    Messages stand in the order of the times when viewers show them. Reading the file with twinloop gives the
    session's streams, columns, times, episodes and calibration back as they were; images that were encoded
    again are told in the account. `exact`: none is; where that would be so, raw pixels are written.

    Raises:
        UsageError: `out` exists, and `force` does not allow to replace it.
    """
    recording = source.recording
    account = McapAccount(str(out), source.session)
    with whole_file(out, force) as (partial, _), partial.open("wb") as file:
        from mcap.writer import CompressionType
        from mcap.writer import Writer as McapWriter

        writer = McapWriter(file, chunk_size=_CHUNK_BYTES, compression=CompressionType.ZSTD)
        writer.start(profile=_PROFILES[encoding], library=f"twinloop {__version__}")
        facts = {SESSION: session_facts(source)}
        writing = _Writing(writer, set(recording.streams))
        records: list[Iterator[_Record]] = []
        for fixed in calibration_messages(recording.calibration, encoding):
            id = writing.channel(writing.topic(fixed.topic), fixed.message)
            records.append(fixed.records(id, _first_time(recording)))
        for name, stream in recording.streams.items():
            reordered = _has_b_frames(recording, name)
            channel = plan_channel(recording, stream, encoding, b_frames=reordered, exact=exact)
            companion = writing.topic(f"{name}/columns") if channel.companion else None
            beside = writing.channel(companion, channel.companion) if companion and channel.companion else None
            facts[f"{STREAM}{name}"] = stream_facts(channel, companion)
            account.add(channel)
            ids = (writing.channel(name, channel.message), beside)
            records.append(_records(recording, channel, ids, account))
        total = sum(stream.count or 0 for stream in recording.streams.values())
        for done, (log_ns, id, sequence, publish_ns, data) in enumerate(
            heapq.merge(*records, key=lambda record: record[0])
        ):
            writer.add_message(id, log_ns, data, publish_ns, sequence)  # type: ignore[arg-type]
            if progress and not done % 1000:
                progress(min(done, total), total)
        for attachment in recording.attachments:
            content = recording.read_attachment(attachment)
            time = attachment.log_ns or 0
            writer.add_attachment(time, time, attachment.name, attachment.media_type, content)
        writer.add_metadata(RECORD, facts)
        writer.finish()
    return account


class _Writing:
    """Registers channels with a writer and gives their records. `taken`: topics that are in use."""

    def __init__(self, writer: Writer, taken: set[str]) -> None:
        self._writer = writer
        self._taken = taken
        self._schemas: dict[tuple[str, bytes], int] = {}

    def topic(self, name: str) -> str:
        """`name`, or one like it that no other channel has."""
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def channel(self, topic: str, message: Message) -> int:
        """The number of a new channel."""
        key = (message.type_name, message.schema)
        if key not in self._schemas:
            self._schemas[key] = self._writer.register_schema(
                message.type_name, message.schema_encoding, message.schema
            )
        return self._writer.register_channel(topic, message.encoding, self._schemas[key])


def _records(
    recording: Recording, channel: Channel, ids: tuple[int, int | None], account: McapAccount
) -> Iterator[_Record]:
    """The records of a stream and of its companion, in the order of its rows."""
    name, (id, beside) = channel.stream.name, ids
    for messages in channel.messages(recording):
        log_ns, publish_ns = messages.log_ns.tolist(), messages.publish_ns.tolist()
        sequence, starts = messages.sequence.tolist(), messages.starts.tolist()
        companions = iter(messages.beside or ())
        for start, end, data in zip(starts, [*starts[1:], len(log_ns)], messages.main, strict=True):
            yield log_ns[start], id, sequence[start], publish_ns[start], data
            account.messages[name] += 1
            if beside is not None:
                for row in range(start, end):
                    yield log_ns[start], beside, sequence[row], publish_ns[row], next(companions)
    if channel.pictures:
        channel.pictures.close()
        if channel.pictures.lost:
            account.lost_images[name] = channel.pictures.lost


def _first_time(recording: Recording) -> int:
    """Of its streams, on their timelines; 0 without any."""
    return max(min((s.start_ns for s in recording.streams.values() if s.start_ns is not None), default=0), 0)


def _has_b_frames(recording: Recording, stream: str) -> bool:
    from twinloop.store.stored import StoredSession

    if not isinstance(recording, StoredSession):
        return False
    return any(facts.has_b_frames for facts in recording.segment_facts(stream))
