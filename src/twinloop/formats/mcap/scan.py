"""One pass over a file: chunk by chunk, all wanted streams' messages of several chunks at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import Where
from twinloop.core.recording import Problem
from twinloop.formats.bag.channel import NEAR_NS, Channel, Messages, misfit_note, to_batch
from twinloop.formats.mcap.chunk import (
    Located,
    Unexpected,
    chunk_tape,
    index_entries,
    locate,
    locate_by_walking,
    plausible_size,
    read_chunk,
)
from twinloop.formats.mcap.contents import Region
from twinloop.formats.mcap.records import (
    MESSAGE_FIELDS_BYTES,
    MESSAGE_HEADER,
    BadRecord,
    ChunkIndex,
)
from twinloop.formats.mcap.tape import FileTape
from twinloop.formats.mcap.walk import Damage, Found, headers_at, joined_headers, picked_headers, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from twinloop.core.stream import Batch
    from twinloop.formats.mcap.contents import Contents
    from twinloop.formats.mcap.source import Source
    from twinloop.formats.mcap.topics import Topic
    from twinloop.formats.notes import Notes

#: Uncompressed bytes and messages that are decoded at a time. Small chunks are put together until either is
#: reached: a decoder's fixed cost a batch is that of some thousand rows, while more messages than this only
#: leave the CPU's caches.
GROUP_BYTES = 24 << 20
GROUP_MESSAGES = 1 << 14
#: A chunk that is larger when uncompressed is read as a tape, window by window.
LARGEST_CHUNK = 64 << 20


@dataclass(frozen=True, slots=True)
class Request:
    """What a scan is to give. Times are ns of each stream's timeline, [start_ns, end_ns)."""

    topics: Sequence[Topic]
    start_ns: int | None
    end_ns: int | None
    payload: bool
    verify: bool


