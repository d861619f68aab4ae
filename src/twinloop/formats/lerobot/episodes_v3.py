"""The tables of meta/ in v3.0: episodes and tasks as parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twinloop.core.errors import Where
from twinloop.core.recording import Problem
from twinloop.formats.lerobot.entry import SUCCESS, EpisodeEntry, VideoPlace, believable, outcome_of
from twinloop.formats.parquet import PARQUET_ERRORS

if TYPE_CHECKING:
    from pathlib import Path

    from twinloop.formats.lerobot.files import DatasetFiles, Number
    from twinloop.formats.lerobot.info import Info
    from twinloop.formats.notes import Notes

_LARGEST_SUCCESS = f"stats/{SUCCESS}/max"


def episodes_v3(info: Info, files: DatasetFiles, cameras: tuple[str, ...], notes: Notes) -> list[EpisodeEntry]:
    """The episodes of meta/episodes; without it, those that the data files hold."""
    rows = _episode_rows(files, notes)
    if not rows:
        notes.add(
            Problem.INDEX,
            "there is no readable table of episodes; lengths are counted in the data, and which images "
            "belong to which episode is not known",
            Where(file=str(files.root / "meta" / "episodes")),
        )
        rows = _counted_rows(files, notes)
    episodes: dict[int, EpisodeEntry] = {}
    for row in rows:
        episode = _entry(row, info, files, cameras)
        if episode.index in episodes:
            notes.add(
                Problem.COUNT,
                f"episode {episode.index} is listed twice; the first entry is used",
                Where(file=str(files.root / "meta" / "episodes")),
            )
        else:
            episodes[episode.index] = episode
    return list(episodes.values())


def tasks_v3(path: Path, notes: Notes) -> dict[int, str]:
    """task_index -> instruction; the text is the column `task` or the table's pandas index."""
    rows = _rows(path, notes)
    tasks: dict[int, str] = {}
    for row in rows:
        text = next((value for name, value in row.items() if name != "task_index"), None)
        text = row.get("task") or row.get("__index_level_0__") or text
        if isinstance(row.get("task_index"), int):
            tasks[row["task_index"]] = str(text)
    return tasks


def _episode_rows(files: DatasetFiles, notes: Notes) -> list[dict[str, Any]]:
    folder = files.root / "meta" / "episodes"
    rows: list[dict[str, Any]] = []
    for path in files.all:
        if path.suffix == ".parquet" and folder in path.parents:
            rows += _rows(path, notes)
    return [row for row in rows if believable(row.get("episode_index"))]


def _rows(path: Path, notes: Notes) -> list[dict[str, Any]]:
    """The rows of a small table, statistics left out but for that of success."""
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            names = [name for name in file.schema_arrow.names if _is_read(name)]
            return list(file.read(columns=names).to_pylist())
    except PARQUET_ERRORS as error:
        notes.add(Problem.CORRUPT, f"the table does not open: {error}", Where(file=str(path)), None)
        return []


def _is_read(column: str) -> bool:
    return not column.startswith("stats/") or column == _LARGEST_SUCCESS


def _counted_rows(files: DatasetFiles, notes: Notes) -> list[dict[str, Any]]:
    """Entries made from the column `episode_index` of the data files."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    rows: list[dict[str, Any]] = []
    for number, path in sorted(files.tables.items()):
        try:
            column = pq.read_table(path, columns=["episode_index"]).column("episode_index")
        except PARQUET_ERRORS as error:
            notes.add(Problem.CORRUPT, f"the data file does not open: {error}", Where(file=str(path)), None)
            continue
        rows += [
            {"episode_index": entry["values"], "length": entry["counts"], "file": number}
            for entry in pc.value_counts(column.combine_chunks()).to_pylist()
            if isinstance(entry["values"], int)
        ]
    return rows


def _entry(row: dict[str, Any], info: Info, files: DatasetFiles, cameras: tuple[str, ...]) -> EpisodeEntry:
    number = _number(row, "data") or row.get("file")
    tasks = row.get("tasks")
    videos = {key: _place(row, key, info, files) for key in cameras}
    length: Any = row.get("length")
    if not believable(length):
        first: Any = row.get("dataset_from_index")
        last: Any = row.get("dataset_to_index")
        known = isinstance(first, int) and isinstance(last, int) and believable(last - first)
        length = last - first if known else 0
    return EpisodeEntry(
        index=int(row["episode_index"]),
        length=length,
        tasks=tuple(str(task) for task in tasks) if isinstance(tasks, list) else (),
        data=files.table(info.data_path, number, _named(number)) if number else None,
        videos=videos,
        outcome=outcome_of(row.get(_LARGEST_SUCCESS)),
    )


def _place(row: dict[str, Any], key: str, info: Info, files: DatasetFiles) -> VideoPlace:
    number = _number(row, f"videos/{key}")
    if number is None:
        return VideoPlace(None)
    path = files.video(info.video_path, key, number, _named(number))
    start, end = (row.get(f"videos/{key}/{edge}_timestamp") for edge in ("from", "to"))
    return VideoPlace(path, float(start or 0.0), float(end) if end and end > (start or 0.0) else None)


def _number(row: dict[str, Any], prefix: str) -> Number | None:
    chunk, file = row.get(f"{prefix}/chunk_index"), row.get(f"{prefix}/file_index")
    return (int(chunk), int(file)) if chunk is not None and file is not None else None


def _named(number: Number) -> dict[str, int]:
    return {"chunk_index": number[0], "file_index": number[1]} if len(number) == 2 else {}
