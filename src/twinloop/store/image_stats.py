"""Statistics of images: 256-bin histograms of sampled images' red, green and blue.

Any set of images' minimum, maximum, mean, deviation and quantiles follow from the sum of their histograms,
so an export can have them per episode without decoding again. Sampled is at most one image a second of
the stream's time (keyframes only where images depend on each other), thinned to about 150 pixels a side as
LeRobot does for its statistics (lerobot 0.6.1, `auto_downsample_height_width`). Depth is not sampled.

Columns: `time_ns` int64 on the stream's timeline; `histogram` fixed_size_list<uint32>[768], red first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

from twinloop.store.decoders import open_decoder

if TYPE_CHECKING:
    import av
    from numpy.typing import NDArray

BINS = 256
_PERIOD_NS = 1_000_000_000
_LARGE, _TARGET = 300, 150
_RGB_LAYOUTS = {"rgb24": (0, 1, 2), "rgba": (0, 1, 2), "bgr24": (2, 1, 0), "bgra": (2, 1, 0)}


class ImageSampler:
    """Chooses images by time and counts their pixels."""

    def __init__(self) -> None:
        from av.video.reformatter import VideoReformatter

        self._reformatter = VideoReformatter()
        self._last_ns: int | None = None
        self._times: list[int] = []
        self._histograms: list[NDArray[np.uint32]] = []
        self._decoder: av.VideoCodecContext | None = None

    def choose(self, times_ns: NDArray[np.int64]) -> list[int]:
        """Which of these images to add, as positions: the first, then one a second."""
        chosen = []
        if self._last_ns is None and len(times_ns):
            chosen.append(0)
            self._last_ns = int(times_ns[0])
        position = chosen[0] + 1 if chosen else 0
        while position < len(times_ns):
            assert self._last_ns is not None
            # A clock that steps back starts the count again.
            far = np.abs(times_ns[position:] - self._last_ns) >= _PERIOD_NS
            if not far.any():
                break
            position += int(np.argmax(far))
            chosen.append(position)
            self._last_ns = int(times_ns[position])
            position += 1
        return chosen

    def add_raw(self, image: NDArray[Any], layout: str, time_ns: int) -> None:
        """Count a raw image, if it has 8 bits a channel."""
        step = _thinning(image.shape[1], image.shape[0])
        thin = image[::step, ::step]
        if layout == "gray":
            self._add(np.repeat(thin[:, :, None], 3, axis=2), time_ns)
        elif layout in _RGB_LAYOUTS:
            self._add(thin[:, :, list(_RGB_LAYOUTS[layout])], time_ns)

    def add_picture(self, picture: NDArray[Any], time_ns: int) -> None:
        """Count a decoded image, RGB uint8 (H, W, 3); others are left out."""
        if picture.dtype == np.uint8 and picture.ndim == 3:
            step = _thinning(picture.shape[1], picture.shape[0])
            self._add(picture[::step, ::step], time_ns)

    def add_packet(self, codec: str, data: Any, time_ns: int, parameters: bytes = b"") -> None:
        """Decode and count one image that stands on its own. One that does not decode is left out."""
        import av

        packet = av.Packet(bytes(data))
        try:
            if codec in ("mjpeg", "png"):
                if self._decoder is None or self._decoder.name != codec:
                    self._decoder = open_decoder(codec)
                pictures = self._decoder.decode(packet)
            else:
                decoder = open_decoder(codec, parameters)
                pictures = [*decoder.decode(packet), *decoder.decode(None)]
        except av.FFmpegError:
            return
        for picture in pictures[:1]:
            if "16" in picture.format.name:
                return
            step = _thinning(picture.width, picture.height)
            small = self._reformatter.reformat(
                picture,
                width=max(picture.width // step, 1),
                height=max(picture.height // step, 1),
                format="rgb24",
                interpolation="POINT",
                threads=1,
            )
            self._add(cast("NDArray[np.uint8]", small.to_ndarray()), time_ns)

    def _add(self, pixels: NDArray[np.uint8], time_ns: int) -> None:
        flat = pixels.reshape(-1, 3)
        counts = [np.bincount(flat[:, channel], minlength=BINS) for channel in range(3)]
        self._times.append(time_ns)
        self._histograms.append(np.concatenate(counts).astype(np.uint32))

    def table(self) -> pa.Table | None:
        """The histograms; None if no image was counted."""
        if not self._times:
            return None
        values = pa.array(np.concatenate(self._histograms))
        return pa.table(
            {
                "time_ns": pa.array(self._times, pa.int64()),
                "histogram": pa.FixedSizeListArray.from_arrays(values, 3 * BINS),
            }
        )


def _thinning(width: int, height: int) -> int:
    return max(max(width, height) // _TARGET, 1) if max(width, height) >= _LARGE else 1
