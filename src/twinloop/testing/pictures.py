"""Images as a camera driver sends them: JPEG, H.264 packets, or raw bytes."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from av import VideoFrame
    from av.video.codeccontext import VideoCodecContext
    from numpy.typing import NDArray


def jpeg(images: Iterable[NDArray[np.uint8]]) -> Iterator[bytes]:
    """Each RGB image (H, W, 3) as a JPEG of its own."""
    encoder = None
    for image in images:
        if encoder is None:
            encoder = _encoder("mjpeg", image.shape, "yuvj420p", {"qmin": "3", "qmax": "3"})
        yield b"".join(bytes(packet) for packet in encoder.encode(_frame(image, "yuvj420p")))


def h264(images: Iterable[NDArray[np.uint8]], keyframe_every: int = 15) -> Iterator[bytes]:
    """Each RGB image (H, W, 3) as one Annex B access unit; no B-frames, so one packet an image, in order.

    Parameter sets stand before every keyframe.
    """
    options = {
        "preset": "veryfast",
        "tune": "zerolatency",
        "crf": "23",
        "x264-params": f"keyint={keyframe_every}:min-keyint={keyframe_every}:scenecut=0:repeat-headers=1",
        "threads": "1",
    }
    encoder = None
    for number, image in enumerate(images):
        if encoder is None:
            encoder = _encoder("libx264", image.shape, "yuv420p", options)
        frame = _frame(image, "yuv420p")
        frame.pts = number
        yield b"".join(bytes(packet) for packet in encoder.encode(frame))


def raw_rgb(images: Iterable[NDArray[np.uint8]]) -> Iterator[bytes]:
    """Each RGB image (H, W, 3) as its bytes."""
    return (image.tobytes() for image in images)


def raw_depth(depths: Iterable[NDArray[np.float32]]) -> Iterator[bytes]:
    """Each depth image (H, W) [m] as unsigned 16-bit millimetres; 0 where nothing is seen, beyond 5 m."""
    for depth in depths:
        millimetres = np.where(depth < 5.0, np.rint(depth * 1000), 0)
        yield millimetres.astype("<u2").tobytes()


def _encoder(name: str, shape: tuple[int, ...], pix_fmt: str, options: dict[str, str]) -> VideoCodecContext:
    from av.video.codeccontext import VideoCodecContext

    encoder = VideoCodecContext.create(name, "w")
    assert isinstance(encoder, VideoCodecContext)
    encoder.height, encoder.width = shape[:2]
    encoder.pix_fmt = pix_fmt
    encoder.time_base = Fraction(1, 30)
    encoder.options = options
    encoder.thread_count = 1  # pictures are small: threads cost more than they give
    return encoder


def _frame(image: NDArray[np.uint8], pix_fmt: str) -> VideoFrame:
    from av import VideoFrame

    return VideoFrame.from_ndarray(image, "rgb24").reformat(format=pix_fmt, threads=1)
