"""Messages inside a chunk: found all at once through the index, or one after the other without it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from twinloop.formats.rosbag1.records import (
    BrokenRecordError,
    Connection,
    Op,
    Record,
    find_record,
    parse_connection,
    parse_record,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Found:
    """N messages of one connection: `record`, `offset`, `length`, `time_ns` (N,) int64.

    A message's record starts at `record`; its bytes are `length` from `offset` on.
    """

    record: NDArray[np.int64]
    offset: NDArray[np.int64]
    length: NDArray[np.int64]
    time_ns: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.record)

    def __getitem__(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> Found:
        return Found(self.record[rows], self.offset[rows], self.length[rows], self.time_ns[rows])

    @classmethod
    def of(cls, rows: Sequence[tuple[int, int, int, int]]) -> Found:
        """From (record, offset, length, time_ns) of each message."""
        table = np.array(rows, np.int64).reshape(-1, 4)
        return cls(table[:, 0], table[:, 1], table[:, 2], table[:, 3])

    @classmethod
    def join(cls, parts: Sequence[Found]) -> Found:
        """Several, in the order of their records, each record once."""
        record = np.concatenate([part.record for part in parts])
        _, order = np.unique(record, return_index=True)
        return cls(
            record[order],
            np.concatenate([part.offset for part in parts])[order],
            np.concatenate([part.length for part in parts])[order],
            np.concatenate([part.time_ns for part in parts])[order],
        )


def locate(buffer: NDArray[np.uint8], conn: int, records: NDArray[np.int64]) -> tuple[Found, NDArray[np.int64]]:
    """The messages of connection `conn` whose records the index says start at `records` (N,).

    Returns those that are there, and the rest of `records`: places where something else is. The header
    of the first is the template that all others are compared with; the few that differ are parsed.
    """
    inside = (records >= 0) & (records < len(buffer) - 8)
    outside, records = records[~inside], records[inside]
    template = _template(buffer, conn, records)
    if template is None:
        found, lost = _parse_each(buffer, conn, records)
        return found, np.concatenate([outside, lost])
    width = len(template.head)
    fits = records <= len(buffer) - width - 4
    heads = buffer[records[fits][:, None] + np.arange(width)]
    fits[fits] = (heads[:, template.constant] == template.head[template.constant]).all(axis=1)
    heads = heads[fits[records <= len(buffer) - width - 4]]
    same = records[fits]
    times = np.ascontiguousarray(heads[:, template.time_at : template.time_at + 8]).view("<u4").astype(np.int64)
    length = buffer[(same + width)[:, None] + np.arange(4)].view("<u4").astype(np.int64).reshape(-1)
    offset = same + width + 4
    whole = offset + length <= len(buffer)
    found = Found(same, offset, length, times[:, 0] * 1_000_000_000 + times[:, 1])[whole]
    others, lost = _parse_each(buffer, conn, records[~fits])
    if len(others):
        found = Found.join([found, others])
    return found, np.concatenate([outside, same[~whole], lost])


@dataclass(frozen=True, slots=True)
class _Template:
    """A message record's header with its length in front, and which of its bytes never change."""

    head: NDArray[np.uint8]
    constant: NDArray[np.bool_]
    time_at: int


def _template(buffer: NDArray[np.uint8], conn: int, records: NDArray[np.int64]) -> _Template | None:
    if not len(records):
        return None
    start = int(records[0])
    try:
        record = parse_record(memoryview(buffer.data), start)
        if record.op != Op.MESSAGE or record.u32("conn") != conn:
            return None
        record.time_ns("time")
    except BrokenRecordError:
        return None
    head = buffer[start : record.data_pos - 4].copy()
    time_at = head.tobytes().index(b"time=") + 5
    constant = np.ones(len(head), bool)
    constant[time_at : time_at + 8] = False
    return _Template(head, constant, time_at)


def _parse_each(
    buffer: NDArray[np.uint8], conn: int, records: NDArray[np.int64]
) -> tuple[Found, NDArray[np.int64]]:
    """The slow way: connection records may stand before the message, headers may be laid out otherwise."""
    view = memoryview(buffer.data)
    rows, lost = [], []
    for start in records.tolist():
        try:
            record = parse_record(view, start)
            while record.op == Op.CONNECTION:
                record = parse_record(view, record.end)
            if record.op != Op.MESSAGE or record.u32("conn") != conn or record.end > len(view):
                raise BrokenRecordError("not a message of this connection")
            rows.append((record.pos, record.data_pos, record.data_len, record.time_ns("time")))
        except BrokenRecordError:
            lost.append(start)
    return Found.of(rows), np.array(lost, np.int64)


@dataclass(slots=True)
class Walk:
    """All records of a chunk, read one after the other.

    `broken` are the bytes where no record was; what stands behind them was searched for and found again.
    `ends_early` says that the last record is cut off.
    """

    messages: dict[int, Found] = field(default_factory=dict)
    connections: dict[int, Connection] = field(default_factory=dict)
    broken: list[int] = field(default_factory=list)
    ends_early: bool = False


def walk(buffer: NDArray[np.uint8]) -> Walk:
    """Read a chunk without its index."""
    view = memoryview(buffer.data)
    result = Walk()
    rows: dict[int, list[tuple[int, int, int, int]]] = {}
    for record in _records(view, result):
        try:
            if record.op == Op.MESSAGE:
                row = (record.pos, record.data_pos, record.data_len, record.time_ns("time"))
                rows.setdefault(record.u32("conn"), []).append(row)
            elif record.op == Op.CONNECTION:
                connection = parse_connection(record, bytes(view[record.data_pos : record.end]))
                result.connections.setdefault(connection.id, connection)
        except BrokenRecordError:
            result.broken.append(record.pos)
    result.messages = {conn: Found.of(found) for conn, found in rows.items()}
    return result


def _records(view: memoryview, result: Walk) -> Iterator[Record]:
    at = 0
    while at < len(view):
        try:
            record = parse_record(view, at)
            if record.op not in (Op.MESSAGE, Op.CONNECTION):
                raise BrokenRecordError("a record that does not belong in a chunk")
            if record.end > len(view):
                # Cut off by the end of the chunk, unless its length is what is broken.
                result.ends_early = find_record(view, at + 5, (Op.MESSAGE, Op.CONNECTION)) is None
                raise BrokenRecordError("a record that reaches outside its chunk")
        except BrokenRecordError:
            if not result.ends_early:
                result.broken.append(at)
            again = find_record(view, at + 1, (Op.MESSAGE, Op.CONNECTION))
            if again is None or again.pos <= at:
                return
            at = again.pos
            continue
        yield record
        at = record.end
