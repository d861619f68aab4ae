"""The reader `action-table`: labels of segments in videos."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.errors import TwinloopError, UnreadableError, Where
from twinloop.core.recording import Problem
from twinloop.formats.notes import Notes

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from twinloop.core.recording import Recording
    from twinloop.formats.reader import ReadOptions


class ActionTableReader:
    """Tables of actions: see the package's page."""

    name = "action-table"
    title = "Table of actions in videos (EPIC-KITCHENS)"
    keeps = "every segment with its times, words, frames and all other cells; one stream a video"
    loses = "lists of classes, which are kept as raw files only"
    extra: str | None = None

    def sniff(self, path: Path, head: bytes) -> bool:
        """A table whose header names a video, a start and a stop; a folder with such a table inside."""
        from twinloop.formats.labels.tables import is_action_table, tables_of

        return is_action_table(head) if head else path.is_dir() and bool(tables_of(path)[0])

    def open(self, path: Path, options: ReadOptions) -> Recording:  # noqa: ARG002
        """Read the tables: their rows tell which videos there are.

        Raises:
            UnreadableError: there is no table of actions, or it has no row with a video, a start and a stop.
        """
        import pyarrow as pa

        from twinloop.formats.gathered import GatheredRecording
        from twinloop.formats.labels.segments import Segments
        from twinloop.formats.labels.tables import read_videos, tables_of

        actions, tables = tables_of(path if path.is_dir() else path.parent)
        if not path.is_dir():
            actions = [path]
        notes = Notes()
        runs: dict[str, list[pa.Table]] = {}
        for table in actions:
            for video, rows in _segments(table, notes).items():
                runs.setdefault(video, []).append(rows)
        if not runs:
            raise UnreadableError(
                notes.all[0].message if notes.all else "there is no table of actions",
                where=str(path),
                expected="rows with a video_id, a start_timestamp and a stop_timestamp",
            )
        videos = read_videos(tables, notes)
        joined = {
            video: pa.concat_tables(parts, promote_options="permissive").sort_by("stamp_ns")
            for video, parts in runs.items()
        }
        return GatheredRecording(
            path,
            self.name,
            files=(*actions, *tables, *_companions(path)),
            sources=[Segments(video, rows, videos.get(video)) for video, rows in joined.items()],
            metadata={
                "tables": ", ".join(table.name for table in actions),
                "tables_of_videos": ", ".join(table.name for table in tables) or "none",
            },
            notes=notes,
        )


def _segments(table: Path, notes: Notes) -> dict[str, pa.Table]:
    from twinloop.formats.labels.segments import segments_by_video
    from twinloop.formats.labels.tables import START, STOP, VIDEO, read_cells

    try:
        cells = read_cells(table, notes)
    except TwinloopError as error:
        notes.add(Problem.CORRUPT, error.what, Where(file=str(table)), None)
        return {}
    missing = {VIDEO, START, STOP} - {*cells.column_names}
    if missing:
        message = f"the table has no column {', '.join(sorted(missing))}"
        notes.add(Problem.SCHEMA, message, Where(file=str(table)), None)
        return {}
    return segments_by_video(cells, table, notes)


def _companions(path: Path) -> list[Path]:
    """The lists of classes and whatever other tables lie in the folder: part of what is kept."""
    return sorted(path.glob("*.csv")) if path.is_dir() else []


READER = ActionTableReader()
