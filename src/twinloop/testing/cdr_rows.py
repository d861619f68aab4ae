"""Writing many CDR messages of one layout at once: a matrix of bytes, a row a message.

XCDR version 1, little endian (OMG DDS-RTPS 2.2, section 10): four bytes of encapsulation, then each
primitive aligned to its own size, counted from behind the encapsulation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_ENCAPSULATION = bytes([0, 1, 0, 0])


class CdrRows:
    """N messages built field by field; strings and sequence lengths are the same in all of them."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._parts: list[NDArray[np.uint8]] = []
        self._size = 0

    def numbers(self, values: ArrayLike, dtype: str) -> CdrRows:
        """One primitive or an array of them: `values` (N,), (N, K) or one value for all messages."""
        kind = np.dtype(dtype).newbyteorder("<")
        matrix = np.asarray(values, kind)
        if matrix.ndim == 0:
            matrix = np.broadcast_to(matrix, (self.count, 1))
        matrix = np.ascontiguousarray(matrix.reshape(self.count, -1))
        self._align(kind.itemsize)
        self._put(matrix.view(np.uint8).reshape(self.count, -1))
        return self

    def sequence(self, values: ArrayLike, dtype: str) -> CdrRows:
        """A sequence of as many primitives in every message: `values` (N, K)."""
        matrix = np.asarray(values)
        self.numbers(matrix.shape[1], "u4")
        return self.numbers(matrix, dtype) if matrix.shape[1] else self

    def string(self, text: str) -> CdrRows:
        """A string with its length and closing zero."""
        data = text.encode() + b"\0"
        self.numbers(len(data), "u4")
        self._put(np.broadcast_to(np.frombuffer(data, np.uint8), (self.count, len(data))))
        return self

    def strings(self, texts: tuple[str, ...]) -> CdrRows:
        """A sequence of strings."""
        self.numbers(len(texts), "u4")
        for text in texts:
            self.string(text)
        return self

    def time(self, stamp_ns: NDArray[np.int64]) -> CdrRows:
        """A ROS 2 time: seconds and nanoseconds of `stamp_ns` (N,)."""
        self.numbers(stamp_ns // 1_000_000_000, "i4")
        return self.numbers(stamp_ns % 1_000_000_000, "u4")

    def header(self, stamp_ns: NDArray[np.int64], frame_id: str) -> CdrRows:
        """A std_msgs/Header."""
        return self.time(stamp_ns).string(frame_id)

    def rows(self) -> NDArray[np.uint8]:
        """The messages (N, size)."""
        start = np.broadcast_to(np.frombuffer(_ENCAPSULATION, np.uint8), (self.count, 4))
        return np.concatenate([start, *self._parts], axis=1)

    def messages(self) -> list[bytes]:
        """The messages one by one."""
        rows = np.ascontiguousarray(self.rows())
        data, size = rows.tobytes(), rows.shape[1]
        return [data[i * size : (i + 1) * size] for i in range(self.count)]

    def _align(self, size: int) -> None:
        if gap := -self._size % size:
            self._put(np.zeros((self.count, gap), np.uint8))

    def _put(self, part: NDArray[np.uint8]) -> None:
        self._parts.append(part)
        self._size += part.shape[1]
