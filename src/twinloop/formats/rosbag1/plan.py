"""What a ROS 1 bag holds and where: from its index, or by going through its records where that fails."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from twinloop.core.errors import UnreadableError, Where
from twinloop.core.recording import Problem, ReadNote
from twinloop.formats.rosbag1.chunk import ChunkRef, load, read_index_data
from twinloop.formats.rosbag1.messages import Walk
from twinloop.formats.rosbag1.records import (
    MAGIC,
    BagFile,
    BrokenRecordError,
    Connection,
    Op,
    Record,
    find_record,
    parse_connection,
)

if TYPE_CHECKING:
    from pathlib import Path

#: Bytes searched at a time for the next chunk behind broken ones; neighbours overlap by a header.
_SEARCH = 1 << 24
_OVERLAP = 1 << 12
#: A definition with all it needs is some kilobytes; more is not a definition.
_MAX_CONNECTION = 1 << 24


@dataclass(slots=True)
class Plan:
    """The connections and chunks of a bag. `indexed`: whether the bag's own index was taken."""

    connections: dict[int, Connection] = field(default_factory=dict)
    chunks: list[ChunkRef] = field(default_factory=list)
    notes: list[ReadNote] = field(default_factory=list)
    indexed: bool = True
    index_pos: int | None = None

    def count(self, conns: set[int]) -> int | None:
        """Messages of these connections, None where no index says."""
        if any(chunk.counts is None for chunk in self.chunks):
            return None
        return sum(n for chunk in self.chunks for conn, n in (chunk.counts or {}).items() if conn in conns)


def make_plan(file: BagFile) -> Plan:
    """The plan of a bag: by its index if that is there and true, else record by record.

    Raises:
        UnreadableError: it is of another version, encrypted, or has no record at all.
    """
    magic = file.read(0, len(MAGIC))
    if magic != MAGIC:
        raise UnreadableError(
            "it is not a ROS 1 bag of version 2.0",
            where=Where(file=str(file.path), byte=0),
            expected=f"a file that starts with {MAGIC!r}, not {magic!r}",
            fix="`rosbag migrate` of ROS 1 brings older bags to version 2.0"
            if magic[:7] == b"#ROSBAG"
            else None,
        )
    try:
        header = file.record(len(MAGIC))
        if header.op != Op.BAG_HEADER:
            raise BrokenRecordError("the first record is not the bag's header")
        index_pos = header.u64("index_pos")
        counts = header.u32("conn_count"), header.u32("chunk_count")
    except BrokenRecordError as error:
        return _salvage(file, len(MAGIC), Problem.CORRUPT, f"the bag's header is broken ({error.what})")
    if header.text("encryptor"):
        raise UnreadableError(
            f"the bag is encrypted with {header.text('encryptor')!r}",
            where=str(file.path),
            fix="decrypt it with the tools of ROS 1 first",
        )
    if index_pos == 0:
        why = "the bag has no index: its recorder did not finish it"
        return _salvage(file, header.end, Problem.INDEX, why)
    if index_pos >= file.size and counts[1]:
        why = f"the file ends at byte {file.size}, before its index at byte {index_pos}"
        return _salvage(file, header.end, Problem.TRUNCATED, why)
    try:
        return _from_index(file, index_pos, *counts)
    except BrokenRecordError as error:
        problem, why = Problem.INDEX, f"the bag's index is not right: {error.what}"
        return _salvage(file, header.end, problem, why)


