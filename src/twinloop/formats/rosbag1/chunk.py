"""One chunk of a ROS 1 bag, loaded: its bytes, and where the messages of each connection lie in them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import Where
from twinloop.core.recording import Problem, ReadNote
from twinloop.formats.rosbag1.compression import MAX_CHUNK, unpack
from twinloop.formats.rosbag1.messages import Found, Walk, locate, walk
from twinloop.formats.rosbag1.records import BagFile, BrokenRecordError, Connection, Op, Record, parse_record

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Wanted records closer together than this are read in one go.
_READ_THROUGH = 1 << 14
#: Index records are read in pieces of this size.
_INDEX_READ = 1 << 16


@dataclass(frozen=True, slots=True)
class ChunkRef:
    """A chunk and what the index says of it.

    Attributes:
        pos: its first byte. counts: connection -> messages (None: no index says).
        start_ns, end_ns: its first and last message. end: where bare records end, that a recorder was
            writing when it stopped (None: a whole chunk).
    """

    pos: int
    counts: Mapping[int, int] | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class ChunkHead:
    """A chunk's own header and the index records behind it.

    `entries`: connection -> (records (N,), time_ns (N,)) int64, records relative to the chunk's data.
    """

    data_pos: int
    data_len: int
    size: int | None
    compression: str
    entries: dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]]
    end: int


@dataclass(slots=True)
class Loaded:
    """A chunk's bytes `data` (B,) uint8 and its messages, offsets into `data`."""

    pos: int
    data: NDArray[np.uint8]
    messages: dict[int, Found] = field(default_factory=dict)
    connections: dict[int, Connection] = field(default_factory=dict)
    notes: list[ReadNote] = field(default_factory=list)
    next_pos: int | None = None


def read_head(file: BagFile, ref: ChunkRef) -> ChunkHead:
    """The header and index of a chunk.

    Raises:
        BrokenRecordError: there is no chunk at `ref.pos`.
    """
    if ref.end is not None:
        record = file.record(ref.pos)
        data_pos = record.data_pos if record.op == Op.CHUNK else ref.pos
        compression = record.text("compression", "none") if record.op == Op.CHUNK else "none"
        return ChunkHead(data_pos, ref.end - data_pos, None, compression, {}, ref.end)
    record = file.record(ref.pos)
    if record.op != Op.CHUNK:
        raise BrokenRecordError("there is no chunk here", where=Where(byte=ref.pos))
    entries, end = read_index_data(file, record.end)
    size = record.u32("size")
    return ChunkHead(record.data_pos, record.data_len, size, record.text("compression"), entries, end)


