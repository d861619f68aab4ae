"""The bytes of an MCAP file, read by position. Nothing is mapped: memory is what was asked for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from twinloop.core.errors import UnreadableError, Where

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray


class Source:
    """A file open for reading by position.

    Attributes:
        size: bytes of the file when it was opened. bytes_read: bytes that were read so far.

    Raises:
        UnreadableError: the system refuses to open or to read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bytes_read = 0
        try:
            self._fd = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
            self.size = os.fstat(self._fd).st_size
        except OSError as error:
            raise UnreadableError(
                f"the system refuses to open it: {error.strerror}", where=str(path), fix="check the permissions"
            ) from error

    def read(self, offset: int, length: int) -> bytes:
        """`length` bytes from `offset`, fewer where the file ends before."""
        length = min(length, self.size - offset)
        if length <= 0:
            return b""
        try:
            data = os.pread(self._fd, length, offset)
            while len(data) < length and (more := os.pread(self._fd, length - len(data), offset + len(data))):
                data += more
        except OSError as error:
            raise self._refused(error, offset) from error
        self.bytes_read += len(data)
        return data

    def read_into(self, target: NDArray[np.uint8], offset: int) -> int:
        """Fill `target` (N,) uint8 from `offset`; gives how many bytes there were."""
        view, done = target.data, 0
        try:
            while done < len(view) and (count := os.preadv(self._fd, [view[done:]], offset + done)):
                done += count
        except OSError as error:
            raise self._refused(error, offset) from error
        self.bytes_read += done
        return done

    def close(self) -> None:
        """Let go of the file; reading afterwards raises UnreadableError."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        if getattr(self, "_fd", -1) >= 0:
            self.close()

    def _refused(self, error: OSError, offset: int) -> UnreadableError:
        why = "it is closed" if self._fd < 0 else f"the system refuses to read it: {error.strerror}"
        return UnreadableError(why, where=Where(file=str(self.path), byte=offset))
