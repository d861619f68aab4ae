"""The files of the folder, opened where they are of exactly the dataset that they lie beside."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from twinloop.core.errors import Where
from twinloop.core.recording import Problem
from twinloop.formats.parquet import PARQUET_ERRORS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.formats.notes import Notes

ROWS, EPISODES, FACTS = "rows.parquet", "episodes.parquet", "facts.json"
#: facts.json of more is none of ours.
_MOST_FACTS = 256 << 20


@dataclass(frozen=True, slots=True)
class Beside:
    """What the folder says.

    Attributes:
        files: that were read. lengths: (E,) rows of each episode. row_ns: (N,) int64, times of all rows.
        episodes: a row of episodes.parquet each. facts: facts.json.
    """

    files: tuple[Path, ...]
    lengths: NDArray[np.int64]
    row_ns: NDArray[np.int64]
    episodes: Sequence[dict[str, Any]]
    facts: dict[str, Any]

    @property
    def sessions(self) -> list[dict[str, Any]]:
        """What facts.json says of each session."""
        said = self.facts.get("sessions")
        return [one for one in said.values() if isinstance(one, dict)] if isinstance(said, dict) else []

    @property
    def features(self) -> dict[str, dict[str, Any]]:
        """What facts.json says of each feature."""
        said = self.facts.get("features")
        known = said.items() if isinstance(said, dict) else ()
        return {str(name): each for name, each in known if isinstance(each, dict)}


def read_beside(folder: Path, lengths: NDArray[np.int64], notes: Notes) -> Beside | None:
    """What lies in `folder` beside a dataset whose episodes have `lengths` (E,); None where nothing does, or
    it is of another one, which is noted."""
    files = tuple(folder / name for name in (ROWS, EPISODES, FACTS))
    if not all(file.is_file() for file in files):
        return None
    try:
        episodes = _episodes(files[1], len(lengths))
        found = _rows(files[0], int(lengths.sum())) if episodes is not None else None
        facts = _facts(files[2])
    except (*PARQUET_ERRORS, OSError, ValueError, RecursionError) as error:
        notes.add(Problem.CORRUPT, f"what was written beside the dataset cannot be read: {error}", _at(folder))
        return None
    if episodes is None or found is None or not np.array_equal(found[0], lengths):
        notes.add(
            Problem.COUNT,
            "what was written beside the dataset is of other episodes than it has now; it is not taken over",
            _at(folder),
        )
        return None
    return Beside(files, lengths, found[1], episodes, facts)


def _at(folder: Path) -> Where:
    return Where(file=str(folder))


def _episodes(path: Path, count: int) -> list[dict[str, Any]] | None:
    """The rows of episodes.parquet; None: it is of another number of episodes."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        if file.metadata.num_rows != count:
            return None
        rows: list[dict[str, Any]] = file.read().to_pylist()
    return rows if [row.get("episode_index") for row in rows] == list(range(count)) else None


def _rows(path: Path, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Rows of each episode and the times of all; None: there are not `count`, or they are out of order."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        if file.metadata.num_rows != count or not count:
            return None
        table = file.read(["episode_index", "row_ns"])
    episode, row_ns = (np.asarray(table.column(name), np.int64) for name in ("episode_index", "row_ns"))
    if len(episode) != count or episode.min() < 0 or episode.max() >= count or (np.diff(episode) < 0).any():
        return None
    return np.bincount(episode), row_ns


def _facts(path: Path) -> dict[str, Any]:
    if path.stat().st_size > _MOST_FACTS:
        raise ValueError("facts.json is too large")
    facts = json.loads(path.read_bytes())
    return facts if isinstance(facts, dict) else {}