def _from_index(file: BagFile, index_pos: int, conn_count: int, chunk_count: int) -> Plan:
    plan = Plan(index_pos=index_pos)
    pos = index_pos
    while pos < file.size:
        record = file.record(pos)
        if record.end > file.size:
            raise BrokenRecordError("it is cut off", where=Where(byte=pos))
        if record.op == Op.CONNECTION:
            connection = _connection(file, record)
            plan.connections[connection.id] = connection
        elif record.op == Op.CHUNK_INFO:
            plan.chunks.append(_chunk_info(file, record, index_pos))
        else:
            raise BrokenRecordError(f"it holds a record of kind {record.op}", where=Where(byte=pos))
        pos = record.end
    if len(plan.connections) != conn_count or len(plan.chunks) != chunk_count:
        raise BrokenRecordError(
            f"it holds {len(plan.connections)} connections and {len(plan.chunks)} chunks, "
            f"the header declares {conn_count} and {chunk_count}"
        )
    named = {conn for chunk in plan.chunks for conn in chunk.counts or ()}
    if unknown := named - set(plan.connections):
        raise BrokenRecordError(f"chunks name connections {sorted(unknown)[:5]} that it does not list")
    plan.chunks.sort(key=lambda chunk: chunk.pos)
    return plan


def _connection(file: BagFile, record: Record) -> Connection:
    if record.data_len > _MAX_CONNECTION:
        raise BrokenRecordError(f"a connection claims {record.data_len} bytes", where=Where(byte=record.pos))
    data = file.read(record.data_pos, record.data_len)
    if len(data) < record.data_len:
        raise BrokenRecordError("a connection is cut off", where=Where(byte=record.pos))
    return parse_connection(record, data)


def _chunk_info(file: BagFile, record: Record, index_pos: int) -> ChunkRef:
    data = file.read(record.data_pos, record.data_len)
    pairs = struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4])
    pos = record.u64("chunk_pos")
    if not len(MAGIC) <= pos < index_pos:
        raise BrokenRecordError(f"a chunk at byte {pos}, outside the data", where=Where(byte=record.pos))
    counts = dict(zip(pairs[::2], pairs[1::2], strict=False))
    if len(counts) != record.u32("count"):
        raise BrokenRecordError("a chunk's counts are cut off", where=Where(byte=record.pos))
    times = (record.time_ns("start_time"), record.time_ns("end_time")) if counts else (None, None)
    return ChunkRef(pos, counts, *times)


def _salvage(file: BagFile, start: int, problem: Problem, why: str) -> Plan:
    """Go through the bag's records; a chunk's index behind it spares unpacking the chunk.

    A recorder that was killed leaves its last chunk without a length, its records bare (or its compressed
    bytes unfinished) up to the end of the file.
    """
    plan = Plan(indexed=False)
    message = f"{why}; its chunks were searched for one by one"
    plan.notes.append(ReadNote(problem, message, Where(file=str(file.path)), None))
    pos = start
    while pos < file.size:
        try:
            record = file.record(pos)
            if record.op not in Op.__members__.values():
                raise BrokenRecordError("no record")
            pos = _take_record(file, record, plan)
        except BrokenRecordError:
            pos = _skip_broken(file, pos, plan)
    _learn_connections(file, plan)
    return plan


def _take_record(file: BagFile, record: Record, plan: Plan) -> int:
    """Enter one record into the plan; returns the byte after what was taken."""
    if record.op == Op.CHUNK:
        unfinished = record.data_len == 0 and record.u32("size") == 0 and record.end < file.size
        if record.end > file.size or (unfinished and not _is_top_level(file, record.end)):
            plan.chunks.append(ChunkRef(record.pos, end=file.size))
            where = Where(file=str(file.path), byte=record.pos)
            plan.notes.append(ReadNote(Problem.TRUNCATED, "the last chunk is not finished", where, None))
            return file.size
        entries, end = read_index_data(file, record.end)
        counts = {conn: len(records) for conn, (records, _) in entries.items()} or None
        times = [t for _, t in entries.values() if len(t)]
        first = min((int(t.min()) for t in times), default=None)
        last = max((int(t.max()) for t in times), default=None)
        plan.chunks.append(ChunkRef(record.pos, counts, first, last))
        return end
    if record.op == Op.MESSAGE:
        end = _end_of_bare(file, record)
        plan.chunks.append(ChunkRef(record.pos, end=end))
        return end
    if record.end > file.size:
        raise BrokenRecordError("a record is cut off", where=Where(byte=record.pos))
    if record.op == Op.CONNECTION:
        connection = _connection(file, record)
        plan.connections.setdefault(connection.id, connection)
    return record.end


