"""Small real videos whose images say their own number, so that a test can tell which one it got."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import av
import numpy as np

import twinloop.formats.video  # noqa: F401  (quiets SVT-AV1)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

WIDTH, HEIGHT = 96, 64
BITS = 12

#: What each codec needs to be quick and, for h264, to have B-frames and several groups of pictures.
OPTIONS = {
    "libx264": {"preset": "veryfast", "g": "12", "bf": "3", "b-adapt": "0", "crf": "18"},
    "libx265": {"preset": "ultrafast", "x265-params": "log-level=none:keyint=10"},
    "libsvtav1": {"preset": "12", "crf": "25", "g": "8"},
    "libvpx-vp9": {"deadline": "realtime", "cpu-used": "8", "g": "9"},
}


def numbered(number: int, width: int = WIDTH, height: int = HEIGHT) -> np.ndarray:
    """RGB (H, W, 3) showing `number` as `BITS` columns, white for 1, over a half of a moving ramp."""
    image = np.empty((height, width, 3), np.uint8)
    image[:] = ((np.arange(width) * 2 + number * 3) % 160 + 40)[None, :, None]
    for bit in range(BITS):
        column = slice(bit * width // BITS, (bit + 1) * width // BITS)
        image[: height // 2, column] = 230 if number >> bit & 1 else 20
    return image


def number_of(image: np.ndarray) -> int:
    """The number that an image shows, read back after any codec."""
    width = image.shape[1]
    gray = image[: image.shape[0] // 2].mean(axis=2) if image.ndim == 3 else image[: image.shape[0] // 2]
    centres = [(2 * bit + 1) * width // (2 * BITS) for bit in range(BITS)]
    return sum(int(gray[:, x].mean() > 125) << bit for bit, x in enumerate(centres))


def depth_image(number: int, width: int = WIDTH, height: int = HEIGHT) -> np.ndarray:
    """16-bit gray (H, W) with all bits in play."""
    random = np.random.default_rng(number)
    return random.integers(0, 65536, (height, width), dtype=np.uint16)


def write_clip(
    path: Path,
    images: Iterable[np.ndarray],
    codec: str = "libx264",
    pix_fmt: str = "yuv420p",
    fps: int = 30,
    pts: Iterable[int] | None = None,
    time_base: Fraction | None = None,
    options: dict[str, str] | None = None,
    muxer: dict[str, str] | None = None,
) -> None:
    """Encode `images` into `path`; `pts` are ticks of `time_base` (default: 0, 1, 2... of 1/fps)."""
    times = iter(pts) if pts is not None else None
    with av.open(str(path), "w", options=muxer or {}) as container:
        stream: Any = container.add_stream(
            codec, rate=fps, options={**OPTIONS.get(codec, {}), **(options or {})}
        )
        stream.pix_fmt = pix_fmt
        ticks = stream.codec_context.time_base = time_base or Fraction(1, fps)
        for number, image in enumerate(images):
            if number == 0:
                stream.height, stream.width = image.shape[:2]
            source = "gray16le" if image.dtype == np.uint16 else "rgb24"
            picture = av.VideoFrame.from_ndarray(image, source)
            picture.pts = next(times) if times is not None else number
            picture.time_base = ticks
            container.mux(stream.encode(picture.reformat(format=pix_fmt)))
        container.mux(stream.encode(None))
