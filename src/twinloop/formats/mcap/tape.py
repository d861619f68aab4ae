"""Bytes read forwards by position: of a file, of memory, or of a chunk while it is decompressed.

A chunk of any size is read through a tape in flat memory, and a damaged one as far as it goes.
"""

from __future__ import annotations

import io
import zlib
from typing import IO, TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from twinloop.formats.mcap.source import Source

#: Bytes taken out of a decompressor at a time: not above a zstd block, so that damage costs one block.
_STEP = 1 << 17


class Tape(Protocol):
    """Where records are read from. Offsets of successive reads never fall."""

    def read(self, offset: int, length: int) -> bytes | memoryview:
        """`length` bytes from `offset`, fewer where there are no more."""


class FileTape:
    """The bytes of a file, from `start` on; offsets count from there."""

    def __init__(self, source: Source, start: int = 0) -> None:
        self._source = source
        self._start = start

    def read(self, offset: int, length: int) -> bytes:
        """`length` bytes from `offset`, fewer where the file ends."""
        return self._source.read(self._start + offset, length)


class MemoryTape:
    """Bytes that are there."""

    def __init__(self, data: memoryview) -> None:
        self._data = data

    def read(self, offset: int, length: int) -> memoryview:
        """`length` bytes from `offset`, fewer where they end."""
        return self._data[offset : offset + length]


class DecompressedTape:
    """The uncompressed bytes of a chunk, made as they are asked for.

    Args:
        source, start, stored: where the compressed bytes lie.
        compression: ``zstd``, ``lz4`` or empty.

    Attributes:
        failure: why it ends early, empty while it does not. produced: uncompressed bytes so far.
        crc: CRC-32 of all of them.
    """

    def __init__(self, source: Source, start: int, stored: int, compression: str) -> None:
        self._section = _Section(source, start, stored)
        self._next = _decompressor(self._section, compression)
        self._kept = bytearray()
        self._base = 0
        self._ended = False
        self.failure = ""
        self.crc = 0

    @property
    def produced(self) -> int:
        """Uncompressed bytes so far."""
        return self._base + len(self._kept)

    def read(self, offset: int, length: int) -> bytes:
        """`length` bytes from `offset`; fewer at the end, or where it fails to decompress."""
        while self.produced < offset + length and self._more():
            self._drop(min(offset, self.produced))
        self._drop(min(offset, self.produced))
        start = offset - self._base
        return bytes(self._kept[start : start + length]) if start >= 0 else b""

    def drain(self) -> None:
        """Decompress what is left, for the CRC."""
        while self._more():
            self._drop(self.produced)

    def _more(self) -> bool:
        if self._ended:
            return False
        try:
            data = self._next(_STEP)
        except Exception as error:  # zstd.ZstdError, RuntimeError of lz4, EOFError: all say that it is broken
            self.failure = str(error) or type(error).__name__
            data = b""
        if not data:
            self._ended = True
            if not self.failure and self._section.short:
                self.failure = "the file ends before it does"
            return False
        self.crc = zlib.crc32(data, self.crc)
        self._kept += data
        return True

    def _drop(self, offset: int) -> None:
        if offset - self._base >= _STEP:
            del self._kept[: offset - self._base]
            self._base = offset


class _Section(io.RawIOBase):
    """A span of the file, as decompressors want it. `short`: the file ended inside it."""

    def __init__(self, source: Source, start: int, length: int) -> None:
        super().__init__()
        self._source = source
        self._at = start
        self._end = start + length
        self.short = False

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        wanted = self._end - self._at if size < 0 else min(size, self._end - self._at)
        data = self._source.read(self._at, min(wanted, 1 << 20))
        self.short = self.short or (wanted > 0 and not data)
        self._at += len(data)
        return data


def _decompressor(section: _Section, compression: str) -> Callable[[int], bytes]:
    """A function that gives up to so many further uncompressed bytes, none at the end."""
    if compression == "":
        return section.read
    if compression == "zstd":
        import zstandard

        return zstandard.ZstdDecompressor().stream_reader(cast("IO[bytes]", section), read_size=1 << 17).read
    if compression == "lz4":
        return _lz4(section)
    raise ValueError(f"unknown compression {compression!r}")


def _lz4(section: _Section) -> Callable[[int], bytes]:
    import lz4.frame

    frame = lz4.frame.LZ4FrameDecompressor()

    def more(size: int) -> bytes:
        data = b""
        while not data and not frame.eof:
            fresh = section.read(_STEP) if frame.needs_input else b""
            if frame.needs_input and not fresh:
                return b""
            data = frame.decompress(fresh, size)
        return data

    return more