def read_index_data(
    file: BagFile, pos: int
) -> tuple[dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]], int]:
    """The index records that start at `pos`, by connection, and the byte after the last."""
    entries: dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
    window, start = b"", pos
    while True:
        record = _index_record(window, pos - start, start)
        if record is None or record.end > start + len(window):
            window, start = file.read(pos, _INDEX_READ), pos
            record = _index_record(window, 0, start)
        if record is None or record.op != Op.INDEX_DATA or record.end > file.size:
            return entries, pos
        if record.end > start + len(window):
            window = file.read(pos, record.end - pos + _INDEX_READ)
        packed = window[record.data_pos - start : record.end - start]
        table = np.frombuffer(packed, "<u4", count=len(packed) // 12 * 3).reshape(-1, 3).astype(np.int64)
        try:
            conn = record.u32("conn")
        except BrokenRecordError:
            return entries, pos
        entries[conn] = (table[:, 2], table[:, 0] * 1_000_000_000 + table[:, 1])
        pos = record.end


def _index_record(window: bytes, at: int, start: int) -> Record | None:
    try:
        return parse_record(window, at, start)
    except BrokenRecordError:
        return None


def load(file: BagFile, ref: ChunkRef, wanted: Collection[int], *, ignore_index: bool = False) -> Loaded:
    """The messages of the `wanted` connections in a chunk.

    Of an uncompressed chunk only their bytes are read. What the index says is held against the bytes; where
    it lies, and where there is none, the chunk is read record by record.

    Raises:
        BrokenRecordError: there is no chunk at `ref.pos`.
    """
    head = read_head(file, ref)
    loaded = Loaded(ref.pos, np.zeros(0, np.uint8), next_pos=head.end)
    if head.data_len > MAX_CHUNK:
        loaded.notes.append(
            _note(file, ref, f"a chunk claims {head.data_len} bytes, more than is read at once")
        )
        return loaded
    counts = {conn: len(records) for conn, (records, _) in head.entries.items()}
    agrees = ref.counts is None or dict(ref.counts) == counts
    if ignore_index:
        loaded.data = _read_all(file, ref, head, loaded.notes)
        _take_walk(file, ref, head, loaded, walk(loaded.data), wanted)
        return loaded
    if agrees and counts and not any(counts.get(conn) for conn in wanted):
        return loaded
    if agrees and head.compression == "none" and head.entries and head.data_len == head.size:
        parts = _read_parts(file, head, wanted)
        if parts is not None:
            loaded.data, loaded.messages = parts
            return loaded
    loaded.data = _read_all(file, ref, head, loaded.notes)
    if not head.entries or loaded.notes:
        _take_walk(file, ref, head, loaded, walk(loaded.data), wanted)
    else:
        _take_index(file, ref, head, loaded, wanted, agrees)
    return loaded


def _read_all(file: BagFile, ref: ChunkRef, head: ChunkHead, notes: list[ReadNote]) -> NDArray[np.uint8]:
    packed = file.read(head.data_pos, head.data_len)
    unpacked = unpack(packed, head.compression, head.size)
    if unpacked.broken and ref.end is None:
        notes.append(_note(file, ref, f"a chunk is not whole: {unpacked.broken}"))
    return np.frombuffer(unpacked.data, np.uint8)


def _read_parts(
    file: BagFile, head: ChunkHead, wanted: Collection[int]
) -> tuple[NDArray[np.uint8], dict[int, Found]] | None:
    """Only the wanted connections' bytes of an uncompressed chunk; None where that saves too little."""
    starts = np.sort(np.concatenate([records for records, _ in head.entries.values()]))
    ends = np.append(starts[1:], head.data_len)
    picked = np.sort(np.concatenate([head.entries[c][0] for c in wanted if c in head.entries]))
    at = np.searchsorted(starts, picked)
    if not len(picked) or picked[0] < 0 or picked[-1] >= head.data_len:
        return None
    begin, end = starts[at], ends[at]
    breaks = np.flatnonzero(begin[1:] - end[:-1] > _READ_THROUGH) + 1
    begin, end = begin[np.append(0, breaks)], end[np.append(breaks - 1, len(end) - 1)]
    total = int((end - begin).sum())
    if total > head.data_len // 2 or (end < begin).any():
        return None
    data = np.empty(total, np.uint8)
    placed = np.cumsum(end - begin) - (end - begin)
    for source, target, size in zip(begin.tolist(), placed.tolist(), (end - begin).tolist(), strict=True):
        if file.read_into(memoryview(data.data)[target : target + size], head.data_pos + source) < size:
            return None
    found = {}
    for conn in wanted:
        if conn in head.entries:
            records = np.sort(head.entries[conn][0])
            part = np.searchsorted(begin, records, "right") - 1
            found[conn], lost = locate(data, conn, records - begin[part] + placed[part])
            if len(lost):
                return None
    return data, found


def _take_index(
    file: BagFile, ref: ChunkRef, head: ChunkHead, loaded: Loaded, wanted: Collection[int], agrees: bool
) -> None:
    """Take the messages that the index names, if it is right."""
    lost = 0
    for conn, (records, times) in head.entries.items():
        found, missing = locate(loaded.data, conn, records)
        order = np.argsort(found.record, kind="stable")
        loaded.messages[conn] = found[order]
        right = len(found) == len(times) and np.array_equal(found.time_ns, times)
        lost += len(missing) + (not right)
    if lost or not agrees or not _leaves_nothing(loaded):
        _take_walk(file, ref, head, loaded, walk(loaded.data), wanted)


def _leaves_nothing(loaded: Loaded) -> bool:
    """Whether all bytes of the chunk are messages that were found, or connections (which are taken)."""
    found = loaded.messages.values()
    starts = np.concatenate([f.record for f in found])
    order = np.argsort(starts)
    starts = starts[order]
    ends = np.concatenate([f.offset + f.length for f in found])[order]
    behind = np.append(0, ends)
    before = np.append(starts, len(loaded.data))
    if (before < behind).any():
        return False
    for gap in np.flatnonzero(before > behind).tolist():
        rest = walk(loaded.data[behind[gap] : before[gap]])
        if rest.messages or rest.broken or rest.ends_early:
            return False
        loaded.connections.update(rest.connections)
    return True


def _take_walk(
    file: BagFile,
    ref: ChunkRef,
    head: ChunkHead,
    loaded: Loaded,
    walked: Walk,
    wanted: Collection[int],
) -> None:
    """Take what a walk found; say whether the index lied or the bytes are broken."""
    by_index = loaded.messages
    loaded.connections.update(walked.connections)
    loaded.messages = dict(walked.messages)
    declared = ref.counts or {conn: len(records) for conn, (records, _) in head.entries.items()}
    byte = head.data_pos if head.compression == "none" else ref.pos
    if walked.broken:
        for conn, found in by_index.items():
            known = loaded.messages.get(conn)
            loaded.messages[conn] = found if known is None else Found.join([known, found])
    count = sum(len(found) for conn, found in loaded.messages.items() if conn in wanted)
    missing = max(0, sum(n for conn, n in declared.items() if conn in wanted) - count)
    if walked.broken:
        at = byte + walked.broken[0] if head.compression == "none" else byte
        message = f"a chunk has {len(walked.broken)} places that are no record"
        loaded.notes.append(_note(file, ref, message, at, missing or None))
    elif loaded.notes:
        first = loaded.notes[0]
        loaded.notes[0] = ReadNote(first.problem, first.message, first.where, missing or None)
    elif head.entries:
        message = "the index of a chunk does not fit its messages; the chunk was read without it"
        loaded.notes.append(ReadNote(Problem.INDEX, message, Where(file=str(file.path), byte=ref.pos)))


def _note(
    file: BagFile, ref: ChunkRef, message: str, byte: int | None = None, lost: int | None = None
) -> ReadNote:
    place = Where(file=str(file.path), byte=ref.pos if byte is None else byte)
    return ReadNote(Problem.CORRUPT, message, place, lost)
