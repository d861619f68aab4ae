"""The SQLite file of a ROS 2 bag: opened without writing beside it, read past broken pages."""

from __future__ import annotations

import shutil
import sqlite3
import struct
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from twinloop.core.errors import UnreadableError, Where
from twinloop.core.recording import Problem, ReadNote

MAGIC = b"SQLite format 3\x00"
#: What a broken database raises; SQLite's messages quote it, and Python cannot always decode them.
SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
#: Up to this many rows are counted one by one when the bag does not say how many there are.
COUNT_ROWS = 200_000
#: Rows looked at from both ends for the first and last message of each topic in larger bags.
_END_ROWS = 20_000
#: Left free on the disk when a bag with a journal is copied to be recovered.
_DISK_MARGIN = 1 << 29


@dataclass(frozen=True, slots=True)
class Topic:
    """One row of the table `topics`."""

    id: int
    name: str
    type_name: str
    serialization: str
    qos: str = ""
    type_hash: str = ""


@dataclass(frozen=True, slots=True)
class TopicSpan:
    """Where a topic's messages lie: ids of the first and last; `count`, `bytes` None where not counted."""

    first_id: int
    last_id: int
    count: int | None = None
    bytes: int | None = None
    start_ns: int | None = None
    end_ns: int | None = None


@dataclass(slots=True)
class Database:
    """One storage file. `notes` fills as it is read."""

    path: Path
    connection: sqlite3.Connection
    topics: list[Topic] = field(default_factory=list)
    definitions: dict[str, tuple[str, str]] = field(default_factory=dict)
    metadata: bytes | None = None
    distro: str | None = None
    has_publish: bool = False
    notes: list[ReadNote] = field(default_factory=list)
    temporary: tempfile.TemporaryDirectory[str] | None = None

    def close(self) -> None:
        """Let go of the file, and of the copy if one was made."""
        self.connection.close()
        if self.temporary is not None:
            self.temporary.cleanup()

    def spans(self) -> dict[int, TopicSpan]:
        """Topic id -> where its messages lie. In a large bag, only what both its ends show."""
        try:
            lowest, highest = self.connection.execute("SELECT min(id), max(id) FROM messages").fetchone()
        except SQLITE_ERRORS:
            lowest, highest = 0, COUNT_ROWS
        if not isinstance(lowest, int) or not isinstance(highest, int):
            return {}
        if highest - lowest < COUNT_ROWS:
            counted = self._count_all()
            if counted is not None:
                return counted
        head, tail = self._ends("ASC"), self._ends("DESC")
        both = head.keys() | tail.keys()
        return {
            topic: TopicSpan(head.get(topic, tail.get(topic, 0)), tail.get(topic, head.get(topic, 0)))
            for topic in both
        }

    def _count_all(self) -> dict[int, TopicSpan] | None:
        # Without GROUP BY, whose sorter would read the whole of every message to know its length.
        sql = "SELECT topic_id, id, length(data), timestamp FROM messages"
        try:
            rows = [row for row in self.connection.execute(sql) if all(isinstance(v, int) for v in row[:3])]
        except sqlite3.DatabaseError:
            return None
        timed = [row[3] if isinstance(row[3], int) else None for row in rows]
        topics, ids, sizes = np.array([row[:3] for row in rows], np.int64).reshape(-1, 3).T
        has_time = np.array([time is not None for time in timed], np.bool_)
        times = np.array([time or 0 for time in timed], np.int64)
        spans = {}
        for topic in np.unique(topics).tolist():
            own = topics == topic
            known = times[own & has_time]
            spans[topic] = TopicSpan(
                int(ids[own].min()),
                int(ids[own].max()),
                int(own.sum()),
                int(sizes[own].sum()),
                int(known.min()) if len(known) else None,
                int(known.max()) if len(known) else None,
            )
        return spans

    def _ends(self, order: str) -> dict[int, int]:
        sql = f"SELECT id, topic_id FROM messages ORDER BY id {order} LIMIT {_END_ROWS}"
        found: dict[int, int] = {}
        try:
            for row_id, topic in self.connection.execute(sql):
                found.setdefault(topic, row_id)
        except SQLITE_ERRORS:
            pass
        return found

    def message(self, row_id: int) -> tuple[bytes, int] | None:
        """The bytes and the time of recording of one message, None where they cannot be read."""
        try:
            row = self.connection.execute(
                "SELECT data, timestamp FROM messages WHERE id = ?", (row_id,)
            ).fetchone()
        except SQLITE_ERRORS:
            return None
        if row is None or not isinstance(row[0], bytes) or not isinstance(row[1], int):
            return None
        return row[0], row[1]