class Scan:
    """One pass; notes what it meets."""

    def __init__(self, source: Source, contents: Contents, request: Request, notes: Notes) -> None:
        self.source = source
        self.contents = contents
        self.request = request
        self.notes = notes
        self.file = str(source.path)
        self.channels: list[Channel] = [topic.decoded.fresh() for topic in request.topics]
        self.slot_of = np.full(1 << 16, -1, np.int16)  # sorting 16-bit keys is linear
        for slot, topic in enumerate(request.topics):
            self.slot_of[list(topic.channels)] = slot
        self.wanted = frozenset(channel for topic in request.topics for channel in topic.channels)
        self.strangers: dict[int, int] = {}
        self.misplaced: list[int] = []
        self.mistimed: list[int] = []
        self.damaged = False
        self.skipped = False

    def run(self) -> Iterator[Batch]:
        """All batches; the notes that need the whole pass are added at its end."""
        whole = False
        try:
            yield from self._parts()
            whole = True
        finally:
            self._conclude(whole)

    def _parts(self) -> Iterator[Batch]:
        group = _Group()
        for part in self.contents.parts():
            if not self._may_hold(part):
                continue
            if isinstance(part, ChunkIndex) and _fits_memory(part):
                if not group.has_room(part.uncompressed_size):
                    yield from self._decoded(group)
                    group = _Group()
                if self._load(part, group):
                    continue
            yield from self._decoded(group)
            group = _Group()
            if isinstance(part, Region):
                yield from self._walked_region(part)
            else:
                yield from self._walked_chunk(part)
        yield from self._decoded(group)

    def _may_hold(self, part: ChunkIndex | Region) -> bool:
        """Whether something wanted may lie in `part`, as far as the index tells."""
        if not isinstance(part, ChunkIndex):
            return True
        if part.channels and not part.channels & self.wanted:
            return False
        # Chunks are placed by the time of receipt, streams perhaps by a stamp that counts from the same epoch.
        slack = 0 if all(c.stream.timeline == "log_ns" for c in self.channels) else NEAR_NS
        request = self.request
        early = request.start_ns is not None and part.end_ns < request.start_ns - slack
        late = request.end_ns is not None and part.start_ns >= request.end_ns + slack
        return not early and not late

    def _load(self, chunk: ChunkIndex, group: _Group) -> bool:
        """Add a chunk's messages to the group; False where it must be read as a tape."""
        target = group.reserve(chunk.uncompressed_size)
        try:
            loaded = read_chunk(self.source, chunk, target, verify=self.request.verify)
        except Unexpected as why:
            self._note_unexpected(chunk, why)
            return False
        if loaded.intact:
            located = self._locate(chunk, target, loaded.index)
        else:
            located = self._locate_damaged(chunk, target, loaded.index)
        group.add(located, len(target), chunk.offset)
        self._check_times(chunk, located)
        return True

    def _locate(self, chunk: ChunkIndex, target: NDArray[np.uint8], index: bytes) -> Located:
        if index:
            try:
                return locate(target, index)
            except Unexpected:
                self.misplaced.append(chunk.offset)
        located = locate_by_walking(target, self.contents.channels.keys())
        for damage in located.damage:
            self.damaged = True
            message = f"bytes {damage.offset} to {damage.end} of the chunk's records are no record"
            self.notes.add(Problem.CORRUPT, message, Where(self.file, byte=chunk.offset), None)
        return located

    def _locate_damaged(self, chunk: ChunkIndex, target: NDArray[np.uint8], index: bytes) -> Located:
        """The messages of a chunk that fails its CRC: all that still parse are given, and the damage noted."""
        self.damaged = True
        declared = _declared(index)
        try:
            located = locate(target, index)
        except Unexpected:
            located = locate_by_walking(target, self.contents.channels.keys())
        found = len(located.positions)
        message = f"the chunk's bytes do not match its CRC; {found} of its messages still parse and are given"
        lost = None if declared is None else max(declared - found, 0)
        self.notes.add(Problem.CORRUPT, message, Where(self.file, byte=chunk.offset), lost)
        return located

    def _walked_chunk(self, chunk: ChunkIndex) -> Iterator[Batch]:
        """A chunk that is too large, cut off or broken: record by record, as far as it goes."""
        where = Where(self.file, byte=chunk.offset)
        declared = self._declared_of(chunk)
        try:
            tape, size = chunk_tape(self.source, chunk)
        except BadRecord as why:
            self.damaged = True
            self.notes.add(Problem.CORRUPT, f"the chunk cannot be read: {why}", where, declared)
            return
        found = 0
        for item in walk(tape, 0, size, known=self.contents.channels.keys()):
            if isinstance(item, Found):
                found += len(item.positions)
                yield from self._decoded_found(item, chunk.offset)
        tape.drain()
        if tape.failure or tape.produced != size:
            self.damaged = True
            reason = tape.failure or f"it holds {tape.produced} bytes, not the {size} that it declares"
            message = f"the chunk does not decompress whole ({reason}); its first {found} messages are given"
            lost = None if declared is None else max(declared - found, 0)
            self.notes.add(Problem.TRUNCATED if chunk.is_cut else Problem.CORRUPT, message, where, lost)

    def _walked_region(self, region: Region) -> Iterator[Batch]:
        every = len(self.request.topics) == len(self.contents.channels)
        wanted = None if every else self.wanted.__contains__
        known = self.contents.channels.keys()
        for item in walk(FileTape(self.source), region.offset, region.end, wanted=wanted, known=known):
            if isinstance(item, Found):
                yield from self._decoded_found(item, item.base)
            elif isinstance(item, Damage):
                self.damaged = True
                message = f"{item.end - item.offset} bytes that are no record, passed over"
                self.notes.add(Problem.CORRUPT, message, Where(self.file, byte=item.offset), None)

    def _decoded_found(self, found: Found, byte: int) -> Iterator[Batch]:
        headers = headers_at(found.buffer, found.positions)
        yield from self._batches(found.buffer, found.positions, headers, byte)

    def _decoded(self, group: _Group) -> Iterator[Batch]:
        if group.located:
            positions = np.concatenate([located.positions for located in group.located])
            headers = joined_headers([located.headers for located in group.located])
            byte = group.offsets[0] if len(group.offsets) == 1 else None
            yield from self._batches(group.buffer, positions, headers, byte)

    def _batches(
        self,
        buffer: NDArray[np.uint8],
        positions: NDArray[np.int64],
        headers: NDArray[np.void],
        byte: int | None,
    ) -> Iterator[Batch]:
        """Decode the wanted messages at `positions` (N,) of `buffer` (B,), a stream at a time."""
        slots = self.slot_of[headers["channel"]]
        self._count_strangers(headers["channel"][slots < 0])
        order = np.argsort(slots, kind="stable")
        edges = np.searchsorted(slots[order], np.arange(len(self.channels) + 1))
        request = self.request
        for channel, start, end in zip(self.channels, edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            if start == end:
                continue
            picked = order[start:end]
            mine = picked_headers(headers, picked)
            messages = Messages(
                buffer,
                positions[picked] + MESSAGE_HEADER.itemsize,
                mine["length"].astype(np.int64) - MESSAGE_FIELDS_BYTES,
                np.ascontiguousarray(mine["log_ns"]),
                np.ascontiguousarray(mine["publish_ns"]),
                mine["sequence"].astype(np.int64),
            )
            batch = to_batch(
                channel,
                messages,
                start_ns=request.start_ns,
                end_ns=request.end_ns,
                payload=request.payload,
                where=Where(self.file, byte=byte),
            )
            if batch is not None:
                yield batch

    def _count_strangers(self, channels: NDArray[np.uint16]) -> None:
        for channel, count in zip(*np.unique(channels, return_counts=True), strict=True):
            if int(channel) not in self.contents.channels:
                self.strangers[int(channel)] = self.strangers.get(int(channel), 0) + int(count)

    def _check_times(self, chunk: ChunkIndex, located: Located) -> None:
        log_ns = located.headers["log_ns"]
        if len(log_ns) and (log_ns.min() < chunk.start_ns or log_ns.max() > chunk.end_ns):
            self.mistimed.append(chunk.offset)

    def _note_unexpected(self, chunk: ChunkIndex, why: Unexpected) -> None:
        if not why.damaged:
            message = f"the index is wrong about a chunk: {why}"
            self.notes.add(Problem.INDEX, message, Where(self.file, byte=chunk.offset))

    def _declared_of(self, chunk: ChunkIndex) -> int | None:
        return _declared(self.source.read(chunk.offset + chunk.length, chunk.index_length))

    def _conclude(self, whole: bool) -> None:
        for offsets, what in (
            (self.misplaced, "have a message index that does not fit their messages; they were walked instead"),
            (self.mistimed, "hold messages outside the times that they declare"),
        ):
            if offsets:
                message = f"{len(offsets)} chunks {what}"
                self.notes.add(Problem.INDEX, message, Where(self.file, byte=offsets[0]))
        for channel, count in self.strangers.items():
            message = f"{count} messages are of channel {channel}, which nothing in the file describes"
            self.notes.add(Problem.CORRUPT, message, Where(self.file), count)
        for channel_read in self.channels:
            note = misfit_note(channel_read)
            if note is not None:
                self.notes.add(note.problem, note.message, note.where, note.lost)
        if whole and self.request.start_ns is None and self.request.end_ns is None:
            self._compare_counts()

    def _compare_counts(self) -> None:
        for channel in self.channels:
            declared, seen = channel.stream.count, channel.seen
            if declared is None or declared == seen:
                continue
            who = "the statistics declare" if self.contents.declared else "the message indexes name"
            lost = 0 if self.damaged or seen > declared else declared - seen
            message = f"{who} {declared} messages, {seen} could be read"
            self.notes.add(Problem.COUNT, message, Where(self.file, stream=channel.stream.name), lost)


class _Group:
    """Chunks decompressed one behind the other into one buffer."""

    def __init__(self) -> None:
        self.buffer = np.empty(0, np.uint8)
        self.used = 0
        self.messages = 0
        self.located: list[Located] = []
        self.offsets: list[int] = []

    def has_room(self, size: int) -> bool:
        if not self.located:
            return True
        return self.messages < GROUP_MESSAGES and self.used + size <= len(self.buffer)

    def reserve(self, size: int) -> NDArray[np.uint8]:
        """Where the next chunk of `size` bytes goes."""
        if not self.located:
            self.buffer = np.empty(max(size, GROUP_BYTES), np.uint8)
            self.used = 0
        return self.buffer[self.used : self.used + size]

    def add(self, located: Located, size: int, offset: int) -> None:
        """Keep what was found in the bytes that were reserved last."""
        self.located.append(Located(located.positions + self.used, located.headers))
        self.offsets.append(offset)
        self.used += size
        self.messages += len(located.positions)


def _fits_memory(chunk: ChunkIndex) -> bool:
    """Whether it can be decompressed in one go: not cut, not too large, not more than its bytes can hold."""
    return not chunk.is_cut and chunk.uncompressed_size <= LARGEST_CHUNK and plausible_size(chunk)


def _declared(index: bytes) -> int | None:
    """How many messages MessageIndex records name; None where there are none to ask."""
    try:
        return len(index_entries(index)) if index else None
    except BadRecord:
        return None
