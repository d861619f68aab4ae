"""The tables: which files they are, and their cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from twinloop.core.errors import TwinloopError, Where
from twinloop.core.recording import Problem
from twinloop.formats.table.csv_source import CsvSource
from twinloop.formats.table.dialect import dialect_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from twinloop.formats.notes import Notes

VIDEO, START, STOP = "video_id", "start_timestamp", "stop_timestamp"
_ACTIONS = frozenset({VIDEO, START, STOP})
_VIDEOS = frozenset({VIDEO, "duration", "fps"})
_HEAD = 4096
#: Entries of a folder looked at.
_MOST = 10_000


@dataclass(frozen=True, slots=True)
class Video:
    """What a table of videos says of one: seconds, images a second, pixels."""

    duration: str
    fps: str
    resolution: str


def is_action_table(head: bytes) -> bool:
    """Whether a file that starts with `head` is a table with a video, a start and a stop a row."""
    return _has(head, _ACTIONS)


def is_video_table(head: bytes) -> bool:
    """Whether a file that starts with `head` is a table of videos with their rates."""
    return _has(head, _VIDEOS)


def tables_of(folder: Path) -> tuple[list[Path], list[Path]]:
    """The tables of actions and those of videos directly in a folder, sorted."""
    actions, videos = [], []
    try:
        for number, path in enumerate(folder.iterdir()):
            if number >= _MOST:
                break
            if path.suffix.lower() != ".csv" or not path.is_file():
                continue
            with path.open("rb") as file:
                head = file.read(_HEAD)
            if is_action_table(head):
                actions.append(path)
            elif is_video_table(head):
                videos.append(path)
    except OSError:
        return [], []
    return sorted(actions), sorted(videos)


def read_cells(path: Path, notes: Notes) -> pa.Table:
    """All cells of a table as text.

    Raises:
        UnreadableError: it has no header or no rows.
    """
    from twinloop.core.errors import UnreadableError
    from twinloop.formats.reader import read_head

    dialect = dialect_of(read_head(path))
    if dialect is None:
        raise UnreadableError("no table can be seen in the file", where=str(path), expected="a header and rows")
    source = CsvSource(path, dialect, notes)
    batches = [rows for rows, _ in source.batches([], source.columns)]
    return pa.Table.from_batches(batches).combine_chunks()


def read_videos(paths: list[Path], notes: Notes) -> Mapping[str, Video]:
    """The videos by their names; a table that does not read is noted."""
    found: dict[str, Video] = {}
    for path in paths:
        try:
            found.update(_videos(read_cells(path, notes)))
        except TwinloopError as error:
            notes.add(Problem.CORRUPT, error.what, Where(file=str(path)), None)
    return found


def _videos(cells: pa.Table) -> Iterator[tuple[str, Video]]:
    names = {*cells.column_names}
    for row in cells.to_pylist() if names >= _VIDEOS else ():
        if row[VIDEO]:
            yield row[VIDEO], Video(row["duration"] or "", row["fps"] or "", row.get("resolution") or "")


def _has(head: bytes, columns: frozenset[str]) -> bool:
    line = head.split(b"\n", 1)[0].decode("utf-8", "replace")
    return columns <= {cell.strip().strip('"') for cell in line.split(",")}