def open_database(path: Path) -> Database:
    """Open a storage file read-only; nothing is written beside it.

    A crash can leave a write-ahead log or a journal with messages that the file itself lacks: such a bag
    is copied to a temporary folder, where SQLite brings it up to date.

    Raises:
        UnreadableError: it is no SQLite file, its tables cannot be read, or they are not a bag's.
    """
    notes: list[ReadNote] = []
    temporary = _recovered_copy(path, notes)
    source = path if temporary is None else Path(temporary.name) / path.name
    options = "mode=ro&immutable=1" if temporary is None else "mode=rw"
    try:
        connection = sqlite3.connect(
            f"{source.resolve().as_uri()}?{options}", uri=True, check_same_thread=False
        )
        connection.text_factory = bytes
        database = Database(path, connection, notes=notes, temporary=temporary)
    except SQLITE_ERRORS as error:
        if temporary is not None:
            temporary.cleanup()
        raise _unreadable(path, error) from error
    try:
        _note_truncation(path, database)
        _read_tables(database)
    except SQLITE_ERRORS as error:
        database.close()
        raise _unreadable(path, error) from error
    except BaseException:
        database.close()
        raise
    return database


def _unreadable(path: Path, error: Exception) -> UnreadableError:
    return UnreadableError(
        f"the bag's tables cannot be read ({error})",
        where=str(path),
        expected="a SQLite file with the tables `topics` and `messages`",
    )


def _recovered_copy(path: Path, notes: list[ReadNote]) -> tempfile.TemporaryDirectory[str] | None:
    log, journal = Path(f"{path}-wal"), Path(f"{path}-journal")
    beside = [file for file in (log, journal) if file.is_file() and file.stat().st_size]
    if not beside:
        return None
    needed = path.stat().st_size + sum(file.stat().st_size for file in beside)
    if shutil.disk_usage(tempfile.gettempdir()).free < needed + _DISK_MARGIN:
        message = (
            f"{beside[0].name} was left by a crash; there is no room for a copy to recover, it was not read"
        )
        notes.append(ReadNote(Problem.TRUNCATED, message, Where(file=str(path)), None))
        return None
    temporary = tempfile.TemporaryDirectory(prefix="twinloop-")
    for file in (path, *beside):
        shutil.copyfile(file, Path(temporary.name) / file.name)
    message = f"{beside[0].name} was left by a crash; what it holds was recovered in a copy"
    notes.append(ReadNote(Problem.TRUNCATED, message, Where(file=str(beside[0])), None))
    return temporary


def _note_truncation(path: Path, database: Database) -> None:
    with path.open("rb") as file:
        head = file.read(100)
    if len(head) < 100 or not head.startswith(MAGIC):
        raise UnreadableError("it is not a SQLite file", where=Where(file=str(path), byte=0))
    page, changes = struct.unpack_from(">H", head, 16)[0], struct.unpack_from(">I", head, 24)[0]
    pages, valid_for = struct.unpack_from(">I", head, 28)[0], struct.unpack_from(">I", head, 92)[0]
    declared, size = pages * (65536 if page == 1 else page), path.stat().st_size
    if changes == valid_for and size < declared:
        message = f"the file has {size} bytes and declares {declared}"
        database.notes.append(ReadNote(Problem.TRUNCATED, message, Where(file=str(path), byte=size), None))


def _read_tables(database: Database) -> None:
    connection = database.connection
    connection.execute("PRAGMA trusted_schema = OFF")
    # Read-only all the same; without it SQLite refuses a file that is shorter than it declares.
    connection.execute("PRAGMA writable_schema = ON")
    tables = {
        _text(name) for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    }
    if not {"topics", "messages"} <= tables:
        raise UnreadableError(
            "it is a SQLite file, but not a ROS 2 bag",
            where=str(database.path),
            expected="the tables `topics` and `messages`",
        )
    columns = _columns(connection, "topics")
    optional = [name if name in columns else "''" for name in ("offered_qos_profiles", "type_description_hash")]
    sql = f"SELECT id, name, type, serialization_format, {', '.join(optional)} FROM topics ORDER BY id"
    database.topics = [
        Topic(row[0], *(_text(value) for value in row[1:]))
        for row in connection.execute(sql)
        if isinstance(row[0], int)
    ]
    database.has_publish = "send_timestamp" in _columns(connection, "messages")
    try:
        _read_extras(database, tables)
    except SQLITE_ERRORS as error:
        message = f"the tables beside the messages cannot be read ({error})"
        database.notes.append(ReadNote(Problem.CORRUPT, message, Where(file=str(database.path))))


def _read_extras(database: Database, tables: set[str]) -> None:
    """What recorders since Iron store beside the messages."""
    connection = database.connection
    if "message_definitions" in tables:
        sql = "SELECT topic_type, encoding, encoded_message_definition FROM message_definitions ORDER BY id"
        for type_name, encoding, text in connection.execute(sql):
            if _text(text).strip():
                database.definitions.setdefault(_text(type_name), (_text(encoding), _text(text)))
    if "schema" in tables and "ros_distro" in _columns(connection, "schema"):
        row = connection.execute("SELECT ros_distro FROM schema").fetchone()
        database.distro = _text(row[0]) if row and row[0] else None
    if "metadata" in tables:
        row = connection.execute("SELECT metadata FROM metadata ORDER BY id DESC LIMIT 1").fetchone()
        database.metadata = row[0] if row and isinstance(row[0], bytes) and row[0].strip() else None


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {_text(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")}


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else "" if value is None else str(value)
