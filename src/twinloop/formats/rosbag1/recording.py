"""A ROS 1 bag as a recording."""

from __future__ import annotations

from dataclasses import dataclass, field
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
from twinloop.formats.rosbag1.chunk import ChunkRef, Loaded, load
from twinloop.formats.rosbag1.messages import Found
from twinloop.formats.rosbag1.plan import Plan, make_plan
from twinloop.formats.rosbag1.records import BagFile, BrokenRecordError, Connection

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

    from twinloop.core.stream import Batch
    from twinloop.formats.messages import MessageDecoder

#: Chunks are decoded together up to this many bytes: large batches are fast, memory stays flat.
_BATCH_BYTES = 8 << 20
#: Chunks that opening unpacks, at most, to learn the first and last messages of the streams.
_SAMPLE_CHUNKS = 32


class RosBag1Recording(Recording):
    """One bag file. A topic is a stream, whoever published on it."""

    def __init__(self, path: Path) -> None:
        self._file = BagFile(path)
        try:
            self._plan = make_plan(self._file)
            notes = list(self._plan.notes)
            if not self._plan.connections and not self._plan.indexed:
                raise UnreadableError("the bag holds no message that can be read", where=str(path))
            self._topics = _topics(self._plan)
            self._channels = self._open_channels(notes)
        except BaseException:
            self._file.close()
            raise
        super().__init__(
            path,
            "rosbag1",
            files=(path,),
            streams={name: channel.stream for name, channel in self._channels.items()},
            notes=notes,
        )

    def scan(
        self,
        streams: Collection[str] | None = None,
        *,
        start_ns: int | None = None,
        end_ns: int | None = None,
        payload: bool = True,
    ) -> Iterator[Batch]:
        """Samples chunk by chunk; a stream of several publishers is merged in the order of recording."""
        return self._scan(self.check_names(streams), start_ns, end_ns, payload)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _scan(
        self, names: list[str], start_ns: int | None, end_ns: int | None, payload: bool
    ) -> Iterator[Batch]:
        channels = {name: self._channels[name].fresh() for name in names}
        group: list[Loaded] = []
        size = 0
        try:
            for loaded in self._load_chunks(channels.values(), start_ns, end_ns):
                group.append(loaded)
                size += len(loaded.data)
                if size >= _BATCH_BYTES:
                    yield from self._decode(channels, group, start_ns, end_ns, payload)
                    group, size = [], 0
            yield from self._decode(channels, group, start_ns, end_ns, payload)
        finally:
            for channel in channels.values():
                note_once(self.notes, misfit_note(channel))

    def _load_chunks(
        self, channels: Iterable[Channel], start_ns: int | None, end_ns: int | None
    ) -> Iterator[Loaded]:
        channels = list(channels)
        known = {chunk.pos for chunk in self._plan.chunks} | {self._plan.index_pos}
        for chunk in self._plan.chunks:
            wanted = {
                conn
                for channel in channels
                if _may_overlap(chunk, channel, start_ns, end_ns)
                for conn in self._topics[channel.stream.name].ids
                if chunk.counts is None or chunk.counts.get(conn)
            }
            if not wanted:
                continue
            try:
                loaded = load(self._file, chunk, wanted)
            except BrokenRecordError as error:
                lost = sum((chunk.counts or {}).get(conn, 0) for conn in wanted)
                where = Where(file=str(self.path), byte=chunk.pos)
                note_once(
                    self.notes, ReadNote(Problem.INDEX, f"the index names a chunk: {error.what}", where, lost)
                )
                continue
            for note in loaded.notes:
                note_once(self.notes, note)
            if self._plan.indexed and loaded.next_pos not in known:
                message = "what follows a chunk is none that the index lists; it was not read"
                where = Where(file=str(self.path), byte=loaded.next_pos)
                note_once(self.notes, ReadNote(Problem.INDEX, message, where, None))
            yield loaded

    def _decode(
        self,
        channels: dict[str, Channel],
        group: list[Loaded],
        start_ns: int | None,
        end_ns: int | None,
        payload: bool,
    ) -> Iterator[Batch]:
        if not group:
            return
        buffer = group[0].data if len(group) == 1 else np.concatenate([loaded.data for loaded in group])
        starts = np.cumsum([0, *(len(loaded.data) for loaded in group)])
        where = Where(file=str(self.path), byte=group[0].pos)
        for name, channel in channels.items():
            parts = []
            for loaded, start in zip(group, starts.tolist(), strict=False):
                found = [loaded.messages[c] for c in self._topics[name].ids if c in loaded.messages]
                if found:
                    merged = found[0] if len(found) == 1 else Found.join(found)
                    parts.append((merged.offset + start, merged.length, merged.time_ns))
            if parts:
                offset, length, times = (np.concatenate(column) for column in zip(*parts, strict=True))
                messages = Messages(buffer, offset, length, times)
                batch = to_batch(
                    channel, messages, start_ns=start_ns, end_ns=end_ns, payload=payload, where=where
                )
                if batch is not None:
                    yield batch

    def _open_channels(self, notes: list[ReadNote]) -> dict[str, Channel]:
        firsts, lasts = self._samples()
        channels = {}
        for name, topic in self._topics.items():
            connection = topic.connections[0]
            ids = set(topic.ids)
            start, end = _span(self._plan, ids)
            facts = Facts(
                name=name,
                type_name=connection.type_name,
                encoding="ros1",
                count=self._plan.count(ids),
                first=firsts.get(name),
                last=lasts.get(name),
                start_log_ns=firsts[name].log_ns if name in firsts else start,
                end_log_ns=lasts[name].log_ns if name in lasts else end,
                attributes=_attributes(topic.connections),
            )
            channels[name] = open_channel(facts, self._decoder(connection, name, notes))
        return channels

    def _decoder(self, connection: Connection, name: str, notes: list[ReadNote]) -> MessageDecoder | None:
        from twinloop.formats.ros.decoder import ros_decoder
        from twinloop.formats.ros.definitions import DefinitionError

        try:
            return ros_decoder(
                connection.type_name, connection.definition, encoding="ros1", definition_format="ros1msg"
            )
        except DefinitionError as error:
            message = f"the definition of {connection.type_name} cannot be used ({error.what}); it is kept raw"
            where = Where(file=str(self._file.path), stream=name)
            notes.append(ReadNote(Problem.SCHEMA, message, where))
            return None

    def _samples(self) -> tuple[dict[str, Sample], dict[str, Sample]]:
        """The first and the last message of each stream, from as few chunks as hold them."""
        budget = _Budget(self._file, _SAMPLE_CHUNKS)
        firsts = self._ends(self._plan.chunks, budget, 0)
        lasts = self._ends(self._plan.chunks[::-1], budget, -1)
        return firsts, lasts

    def _ends(self, chunks: list[ChunkRef], budget: _Budget, row: int) -> dict[str, Sample]:
        samples: dict[str, Sample] = {}
        for chunk in chunks:
            missing = {
                name: ids
                for name, topic in self._topics.items()
                if name not in samples and (ids := [c for c in topic.ids if (chunk.counts or {}).get(c)])
            }
            if not missing:
                continue
            loaded = budget.load(chunk, {conn for ids in missing.values() for conn in ids})
            if loaded is None:
                break
            for name, ids in missing.items():
                found = [loaded.messages[c] for c in ids if c in loaded.messages and len(loaded.messages[c])]
                if found:
                    merged = Found.join(found)
                    start, size = int(merged.offset[row]), int(merged.length[row])
                    data = loaded.data[start : start + size].tobytes()
                    samples[name] = Sample(data, int(merged.time_ns[row]))
        return samples


