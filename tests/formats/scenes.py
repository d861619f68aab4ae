"""Small pictures for the tests of scenes."""

from __future__ import annotations

import struct
import zlib
from fractions import Fraction
from typing import cast

import av
import numpy as np


def png(number: int, *, width: int = 48, height: int = 32) -> bytes:
    """A gray picture of 8 bits; `number` tells it from others."""
    return _png(np.full((height, width), number % 256, np.uint8), 8)


def deep_png(number: int, *, width: int = 48, height: int = 32) -> bytes:
    """A gray picture of 16 bits, as depth is stored."""
    return _png(np.full((height, width), 1000 + number, ">u2"), 16)


def jpeg(number: int, *, width: int = 48, height: int = 32) -> bytes:
    """A picture that `number` tells from others."""
    context = cast("av.VideoCodecContext", av.CodecContext.create("mjpeg", "w"))
    context.width, context.height, context.pix_fmt = width, height, "yuvj420p"
    context.time_base = Fraction(1, 25)
    frame = av.VideoFrame.from_ndarray(np.full((height, width, 3), number * 20 % 256, np.uint8), "rgb24")
    packets = [*context.encode(frame.reformat(format="yuvj420p")), *context.encode(None)]
    return bytes(packets[0])


def _png(pixels: np.ndarray, depth: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", width, height, depth, 0, 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)
