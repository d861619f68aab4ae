"""Packs: bulk bytes of samples that no codec knows (point clouds, audio, raw messages), compressed losslessly.

A pack is a file in zstd's seekable format (facebook/zstd, contrib/seekable_format, version 0.1.0): frames
that decompress on their own, then a seek table in a skippable frame. `zstd -d` gives all payloads, one
after the other. A sample is found by its offset and length in that; it never crosses a frame.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import StoreError, UsageError
from twinloop.core.stream import Payload

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

_FRAME_BYTES = 4 << 20
_LEVEL = 1
_SKIPPABLE = 0x184D2A5E
_SEEKABLE = 0x8F92EAB1


class PackWriter:
    """Writes one pack, payload by payload, in memory of one frame."""

    def __init__(self, path: Path) -> None:
        import zstandard

        self.path = path
        self._file = path.open("wb")
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True, write_content_size=True)
        self._pending: list[NDArray[np.uint8]] = []
        self._pending_bytes = 0
        self._end = 0
        self._frames: list[tuple[int, int]] = []

    def append(self, payload: Payload) -> NDArray[np.int64]:
        """Add samples; give the offset (N,) of each among all decompressed bytes."""
        offsets = np.empty(len(payload), np.int64)
        for row, (start, length) in enumerate(
            zip(payload.offset.tolist(), payload.length.tolist(), strict=True)
        ):
            if self._pending_bytes and self._pending_bytes + length > _FRAME_BYTES:
                self._flush()
            offsets[row] = self._end
            self._pending.append(payload.buffer[start : start + length].copy())
            self._pending_bytes += length
            self._end += length
        return offsets

    def _flush(self) -> None:
        if not self._pending:
            return
        content = np.concatenate(self._pending)
        compressed = self._compressor.compress(content.data)
        self._file.write(compressed)
        self._frames.append((len(compressed), len(content)))
        self._pending, self._pending_bytes = [], 0

    def close(self) -> None:
        """Write the seek table and close the file."""
        self._flush()
        table = b"".join(struct.pack("<II", *frame) for frame in self._frames)
        table += struct.pack("<IBI", len(self._frames), 0, _SEEKABLE)
        self._file.write(struct.pack("<II", _SKIPPABLE, len(table)) + table)
        self._file.close()


class PackReader:
    """Reads samples of a pack, one frame in memory at a time.

    Raises:
        StoreError: the pack is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("rb")
        sizes = self._read_table()
        self._stored = np.concatenate([[0], np.cumsum(sizes[:, 0])])
        #: where each frame starts among all decompressed bytes, and the end of the last.
        self.starts: NDArray[np.int64] = np.concatenate([[0], np.cumsum(sizes[:, 1])])
        self._frame = -1
        self._content = np.empty(0, np.uint8)

    def _read_table(self) -> NDArray[np.int64]:
        end = self._file.seek(0, 2)
        if end < 17:
            raise self._damaged("it is too short")
        self._file.seek(end - 9)
        count, _, magic = struct.unpack("<IBI", self._file.read(9))
        if magic != _SEEKABLE or 8 * count + 17 > end:
            raise self._damaged("its seek table is missing")
        self._file.seek(end - 9 - 8 * count)
        return np.frombuffer(self._file.read(8 * count), "<u4").reshape(-1, 2).astype(np.int64)

    def frame_of(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """The frame (N,) that each offset lies in."""
        frames = np.searchsorted(self.starts, offsets, "right") - 1
        return np.clip(frames, 0, max(len(self.starts) - 2, 0))

    def payload(self, offsets: NDArray[np.int64], lengths: NDArray[np.int64]) -> Payload:
        """Samples (N,) that all lie in one frame. The buffer is good until the next call."""
        if not len(offsets) or not lengths.any():
            return Payload(np.empty(0, np.uint8), np.zeros(len(offsets), np.int64), lengths)
        frame = bisect_right(self.starts, int(offsets[0])) - 1
        if frame != self._frame:
            self._load(frame)
        try:
            return Payload(self._content, offsets - self.starts[frame], lengths)
        except UsageError as error:
            raise self._damaged(str(error)) from error

    def _load(self, frame: int) -> None:
        import zstandard

        if frame + 1 >= len(self.starts):
            raise self._damaged("a sample lies behind its end")
        self._file.seek(int(self._stored[frame]))
        stored = self._file.read(int(self._stored[frame + 1] - self._stored[frame]))
        try:
            content = zstandard.ZstdDecompressor().decompress(stored)
        except zstandard.ZstdError as error:
            raise self._damaged(f"frame {frame}: {error}") from error
        self._content, self._frame = np.frombuffer(content, np.uint8), frame

    def _damaged(self, why: str) -> StoreError:
        return StoreError(f"a pack is damaged: {why}", where=str(self.path), fix="run `twinloop store fsck`")

    def close(self) -> None:
        """Close the file."""
        self._file.close()
