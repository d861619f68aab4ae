"""Building N messages of different lengths at once: pieces side by side, then one buffer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from twinloop.core.stream import Payload

#: From this mean length on, a copy a row costs less than an index a byte.
_WORTH_A_COPY = 512


@dataclass(frozen=True, slots=True)
class Ragged:
    """N runs of bytes one after the other: `data` (sum of lengths,) uint8, `length` (N,) int64."""

    data: NDArray[np.uint8]
    length: NDArray[np.int64]

    @classmethod
    def of_matrix(cls, rows: NDArray[np.uint8]) -> Ragged:
        """The rows of a matrix (N, width)."""
        return cls(np.ascontiguousarray(rows).reshape(-1), np.full(len(rows), rows.shape[1], np.int64))

    @classmethod
    def of_payload(cls, payload: Payload) -> Ragged:
        """The bulk bytes of N samples, packed."""
        runs = [payload.buffer[o : o + n] for o, n in zip(payload.offset, payload.length, strict=True)]
        data = np.concatenate(runs) if runs else np.empty(0, np.uint8)
        return cls(data, np.asarray(payload.length, np.int64))

    @classmethod
    def of_bytes(cls, runs: list[bytes]) -> Ragged:
        """Some bytes objects."""
        length = np.array([len(run) for run in runs], np.int64)
        return cls(np.frombuffer(b"".join(runs), np.uint8), length)

    def __len__(self) -> int:
        return len(self.length)

    def __iter__(self) -> Iterator[memoryview[Any]]:
        view = memoryview(self.data.data)
        ends = np.cumsum(self.length)
        return (view[end - size : end] for end, size in zip(ends.tolist(), self.length.tolist(), strict=True))

    def take(self, rows: NDArray[np.int64]) -> Ragged:
        """The runs at `rows`, in that order."""
        starts = np.cumsum(self.length) - self.length
        return Ragged(self.data[spread(starts[rows], self.length[rows])], self.length[rows])

    def spread_over(self, count: int, rows: NDArray[np.int64]) -> Ragged:
        """Run i as run `rows[i]` of `count`, the others empty. `rows` ascend."""
        length = np.zeros(count, np.int64)
        length[rows] = self.length
        return Ragged(self.data, length)

    def joined(self, counts: NDArray[np.int64]) -> Ragged:
        """`counts` (M,) consecutive runs each as one."""
        ends = np.concatenate([[0], np.cumsum(self.length)])
        stops = np.cumsum(counts)
        return Ragged(self.data, ends[stops] - ends[stops - counts])


def spread(starts: NDArray[np.int64], length: NDArray[np.int64]) -> NDArray[np.int64]:
    """The indices ``starts[i] .. starts[i] + length[i]`` of all runs, one run after the other."""
    before = np.cumsum(length) - length
    return np.repeat(starts - before, length) + np.arange(int(length.sum()))


class Pieces:
    """N messages in the making. `size` (N,) int64: the bytes of each so far."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.size = np.zeros(count, np.int64)
        self._parts: list[tuple[NDArray[np.uint8] | None, NDArray[np.int64]]] = []

    def put(self, piece: Ragged) -> None:
        """Add a run to each message."""
        self._parts.append((piece.data, piece.length))
        self.size += piece.length

    def zeros(self, length: NDArray[np.int64]) -> None:
        """Add `length` (N,) zero bytes to each message."""
        if length.any():
            self._parts.append((None, length))
            self.size += length

    def finish(self) -> Ragged:
        """The messages."""
        out = np.zeros(int(self.size.sum()), np.uint8)
        position = np.cumsum(self.size) - self.size
        for data, length in self._parts:
            if data is not None and len(data):
                _copy(data, length, out, position)
            position += length
        return Ragged(out, self.size)


def _copy(
    data: NDArray[np.uint8], length: NDArray[np.int64], out: NDArray[np.uint8], position: NDArray[np.int64]
) -> None:
    width = int(length[0])
    if len(data) >= _WORTH_A_COPY * len(length):
        start = 0
        for place, size in zip(position.tolist(), length.tolist(), strict=True):
            out[place : place + size] = data[start : start + size]
            start += size
    elif (length == width).all():
        out[position[:, None] + np.arange(width)] = data.reshape(-1, width)
    else:
        out[spread(position, length)] = data
