"""The true times of rows, which an export of ours wrote beside the dataset."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import Where
from twinloop.formats.beside.folder import Beside, read_beside
from twinloop.formats.beside.tell import stamps_beside
from twinloop.formats.steps.grid import StepGrid
from twinloop.formats.steps.times import StepTimes, timed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from twinloop.core.stream import Stream
    from twinloop.formats.lerobot.entry import EpisodeEntry
    from twinloop.formats.notes import Notes

FOLDER = "twinloop"


def find_beside(root: Path, episodes: Sequence[EpisodeEntry], notes: Notes) -> Beside | None:
    """What stands beside the dataset, if it is of all its episodes in order."""
    if [episode.index for episode in episodes] != list(range(len(episodes))):
        return None
    lengths = np.array([episode.length for episode in episodes], np.int64)
    return read_beside(root / FOLDER, lengths, notes)


def true_steps(beside: Beside | None, fps: float, notes: Notes) -> StepTimes | None:
    """The times of all rows; None where nothing tells them, or they are a grid."""
    if beside is None or not beside.lengths.all():
        return None
    times = np.split(beside.row_ns, np.cumsum(beside.lengths)[:-1])
    told = f"{FOLDER}/{beside.files[0].name}"
    where = Where(file=str(beside.files[0]))
    made = timed(StepGrid(beside.lengths, fps), times, stamps_beside(beside), told, notes, where)
    return made if isinstance(made, StepTimes) else None


def with_times(episodes: Sequence[EpisodeEntry], steps: StepTimes) -> list[EpisodeEntry]:
    """The episodes at their true times."""
    times = [steps.stamps(number, range(episode.length)) for number, episode in enumerate(episodes)]
    return [replace(e, base_ns=int(t[0]), times_ns=t) for e, t in zip(episodes, times, strict=True)]


def with_stamps(stream: Stream, episodes: Sequence[EpisodeEntry], steps: StepTimes) -> Stream:
    """A stream of rows at their true times."""
    here = [episode.times_ns for episode in episodes if episode.data is not None]
    ends = [times for times in here if times is not None]
    return replace(
        stream,
        start_ns=int(ends[0][0]) if ends else None,
        end_ns=int(ends[-1][-1]) if ends else None,
        stamp_source=steps.measured.source,
        stamp_clock=steps.clock,
        attributes={**stream.attributes, "times": steps.said},
    )
