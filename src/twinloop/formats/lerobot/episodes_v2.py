"""The lines of meta/ in v2: episodes and tasks as JSON, one parquet file and one video a camera an episode."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from twinloop.core.errors import Where
from twinloop.core.recording import Problem
from twinloop.formats.lerobot.entry import SUCCESS, EpisodeEntry, VideoPlace, believable, outcome_of
from twinloop.formats.notes import some
from twinloop.formats.parquet import PARQUET_ERRORS

if TYPE_CHECKING:
    from pathlib import Path

    from twinloop.formats.lerobot.files import DatasetFiles
    from twinloop.formats.lerobot.info import Info
    from twinloop.formats.notes import Notes


def episodes_v2(info: Info, files: DatasetFiles, cameras: tuple[str, ...], notes: Notes) -> list[EpisodeEntry]:
    path = files.root / "meta" / "episodes.jsonl"
    declared: dict[int, dict[str, Any]] = {}
    for row, line in _json_lines(path, notes):
        index: Any = line.get("episode_index")
        if believable(index):
            declared[int(index)] = line
        else:
            notes.add(Problem.BAD_VALUE, "a line without an episode_index", Where(file=str(path), row=row))
    unlisted = [number[0] for number in files.tables if len(number) == 1 and number[0] not in declared]
    if unlisted:
        notes.add(
            Problem.COUNT,
            f"{len(unlisted)} episodes have a data file but no line here: {some(unlisted)}",
            Where(file=str(path)),
        )
    outcomes = _outcomes(info, files, notes)
    episodes = []
    for index in sorted({*declared, *unlisted}):
        line = declared.get(index, {})
        numbers = {"episode_index": index, "episode_chunk": index // info.chunks_size}
        data = files.table(info.data_path, (index,), numbers)
        length: Any = line.get("length")
        if not believable(length):
            if line:
                notes.add(Problem.BAD_VALUE, f"episode {index} has length {length!r}", Where(file=str(path)))
            length = rows_of(data, notes) if data else 0
        episodes.append(
            EpisodeEntry(
                index=index,
                length=length,
                tasks=_texts(line.get("tasks")),
                data=data,
                videos={
                    key: VideoPlace(files.video(info.video_path, key, (index,), numbers)) for key in cameras
                },
                attributes={
                    k: v if isinstance(v, str) else json.dumps(v)
                    for k, v in line.items()
                    if k not in ("episode_index", "length", "tasks") and v is not None
                },
                outcome=outcomes.get(index),
            )
        )
    return episodes


def tasks_v2(path: Path, notes: Notes) -> dict[int, str]:
    """task_index -> instruction."""
    tasks = {}
    for _, line in _json_lines(path, notes):
        if isinstance(line.get("task_index"), int):
            tasks[line["task_index"]] = str(line.get("task", ""))
    return tasks


def _outcomes(info: Info, files: DatasetFiles, notes: Notes) -> dict[int, str | None]:
    """episode_index -> its outcome, by the statistics of `SUCCESS` (from v2.1 on each episode has them)."""
    path = files.root / "meta" / "episodes_stats.jsonl"
    if SUCCESS not in info.features or not path.is_file():
        return {}
    outcomes: dict[int, str | None] = {}
    for _, line in _json_lines(path, notes):
        stats = line.get("stats")
        known = stats.get(SUCCESS) if isinstance(stats, dict) else None
        if believable(line.get("episode_index")) and isinstance(known, dict):
            outcomes[line["episode_index"]] = outcome_of(known.get("max"))
    return outcomes


def rows_of(path: Path, notes: Notes) -> int:
    """Rows of a parquet file by its footer; 0, with a note, if it has none."""
    import pyarrow.parquet as pq

    try:
        return int(pq.read_metadata(path).num_rows)
    except PARQUET_ERRORS as error:
        notes.add(Problem.CORRUPT, f"the parquet file does not open: {error}", Where(file=str(path)), None)
        return 0


def _json_lines(path: Path, notes: Notes) -> list[tuple[int, dict[str, Any]]]:
    """(row, object) of each line; lines that are none are noted and passed over."""
    lines: list[tuple[int, dict[str, Any]]] = []
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        notes.add(Problem.MISSING_FILE, f"cannot be read: {error.strerror}", Where(file=str(path)))
        return lines
    for row, line in enumerate(text.splitlines()):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError as error:
            notes.add(Problem.CORRUPT, f"a line that is no JSON: {error}", Where(file=str(path), row=row), 1)
            continue
        if isinstance(value, dict):
            lines.append((row, value))
    return lines


def _texts(tasks: object) -> tuple[str, ...]:
    if isinstance(tasks, str):
        return (tasks,)
    return tuple(str(task) for task in tasks) if isinstance(tasks, list) else ()
