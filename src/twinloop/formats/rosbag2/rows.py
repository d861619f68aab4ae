"""The messages of a ROS 2 bag's SQLite file, in large batches, past broken pages."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import Where
from twinloop.core.recording import Problem, ReadNote
from twinloop.formats.rosbag2.database import SQLITE_ERRORS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray

    from twinloop.formats.rosbag2.database import Database

    Row = tuple[object, ...]

#: Rows are handed on together up to these; large ones few at a time.
_BATCH_BYTES = 8 << 20
_BATCH_ROWS = 1 << 15
_FETCH_ROWS = 1 << 12
#: No bag has more rows than this: where to stop looking for one behind broken pages.
_MAX_ROWS = 1 << 40
#: Recorders number rows from here on.
_FIRST_ID = 1

_ID, _TOPIC, _LOG, _DATA, _PUBLISH = range(5)


@dataclass(frozen=True, slots=True)
class Rows:
    """N messages: `topic`, `log_ns` (N,) int64, `publish_ns` (N,) or None, and their bytes."""

    topic: NDArray[np.int64]
    log_ns: NDArray[np.int64]
    publish_ns: NDArray[np.int64] | None
    blobs: list[bytes]
    first_id: int


class _BrokenPagesError(Exception):
    """SQLite cannot go on; `good` are the rows it gave before."""

    def __init__(self, good: list[Row], why: str) -> None:
        super().__init__(why)
        self.good = good


def read_rows(database: Database, topics: Collection[int]) -> Iterator[Rows]:
    """The messages of some topics in the order they were written; what cannot be read is noted.

    When SQLite meets a broken page, the bag is read on row by row from there: a row of another topic that
    was passed over may be the broken one. Behind the broken rows the next readable one is searched for.
    """
    only: Collection[int] | None = topics
    careful = False
    after: int | None = None
    while True:
        try:
            with closing(_select(database, only, after)) as cursor:
                for fetched in _fetch(cursor, after, one_by_one=careful):
                    after = _id(fetched[-1])
                    yield from _rows(database, fetched, topics)
            return
        except _BrokenPagesError as broken:
            if broken.good:
                after = _id(broken.good[-1])
                yield from _rows(database, broken.good, topics)
            if not careful:
                only, careful = None, True
                continue
            row = _next_readable(database, after)
            _note_lost(database, after, None if row is None else _id(row), str(broken))
            if row is None:
                return
            yield from _rows(database, [row], topics)
            after, careful = _id(row), False


def _select(database: Database, topics: Collection[int] | None, after: int | None) -> sqlite3.Cursor:
    terms: list[str] = []
    values: list[int] = []
    if after is not None:
        terms.append("id > ?")
        values.append(after)
    if topics is not None:
        terms.append(f"topic_id IN ({', '.join('?' * len(topics))})")
        values.extend(topics)
    where = f"WHERE {' AND '.join(terms)}" if terms else ""
    sql = f"SELECT {_columns(database)} FROM messages {where} ORDER BY id"
    try:
        return database.connection.execute(sql, values)
    except SQLITE_ERRORS as error:
        raise _BrokenPagesError([], str(error)) from error


def _columns(database: Database) -> str:
    return f"id, topic_id, timestamp, data, {'send_timestamp' if database.has_publish else 'NULL'}"


def _fetch(cursor: sqlite3.Cursor, after: int | None, *, one_by_one: bool) -> Iterator[list[Row]]:
    """Batches of rows whose ids grow: broken pages can lead in circles.

    SQLite's error takes the rows fetched together with the broken one along, unless they are fetched alone.
    """
    batch: list[Row] = []
    size, step = 0, 1 if one_by_one else 16
    while True:
        try:
            fetched = cursor.fetchmany(step)
        except SQLITE_ERRORS as error:
            raise _BrokenPagesError(batch, str(error)) from error
        ids = [_id(row) for row in fetched]
        if any(b <= a for a, b in pairwise(ids if after is None else [after, *ids])):
            raise _BrokenPagesError(batch, "its rows are out of order")
        after = ids[-1] if ids else after
        batch += fetched
        length = sum(len(row[_DATA]) for row in fetched if isinstance(row[_DATA], bytes))
        size += length
        if not fetched or size >= _BATCH_BYTES or len(batch) >= _BATCH_ROWS:
            if batch:
                yield batch
            if not fetched:
                return
            batch, size = [], 0
        mean = max(1, length // max(1, len(fetched)))
        if not one_by_one:
            step = min(max(1, (_BATCH_BYTES - size) // mean // 2), 2 * step, _FETCH_ROWS)


def _rows(database: Database, fetched: list[Row], topics: Collection[int]) -> Iterator[Rows]:
    sound = [row for row in fetched if _is_sound(row)]
    if len(sound) < len(fetched):
        message = "rows hold something else than a topic, a time and bytes"
        where = Where(file=str(database.path), row=_id(fetched[0]))
        note = ReadNote(Problem.BAD_VALUE, message, where, len(fetched) - len(sound))
        if note not in database.notes:
            database.notes.append(note)
    sound = [row for row in sound if row[_TOPIC] in topics]
    if not sound:
        return
    ids, topic, log_ns, blobs, publish = zip(*sound, strict=True)
    sent = np.array(publish, np.int64) if database.has_publish and None not in publish else None
    yield Rows(np.array(topic, np.int64), np.array(log_ns, np.int64), sent, list(blobs), ids[0])


def _is_sound(row: Row) -> bool:
    publish = row[_PUBLISH]
    return (
        isinstance(row[_TOPIC], int)
        and isinstance(row[_LOG], int)
        and isinstance(row[_DATA], bytes)
        and (publish is None or isinstance(publish, int))
    )


def _id(row: Row) -> int:
    number = row[_ID]
    return number if isinstance(number, int) else 0


def _next_readable(database: Database, after: int | None) -> Row | None:
    """The first row behind `after` and the broken ones that follow it, None if there is none."""
    low = _FIRST_ID if after is None else after + 1
    step, high, found = 1, low, _first_from(database, low)
    while found is None and step < _MAX_ROWS:
        low, high = high + 1, high + step
        step *= 2
        found = _first_from(database, high)
    if found is None:
        return None
    while low < high:
        middle = (low + high) // 2
        row = _first_from(database, middle)
        if row is None:
            low = middle + 1
        else:
            high, found = middle, row
    return found


def _first_from(database: Database, row_id: int) -> Row | None:
    """The first row from an id on, asked for alone: a cursor that reads ahead would trip over the next."""
    sql = f"SELECT {_columns(database)} FROM messages WHERE id >= ? ORDER BY id LIMIT 1"
    try:
        row: Row | None = database.connection.execute(sql, (row_id,)).fetchone()
    except SQLITE_ERRORS:
        return None
    return row if row is not None and _id(row) >= row_id else None


def _note_lost(database: Database, after: int | None, found: int | None, why: str) -> None:
    first = _FIRST_ID if after is None else after + 1
    if found == first:
        return
    rows = f"the rows from {first} on" if found is None else f"rows {first} to {found - 1}"
    where = Where(file=str(database.path), row=first)
    lost = None if found is None else found - first
    note = ReadNote(Problem.CORRUPT, f"{rows} lie in broken pages of the database ({why})", where, lost)
    if note not in database.notes:
        database.notes.append(note)
