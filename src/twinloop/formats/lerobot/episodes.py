"""All episodes of a dataset, whatever its version, and what is missing or counted wrong among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.errors import Where
from twinloop.core.recording import Problem
from twinloop.formats.lerobot.episodes_v2 import episodes_v2, tasks_v2
from twinloop.formats.lerobot.episodes_v3 import episodes_v3, tasks_v3
from twinloop.formats.notes import some

if TYPE_CHECKING:
    from twinloop.formats.lerobot.entry import EpisodeEntry
    from twinloop.formats.lerobot.files import DatasetFiles
    from twinloop.formats.lerobot.info import Info
    from twinloop.formats.notes import Notes


def read_episodes(
    info: Info, files: DatasetFiles, cameras: tuple[str, ...], notes: Notes
) -> list[EpisodeEntry]:
    """All episodes in order, those of which only the data knows among them; bases are not set yet."""
    read = episodes_v3 if info.is_v3 else episodes_v2
    episodes = sorted(read(info, files, cameras, notes), key=lambda episode: episode.index)
    _note_missing(episodes, cameras, files, notes)
    _note_counts(info, episodes, files, notes)
    return episodes


def read_tasks(files: DatasetFiles, notes: Notes) -> dict[int, str]:
    """task_index -> instruction, from meta/tasks.parquet (v3) or meta/tasks.jsonl (v2)."""
    table = files.root / "meta" / "tasks.parquet"
    return tasks_v3(table, notes) if table.is_file() else tasks_v2(table.with_suffix(".jsonl"), notes)


def _note_missing(
    episodes: list[EpisodeEntry], cameras: tuple[str, ...], files: DatasetFiles, notes: Notes
) -> None:
    lost = [episode for episode in episodes if episode.data is None]
    if lost:
        notes.add(
            Problem.MISSING_FILE,
            f"the data files of {len(lost)} of {len(episodes)} episodes are not there: "
            f"{some([episode.index for episode in lost])}",
            Where(file=str(files.root / "data")),
            sum(episode.length for episode in lost),
        )
    for key in cameras:
        blind = [episode for episode in episodes if episode.videos[key].file is None]
        if blind:
            notes.add(
                Problem.MISSING_FILE,
                f"the video files of {len(blind)} of {len(episodes)} episodes are not there: "
                f"{some([episode.index for episode in blind])}",
                Where(file=str(files.root / "videos"), stream=key),
                sum(episode.length for episode in blind),
            )


def _note_counts(info: Info, episodes: list[EpisodeEntry], files: DatasetFiles, notes: Notes) -> None:
    here = Where(file=str(files.root / "meta" / "info.json"))
    if info.total_episodes is not None and info.total_episodes != len(episodes):
        notes.add(
            Problem.COUNT,
            f"total_episodes is {info.total_episodes}, {len(episodes)} episodes are listed",
            here,
            max(0, info.total_episodes - len(episodes)),
        )
    rows = sum(episode.length for episode in episodes)
    if info.total_frames is not None and info.total_frames != rows:
        notes.add(
            Problem.COUNT,
            f"total_frames is {info.total_frames}, the lengths of the episodes add up to {rows}",
            here,
            max(0, info.total_frames - rows),
        )
