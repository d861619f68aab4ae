"""From a decoded picture of any pixel format to the two array forms used here, and back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import av
    from av.video.reformatter import VideoReformatter
    from numpy.typing import NDArray

#: Gray formats of more than 8 bits: their numbers are measurements (depth), so they are never scaled.
_DEEP_GRAY = re.compile(r"gray(9|10|12|14|16)(le|be)")


def is_deep_gray(pix_fmt: str) -> bool:
    """Whether pictures of this format come out as uint16 (H, W) instead of RGB."""
    return _DEEP_GRAY.fullmatch(pix_fmt) is not None


def to_pixels(
    picture: av.VideoFrame, reformatter: VideoReformatter | None = None
) -> NDArray[np.uint8] | NDArray[np.uint16]:
    """The picture as RGB uint8 (H, W, 3), or uint16 (H, W) where it is gray of more than 8 bits.

    Deep gray is bit-exact. Colour goes through swscale with the picture's own matrix and range; alpha is
    dropped; 8-bit gray is repeated over the three channels. A reformatter that is used again for pictures
    of the same size saves setting one up for each.
    """
    from av.video.reformatter import VideoReformatter

    deep = _DEEP_GRAY.fullmatch(picture.format.name)
    if deep:
        return _plane(picture, np.dtype("<u2" if deep[2] == "le" else ">u2")).astype(np.uint16)
    if picture.format.name not in ("rgb24", "gray"):
        picture = (reformatter or VideoReformatter()).reformat(picture, format="rgb24", threads=1)
    if picture.format.name == "gray":
        return np.repeat(_plane(picture, np.dtype(np.uint8))[:, :, None], 3, axis=2)
    return _plane(picture, np.dtype(np.uint8), channels=3).copy()


def _plane(picture: av.VideoFrame, dtype: np.dtype[Any], channels: int = 1) -> NDArray[Any]:
    """The first plane as a view (H, W) or (H, W, channels), without the padding of its lines."""
    plane = picture.planes[0]
    row = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)[: picture.height]
    row = row[:, : picture.width * channels * dtype.itemsize]
    pixels = row.view(dtype) if row.flags.c_contiguous else np.ascontiguousarray(row).view(dtype)
    return pixels.reshape(picture.height, picture.width, channels) if channels > 1 else pixels
