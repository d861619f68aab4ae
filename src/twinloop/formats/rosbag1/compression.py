"""Chunk compressions, undone as far as the bytes allow."""

from __future__ import annotations

import bz2
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:

    class Decompressor(Protocol):
        """What the decompressors of bz2 and lz4.frame have in common."""

        @property
        def eof(self) -> bool:
            """Whether the end of the compressed data was met."""

        @property
        def needs_input(self) -> bool:
            """Whether nothing more comes out without more input."""

        def decompress(self, data: bytes, max_length: int = -1) -> bytes:
            """At most `max_length` bytes of what `data`, after what was given before, unpacks to."""


#: LZ4 cannot grow its input by more than this factor; bzip2 can by far more, so it is read step by step.
_LZ4_GROWTH = 255
#: A chunk is one allocation: recorders write less than 1 MB, users ask for tens.
MAX_CHUNK = 1 << 31
#: Bytes unpacked at a time; what came before a broken step is kept.
_STEP = 1 << 18


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What came out of a chunk; `broken` says what stopped it before the end, empty if nothing did."""

    data: bytes
    broken: str = ""


def unpack(packed: bytes, compression: str, size: int | None) -> Unpacked:
    """Undo `compression` (none, bz2, lz4) of a chunk that declares `size` bytes (None: unknown)."""
    limit = MAX_CHUNK if size is None else min(size, MAX_CHUNK)
    if compression == "none":
        result = Unpacked(packed)
    elif compression == "lz4":
        import lz4.frame

        result = _drain(lz4.frame.LZ4FrameDecompressor(), packed, min(limit, len(packed) * _LZ4_GROWTH))
    elif compression == "bz2":
        result = _drain(bz2.BZ2Decompressor(), packed, limit)
    else:
        return Unpacked(b"", f"its compression {compression[:40]!r} is not one of none, bz2, lz4")
    if not result.broken and size is not None and len(result.data) != size:
        return Unpacked(result.data, f"it holds {len(result.data)} bytes and declares {size}")
    return result


def _drain(decompressor: Decompressor, packed: bytes, limit: int) -> Unpacked:
    done = bytearray()
    try:
        done += decompressor.decompress(packed, max_length=_STEP)
        while not decompressor.eof and not decompressor.needs_input and len(done) <= limit:
            done += decompressor.decompress(b"", max_length=_STEP)
    except (RuntimeError, OSError, ValueError, EOFError, MemoryError) as error:
        return Unpacked(bytes(done[:limit]), f"its compressed data is broken ({error})")
    if len(done) > limit:
        return Unpacked(bytes(done[:limit]), "it holds more than it declares")
    return Unpacked(bytes(done), "" if decompressor.eof else "its compressed data ends early")
