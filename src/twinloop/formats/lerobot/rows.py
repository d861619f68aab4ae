"""Rows of one batch of a data file: their episodes and their times on the grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinloop.core.clock import NS_PER_S
from twinloop.core.errors import Where
from twinloop.core.recording import Problem
from twinloop.formats.lerobot.columns import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.formats.lerobot.entry import EpisodeEntry
    from twinloop.formats.notes import Notes

#: Reserved for an episode that the metadata does not know, whatever its length turns out to be.
_UNKNOWN_EPISODE_NS = 86_400 * NS_PER_S


class Bases:
    """Where the times of each episode begin; episodes unknown to the metadata come after all others."""

    def __init__(self, episodes: Sequence[EpisodeEntry]) -> None:
        self._base = {episode.index: episode.base_ns for episode in episodes}
        self._times = {entry.index: entry.times_ns for entry in episodes if entry.times_ns is not None}
        self.known = frozenset(self._base)
        self._next = max(self._base.values(), default=0) + _UNKNOWN_EPISODE_NS

    def of(self, episode: NDArray[np.int64]) -> NDArray[np.int64]:
        """Bases (N,) int64 ns of episode numbers (N,)."""
        unique, inverse = np.unique(episode, return_inverse=True)
        for number in unique.tolist():
            if number not in self._base:
                self._base[number] = self._next
                self._next += _UNKNOWN_EPISODE_NS
        return np.array([self._base[n] for n in unique.tolist()], np.int64)[inverse.reshape(-1)]

    def told(
        self, episode: NDArray[np.int64], frame: NDArray[np.int64], stamp_ns: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Times (N,) of rows by their episodes and frames, where something tells them; else `stamp_ns`."""
        stamps = stamp_ns.copy() if self._times else stamp_ns
        for number in np.unique(episode).tolist() if self._times else ():
            times = self._times.get(number)
            if times is not None:
                rows = np.flatnonzero((episode == number) & (frame < len(times)))
                stamps[rows] = times[frame[rows]]
        return stamps


@dataclass(frozen=True, slots=True)
class Rows:
    """N rows: `columns` as read, `episode` (N,), `base_ns` (N,), `timestamp_s` (N,), `stamp_ns` (N,)."""

    columns: pa.RecordBatch
    episode: NDArray[np.int64]
    base_ns: NDArray[np.int64]
    timestamp_s: NDArray[np.float64]
    stamp_ns: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.episode)

    def column(self, name: str) -> pa.Array | None:
        """A column as read, None where the file does not have it."""
        return self.columns.column(name) if name in self.columns.schema.names else None

    def numbers(self, name: str, missing: int = -1) -> NDArray[np.int64]:
        """A bookkeeping column as int64, `missing` where it has no value."""
        return whole_numbers(self.column(name), len(self), missing)

    def between(self, start_ns: int | None, end_ns: int | None) -> Rows:
        """The rows in [start_ns, end_ns)."""
        if start_ns is None and end_ns is None:
            return self
        keep = np.ones(len(self), np.bool_)
        if start_ns is not None:
            keep &= self.stamp_ns >= start_ns
        if end_ns is not None:
            keep &= self.stamp_ns < end_ns
        if keep.all():
            return self
        return Rows(
            self.columns.filter(pa.array(keep)),
            self.episode[keep],
            self.base_ns[keep],
            self.timestamp_s[keep],
            self.stamp_ns[keep],
        )

    def runs(self) -> Iterator[tuple[int, slice]]:
        """(episode, rows) for each run of rows of one episode."""
        edges = np.flatnonzero(np.diff(self.episode)) + 1
        starts = [0, *edges.tolist()]
        for start, end in zip(starts, [*starts[1:], len(self)], strict=True):
            if end > start:
                yield int(self.episode[start]), slice(start, end)


def rows_of_batch(
    batch: pa.RecordBatch,
    first_row: int,
    file: Path,
    own_episode: int | None,
    fps: float,
    bases: Bases,
    notes: Notes,
) -> Rows:
    """Episodes and times of a batch that starts at row `first_row` of `file`.

    `own_episode` is the one that the file is named for (v2), and wins over the column: a file renumbered
    by hand often keeps the old numbers inside. A `timestamp` that float32 cannot tell from frame_index/fps
    is taken as exactly that; one that is missing or NaN is replaced by it, with a note.
    """
    names = batch.schema.names
    size = batch.num_rows
    column = {name: batch.column(name) if name in names else None for name in ("episode_index", "frame_index")}
    episode = whole_numbers(column["episode_index"], size, -1 if own_episode is None else own_episode)
    if own_episode is not None and (episode != own_episode).any():
        notes.add(
            Problem.BAD_VALUE,
            f"the file is named for episode {own_episode}, its rows say {sorted(set(episode.tolist()))[:5]}; "
            "the name is used",
            Where(file=str(file), row=first_row + int(np.argmax(episode != own_episode))),
        )
        episode = np.full(size, own_episode, np.int64)
    frame = whole_numbers(column["frame_index"], size, -1)
    frame = np.where(frame < 0, first_row + np.arange(size), frame)
    grid_s = frame / fps
    timestamp_s = grid_s
    if "timestamp" in names:
        given = np.asarray(
            pc.cast(plain(batch.column("timestamp")), pa.float64()).to_numpy(zero_copy_only=False), np.float64
        )
        finite = np.isfinite(given) & (np.abs(given) < 1e9)
        if not finite.all():
            notes.add(
                Problem.BAD_VALUE,
                f"{int((~finite).sum())} timestamps are missing or no times; frame_index/fps is used",
                Where(file=str(file), row=first_row + int(np.argmin(finite))),
            )
        same = np.abs(given - grid_s) <= np.spacing(np.abs(grid_s).astype(np.float32))
        timestamp_s = np.where(same | ~finite, grid_s, given)
    base_ns = bases.of(episode)
    stamp_ns = base_ns + np.rint(timestamp_s * NS_PER_S).astype(np.int64)
    return Rows(batch, episode, base_ns, timestamp_s, bases.told(episode, frame, stamp_ns))


def whole_numbers(column: pa.Array | None, size: int, missing: int) -> NDArray[np.int64]:
    """A column of whole numbers as int64 (N,), `missing` where there is no value."""
    if column is None:
        return np.full(size, missing, np.int64)
    column = pc.fill_null(pc.cast(plain(column), pa.int64(), safe=False), missing)
    return np.asarray(column.to_numpy(zero_copy_only=False), np.int64)
