"""Containers that stay small however much is put in: an evenly strided sample, and a capped list of places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class StridedSample:
    """Every n-th of the values added, n doubling when `capacity` is reached; all of them while they fit."""

    def __init__(self, capacity: int = 65_536) -> None:
        self.capacity = capacity
        self.stride = 1
        self._seen = 0
        self._size = 0
        self._parts: list[NDArray[np.float64]] = []

    def add(self, values: NDArray[np.generic]) -> None:
        """Take in values (N,) or (N, D)."""
        kept = values[-self._seen % self.stride :: self.stride]
        self._seen += len(values)
        self._parts.append(kept.astype(np.float64))
        self._size += len(kept)
        while self._size > self.capacity:
            self._parts = [np.concatenate(self._parts)[::2]]
            self._size = len(self._parts[0])
            self.stride *= 2

    def values(self) -> NDArray[np.float64]:
        """The sample, in the order added."""
        return np.concatenate(self._parts) if self._parts else np.empty(0)


@dataclass(frozen=True, slots=True)
class Places:
    """Rows of a stream where something was seen: at most so many, and how many there were in all.

    `row` (P,) counts the stream's samples in the file's order; `start_ns`, `end_ns` (P,) int64.
    """

    row: NDArray[np.int64]
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    total: int

    def __len__(self) -> int:
        return len(self.row)

    def within(self, start_ns: int, end_ns: int) -> Places:
        """Those whose start lies in [start_ns, end_ns); the total is theirs as far as they are listed."""
        inside = (self.start_ns >= start_ns) & (self.start_ns < end_ns)
        return Places(self.row[inside], self.start_ns[inside], self.end_ns[inside], int(inside.sum()))


class PlaceList:
    """Collects places; keeps the first `capacity` and counts the rest."""

    def __init__(self, capacity: int = 1000) -> None:
        self.capacity = capacity
        self.total = 0
        self._kept = 0
        self._parts: list[NDArray[np.int64]] = []

    def add(self, row: NDArray[np.int64], start_ns: NDArray[np.int64], end_ns: NDArray[np.int64]) -> None:
        """Take in places (P,)."""
        self.total += len(row)
        if (room := self.capacity - self._kept) > 0 and len(row):
            self._parts.append(np.stack([row, start_ns, end_ns])[:, :room])
            self._kept += self._parts[-1].shape[1]

    def places(self) -> Places:
        """What was collected, in the order added."""
        row, start, end = np.concatenate(self._parts, axis=1) if self._parts else np.empty((3, 0), np.int64)
        return Places(row, start, end, self.total)