def _is_top_level(file: BagFile, pos: int) -> bool:
    try:
        return file.record(pos).op in (Op.CHUNK, Op.INDEX_DATA, Op.CHUNK_INFO)
    except BrokenRecordError:
        return False


def _end_of_bare(file: BagFile, record: Record) -> int:
    """Where a run of messages that stand in no chunk ends."""
    try:
        while record.op in (Op.MESSAGE, Op.CONNECTION) and record.end < file.size:
            record = file.record(record.end)
    except BrokenRecordError as error:
        place = error.where.byte if isinstance(error.where, Where) else None
        return place if place is not None else file.size
    return record.pos if record.op not in (Op.MESSAGE, Op.CONNECTION) else file.size


def _skip_broken(file: BagFile, pos: int, plan: Plan) -> int:
    """The next chunk or connection behind broken bytes, noted."""
    at = pos + 1
    found = None
    while at < file.size and found is None:
        window = file.read(at, _SEARCH)
        found = find_record(window, 0, (Op.CHUNK, Op.CONNECTION, Op.CHUNK_INFO), base=at)
        at += max(1, len(window) - _OVERLAP) if len(window) > _OVERLAP else len(window)
    end = found.pos if found is not None else file.size
    place = Where(file=str(file.path), byte=pos)
    problem = Problem.TRUNCATED if found is None else Problem.CORRUPT
    plan.notes.append(ReadNote(problem, f"{end - pos} bytes are no record and were passed over", place, None))
    return end


def _learn_connections(file: BagFile, plan: Plan) -> None:
    """Find, in the chunks, the connections that no index lists, and count where no index counts."""
    for number, chunk in enumerate(plan.chunks):
        if chunk.counts is not None and set(chunk.counts) <= set(plan.connections):
            continue
        walked = _walk_chunk(file, chunk)
        for conn, connection in walked.connections.items():
            plan.connections.setdefault(conn, connection)
        if chunk.counts is None:
            counts = {conn: len(found) for conn, found in walked.messages.items()}
            times = [
                t for found in walked.messages.values() for t in (found.time_ns.min(), found.time_ns.max())
            ]
            plan.chunks[number] = ChunkRef(
                chunk.pos, counts, int(min(times, default=0)), int(max(times, default=0)), chunk.end
            )
    unknown = {conn for chunk in plan.chunks for conn in chunk.counts or ()} - set(plan.connections)
    for conn in sorted(unknown):
        lost = sum((chunk.counts or {}).get(conn, 0) for chunk in plan.chunks)
        message = f"nothing says what the messages of connection {conn} are; they cannot be read"
        plan.notes.append(ReadNote(Problem.SCHEMA, message, Where(file=str(file.path)), lost))


def _walk_chunk(file: BagFile, chunk: ChunkRef) -> Walk:
    try:
        loaded = load(file, chunk, (), ignore_index=True)
    except BrokenRecordError:
        return Walk()
    return Walk(loaded.messages, loaded.connections)


def span_ns(path: Path) -> tuple[int, int] | None:
    """First and last time of recording by the bag's index alone; None where it has none."""
    try:
        file = BagFile(path)
    except UnreadableError:
        return None
    try:
        header = file.record(len(MAGIC))
        index_pos = header.u64("index_pos")
        if not 0 < index_pos < file.size:
            return None
        plan = _from_index(file, index_pos, header.u32("conn_count"), header.u32("chunk_count"))
    except UnreadableError:
        return None
    finally:
        file.close()
    starts = [chunk.start_ns for chunk in plan.chunks if chunk.start_ns is not None]
    ends = [chunk.end_ns for chunk in plan.chunks if chunk.end_ns is not None]
    return (min(starts), max(ends)) if starts and ends else None
