"""Rows of images, encoded anew: for cameras that cannot be remuxed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import numpy as np

from twinloop.core.errors import UnknownNameError
from twinloop.deliver.lerobot.avcc import OWN_ID
from twinloop.deliver.lerobot.depth import DEPTH_OPTIONS, depth_picture
from twinloop.deliver.pictures import pictures_at, shown_by_rows
from twinloop.formats.video.pixels import to_pixels

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import av
    from numpy.typing import NDArray

    from twinloop.deliver.images import ImageTable
    from twinloop.formats.video.probe import PacketIndex

#: SMPTE 170M: what swscale makes of RGB, and what readers assume of untagged video.
_BT601 = 6
_LIMITED_RANGE = 1


@dataclass(frozen=True, slots=True)
class Encoder:
    """One codec with its options, as FFmpeg names them. `codec` is the bitstream's name.

    `info` goes into the feature's ``info`` as LeRobot's own keys ``video.<key>``.
    """

    codec: str
    encoder: str
    gop: int
    crf: int
    preset: str
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def options(self) -> dict[str, str]:
        """Options of the encoder, as strings."""
        return {"g": str(self.gop), "crf": str(self.crf), "preset": self.preset, **self.extra}

    @property
    def info(self) -> dict[str, object]:
        """What LeRobot keeps of an encoder."""
        preset = int(self.preset) if self.preset.isdigit() else self.preset
        return {"video.g": self.gop, "video.crf": self.crf, "video.preset": preset, "video.fast_decode": 0}


#: Codec -> (FFmpeg's encoder, crf, preset, options). A group of two images keeps random access fast, as
#: LeRobot's own default does; av1's figures are LeRobot's own. No B-frames: display order is file order.
_CODECS: dict[str, tuple[str, int, str, dict[str, str]]] = {
    "h264": ("libx264", 23, "veryfast", {"bf": "0"}),
    "hevc": ("libx265", 26, "veryfast", {"x265-params": "bframes=0:log-level=none"}),
    "av1": ("libsvtav1", 30, "12", {"svtav1-params": "fast-decode=0"}),
}


def encoder_for(codec: str, gop: int = 2, crf: int | None = None) -> Encoder:
    """The encoder of a codec: h264, hevc or av1.

    Raises:
        UnknownNameError: another codec.
    """
    if codec not in _CODECS:
        raise UnknownNameError("codec for LeRobot videos", codec, _CODECS)
    name, default_crf, preset, extra = _CODECS[codec]
    return Encoder(codec, name, gop, default_crf if crf is None else crf, preset, extra)


def encoder_beside(copied: Encoder) -> Encoder:
    """The H.264 encoder whose images can stand in one track with copied ones: its parameter sets have an id
    of their own."""
    return replace(copied, extra={**copied.extra, "x264-params": f"sps-id={OWN_ID}"})


def encode_rows(
    table: ImageTable,
    images: NDArray[np.int64],
    path: Path,
    fps: int,
    encoder: Encoder,
    packets: Callable[[str], PacketIndex],
    *,
    depth: bool = False,
    seen: Callable[[NDArray[np.unsignedinteger]], None] | None = None,
    wanted: frozenset[int] = frozenset(),
    on_row: Callable[[], None] | None = None,
) -> NDArray[np.bool_]:
    """Encode the images at `images` (R,) of the table, one a row, into an MP4 with row k at k / fps.

    Args:
        images: places in the table, not decreasing; a place may repeat.
        depth: 16-bit images go into LeRobot's 12-bit form.
        seen: called with the pixels, (H, W, 3) uint8 or (H, W) uint16, of the rows in `wanted`.
        on_row: called after each row.

    Returns:
        (R,) bool, rows whose image did not decode: they show the one before it.

    Raises:
        UnreadableError: no image of the rows decodes.
    """
    import av

    broken = np.zeros(len(images), bool)
    with av.open(str(path), "w") as output:
        writer: _Writer | None = None
        for row, (picture, own) in enumerate(shown_by_rows(table, images, packets, pictures_at)):
            broken[row] = not own
            writer = writer or _Writer(output, picture, fps, encoder, depth)
            shown = writer.write(picture, row)
            if row in wanted and seen is not None:
                seen(_depth_of(picture) if depth else to_pixels(shown))
            if on_row is not None:
                on_row()
        if writer is not None:
            writer.finish()
    return broken


class _Writer:
    """Pictures into one encoded track, converted to the track's pixel format."""

    def __init__(
        self,
        output: av.container.OutputContainer,
        picture: av.VideoFrame,
        fps: int,
        encoder: Encoder,
        depth: bool,
    ) -> None:
        from av.video.reformatter import VideoReformatter

        self._output = output
        self._depth = depth
        self._reformatter = VideoReformatter()
        self._time_base = Fraction(1, fps)
        options = DEPTH_OPTIONS if depth else encoder.options
        name = "libx265" if depth else encoder.encoder
        self._track = cast("av.VideoStream", output.add_stream(name, fps, options=options))
        self._even = (picture.width & ~1, picture.height & ~1)
        self._track.pix_fmt = "gray12le" if depth else "yuv420p"
        self._track.width, self._track.height = (picture.width, picture.height) if depth else self._even
        if not depth:
            context = self._track.codec_context
            context.color_range = _LIMITED_RANGE
            context.colorspace = _BT601 if picture.format.is_rgb else picture.colorspace
            context.color_primaries = picture.color_primaries
            context.color_trc = picture.color_trc

    def write(self, picture: av.VideoFrame, row: int) -> av.VideoFrame:
        """Encode `picture` as that of `row`; returns it as it went in."""
        converted = depth_picture(_depth_of(picture)) if self._depth else self._colour(picture)
        converted.pts = row
        converted.time_base = self._time_base
        converted.pict_type = 0  # the decoder's I and P would steer the encoder
        self._output.mux(self._track.encode(converted))
        return converted

    def finish(self) -> None:
        self._output.mux(self._track.encode(None))

    def _colour(self, picture: av.VideoFrame) -> av.VideoFrame:
        import av
        from av.video.reformatter import ColorRange, Colorspace

        if (picture.width, picture.height) != self._even:
            width, height = self._even
            pixels = self._reformatter.reformat(picture, format="rgb24", threads=1).to_ndarray()
            even: NDArray[np.uint8] = np.ascontiguousarray(pixels[:height, :width], np.uint8)
            picture = av.VideoFrame.from_ndarray(even, format="rgb24")
        if picture.format.name == "yuv420p" and picture.color_range in (0, _LIMITED_RANGE):
            return picture
        return self._reformatter.reformat(
            picture,
            format="yuv420p",
            dst_colorspace=Colorspace.ITU601 if picture.format.is_rgb else None,
            dst_color_range=ColorRange.MPEG,
            threads=1,
        )


def _depth_of(picture: av.VideoFrame) -> NDArray[np.uint16]:
    return cast("NDArray[np.uint16]", to_pixels(picture))