@dataclass(slots=True)
class _Budget:
    """Loads chunks until a number of them is used up, so that opening stays cheap."""

    file: BagFile
    left: int
    empty: Loaded = field(default_factory=lambda: Loaded(0, np.zeros(0, np.uint8)))

    def load(self, chunk: ChunkRef, wanted: Collection[int]) -> Loaded | None:
        if not self.left:
            return None
        self.left -= 1
        try:
            return load(self.file, chunk, wanted)
        except BrokenRecordError:
            return self.empty


@dataclass(frozen=True, slots=True)
class _Topic:
    """The connections whose messages make up one stream."""

    connections: tuple[Connection, ...]

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(connection.id for connection in self.connections)


def _topics(plan: Plan) -> dict[str, _Topic]:
    """Streams by name. A topic on which different types were sent is one stream a type."""
    by_type: dict[tuple[str, str], list[Connection]] = {}
    for connection in plan.connections.values():
        by_type.setdefault((connection.topic, connection.type_name), []).append(connection)
    topics: dict[str, _Topic] = {}
    for (topic, type_name), connections in by_type.items():
        name = f"{topic} ({type_name})" if topic in topics else topic
        topics[name] = _Topic(tuple(connections))
    return topics


def _attributes(connections: tuple[Connection, ...]) -> dict[str, str]:
    callers = dict.fromkeys(c.callerid for c in connections if c.callerid)
    attributes = {"md5sum": connections[0].md5}
    if callers:
        attributes["callerid"] = ", ".join(callers)
    if any(connection.latching for connection in connections):
        attributes["latching"] = "1"
    return attributes


def _span(plan: Plan, conns: set[int]) -> tuple[int | None, int | None]:
    """Bounds on the times of some connections' messages, by the chunks that hold them."""
    holding = [c for c in plan.chunks if any((c.counts or {}).get(conn) for conn in conns)]
    starts = [c.start_ns for c in holding if c.start_ns is not None]
    ends = [c.end_ns for c in holding if c.end_ns is not None]
    return min(starts, default=None), max(ends, default=None)


def _may_overlap(chunk: ChunkRef, channel: Channel, start_ns: int | None, end_ns: int | None) -> bool:
    """Whether a chunk can hold samples of the span. Only times of recording tell: stamps may lie anywhere."""
    if channel.stream.timeline != "log_ns" or chunk.start_ns is None or chunk.end_ns is None:
        return True
    return not (end_ns is not None and chunk.start_ns >= end_ns) and not (
        start_ns is not None and chunk.end_ns < start_ns
    )
