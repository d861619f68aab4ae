"""Copies of scattered bytes in one numpy call: a buffer seen as overlapping items of any size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Above this mean length, pieces of different lengths are copied one by one rather than byte by byte.
_LONG_PIECE = 64


def gather(buffer: NDArray[np.uint8], position: NDArray[np.int64], size: int) -> NDArray[np.uint8]:
    """The `size` bytes at each of `position` (N,): (N, size) uint8. All must lie inside the buffer."""
    if not len(position) or not size:
        return np.empty((len(position), size), np.uint8)
    windows: NDArray[np.void] = np.ndarray((len(buffer) - size + 1,), f"V{size}", buffer, 0, (1,))
    return windows[position].view(np.uint8).reshape(-1, size)


def gather_words(buffer: NDArray[np.uint8], position: NDArray[np.int64], dtype: str) -> NDArray[np.int64]:
    """The integers of `dtype` at each of `position` (N,), as (N,) int64."""
    size = np.dtype(dtype).itemsize
    return gather(buffer, position, size).view(dtype).reshape(-1).astype(np.int64)


def spread(start: NDArray[np.int64], count: NDArray[np.int64], step: int = 1) -> NDArray[np.int64]:
    """``start[i], start[i] + step, ...`` for `count[i]` values, one after the other for all i."""
    before = np.cumsum(count) - count
    total = int(count.sum())
    return np.repeat(start - before * step, count) + np.arange(0, total * step, step)


def gather_pieces(
    buffer: NDArray[np.uint8], start: NDArray[np.int64], length: NDArray[np.int64]
) -> NDArray[np.uint8]:
    """Pieces of `length` (N,) bytes at `start` (N,), one after the other: (sum of length,) uint8."""
    if not len(start):
        return np.empty(0, np.uint8)
    size = int(length[0])
    if (length == size).all():
        return gather(buffer, start, size).reshape(-1)
    if int(length.sum()) < _LONG_PIECE * len(length):
        return buffer[spread(start, length)]
    stop = start + length
    return np.concatenate([buffer[a:b] for a, b in zip(start.tolist(), stop.tolist(), strict=True)])
