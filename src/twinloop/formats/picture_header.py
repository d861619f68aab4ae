"""Encoding and size of a picture, from the first bytes of its file."""

from __future__ import annotations

import struct
from dataclasses import dataclass

#: Enough for the thumbnails and profiles that cameras put before a JPEG's frame header.
PICTURE_HEAD = 256 << 10
_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8\xff"
#: JPEG's start-of-frame markers: all of C0 to CF but the tables DHT, JPG and DAC.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


@dataclass(frozen=True, slots=True)
class PictureHeader:
    """`encoding` is ``png`` or ``jpeg``; `deep_gray`: one channel of 16 bits, as depth is stored."""

    encoding: str
    width: int
    height: int
    deep_gray: bool = False


def picture_header(head: bytes) -> PictureHeader | None:
    """The header of a picture that starts with `head`; None where it is none, or its size is not in `head`."""
    if head.startswith(_PNG) and head[12:16] == b"IHDR" and len(head) >= 26:
        width, height, depth, colour = struct.unpack(">IIBB", head[16:26])
        return PictureHeader("png", width, height, depth == 16 and colour == 0) if width and height else None
    return _jpeg(head) if head.startswith(_JPEG) else None


def is_picture(head: bytes) -> bool:
    """Whether a file starts as a PNG or JPEG."""
    return head.startswith((_PNG, _JPEG))


def _jpeg(head: bytes) -> PictureHeader | None:
    place = 2
    while place + 9 <= len(head):
        if head[place] != 0xFF:
            return None
        marker = head[place + 1]
        if marker == 0xFF or 0xD0 <= marker <= 0xD7 or marker == 0x01:  # fill bytes, markers without content
            place += 1 if marker == 0xFF else 2
            continue
        length, _, height, width = struct.unpack(">HBHH", head[place + 2 : place + 9])
        if marker in _FRAMES:
            return PictureHeader("jpeg", width, height) if width and height else None
        place += 2 + max(2, length)
    return None
