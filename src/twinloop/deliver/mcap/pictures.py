"""The images of a stream that lies in video files, one after the other as bytes that messages carry.

Packets are taken as they are wherever viewers can decode them on their own: JPEG, PNG, H.264, H.265, VP9, AV1.
Lossless video of raw images is decoded to the very bytes of its encoding. Packets in another order than shown
(B-frames) cannot be sent one image a message, and some codecs no viewer decodes: those images are encoded again
as H.264, or sent as raw pixels where they must stay as they are.
"""

from __future__ import annotations

from collections import OrderedDict
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

import numpy as np

from twinloop.core.errors import TwinloopError, Where
from twinloop.deliver.mcap.wire import Ragged
from twinloop.formats.video.pixels import is_deep_gray
from twinloop.formats.video.probe import open_video

if TYPE_CHECKING:
    from collections.abc import Iterator

    import av
    import pyarrow as pa
    from numpy.typing import NDArray

    from twinloop.core.stream import Stream, VideoSegment

#: FFmpeg's names of codecs -> what the messages' format fields say.
_STILLS = {"mjpeg": "jpeg", "png": "png", "webp": "webp"}
_VIDEOS = {"h264": "h264", "hevc": "h265", "vp9": "vp9", "av1": "av1"}
_TO_ANNEX_B = {"h264": "h264_mp4toannexb", "hevc": "hevc_mp4toannexb"}
#: ROS's raw encodings -> the array layout in which FFmpeg gives exactly their bytes.
_LAYOUTS = {
    "rgb8": "rgb24",
    "bgr8": "bgr24",
    "8uc3": "bgr24",
    "rgba8": "rgba",
    "bgra8": "bgra",
    "8uc4": "bgra",
    "mono8": "gray",
    "8uc1": "gray",
    "mono16": "gray16le",
    "16uc1": "gray16le",
    "rgb16": "rgb48le",
    "bgr16": "bgr48le",
    "rgba16": "rgba64le",
    "yuv422_yuy2": "yuyv422",
    "yuyv": "yuyv422",
    "yuv422": "yuyv422",
    "uyvy": "yuyv422",
}
_LUMA_SECOND = ("yuv422", "uyvy")
#: Images that come out of order by less than this are still at hand.
_KEPT = 64
_CRF, _KEYFRAME_EVERY = "18", 30


class Form(StrEnum):
    """What the messages of a stream carry."""

    RAW = "raw"
    STILL = "still"
    VIDEO = "video"


class _Opened(Protocol):
    def __call__(self, segment: VideoSegment) -> Iterator[tuple[int, bytes]]: ...


class Pictures:
    """The images of one stream.

    `b_frames`: whether its packets stand in another order than shown. `exact`: no image is encoded again.

    Attributes:
        again: whether images are encoded again.
        form: raw, still or video. format: the codec's name, or the raw encoding.
        lost: rows whose image could not be had.
    """

    def __init__(self, stream: Stream, encoding: str, *, b_frames: bool = False, exact: bool = False) -> None:
        codecs = {segment.codec for segment in stream.segments}
        self._stream = stream
        self._sources: dict[int, _Sequence] = {}
        self.lost = 0
        codec = next(iter(codecs)) if len(codecs) == 1 else ""
        deep = any(is_deep_gray(segment.pix_fmt) for segment in stream.segments)
        self.again = False
        if codec in _STILLS:
            self.form, self.format, self._open = Form.STILL, _STILLS[codec], _packets
        elif codec in _VIDEOS and not b_frames and not deep:
            self.form, self.format, self._open = Form.VIDEO, _VIDEOS[codec], _packets
        elif codecs != {"ffv1"} and not deep and not exact:
            self.form, self.format, self._open = Form.VIDEO, "h264", _encoded
            self.again = True
        else:
            known = encoding if encoding.lower() in _LAYOUTS else ("16UC1" if deep else "rgb8")
            self.form, self.format, self._open = Form.RAW, known, _raw(known)

    def of(self, columns: pa.RecordBatch) -> Ragged:
        """The images of some rows; rows without one get no bytes."""
        segments = np.asarray(columns.column("segment").fill_null(-1), np.int64)
        pts = np.asarray(columns.column("pts").fill_null(0), np.int64)
        return Ragged.of_bytes([self._image(*row) for row in zip(segments.tolist(), pts.tolist(), strict=True)])

    def rows_at_once(self) -> int:
        """How many images to ask for at once, so that they take some megabytes at most."""
        largest = max((s.width * s.height * 8 for s in self._stream.segments), default=1)
        return max(1, (8 << 20) // max(largest if self.form is Form.RAW else largest // 8, 1))

    def _image(self, segment: int, pts: int) -> bytes:
        if segment < 0:
            return b""
        source = self._sources.get(segment)
        if source is None:
            self.close()  # one file at a time
            source = self._sources[segment] = _Sequence(self._stream.segments[segment], self._open)
        try:
            return source.at(pts)
        except TwinloopError:
            self.lost += 1
            return b""

    def close(self) -> None:
        """Let go of open files."""
        for source in self._sources.values():
            source.close()
        self._sources.clear()

    def size(self, columns: pa.RecordBatch) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Width and height (N,) of the images of some rows; 0 without one."""
        table = np.array([(s.width, s.height) for s in self._stream.segments] + [(0, 0)], np.int64)
        rows = table[np.asarray(columns.column("segment").fill_null(-1), np.int64)]
        return rows[:, 0], rows[:, 1]


class _Sequence:
    """A video file read from its start, image after image, with the last ones kept."""

    def __init__(self, segment: VideoSegment, open: _Opened) -> None:
        self._segment = segment
        self._open = open
        self._images = open(segment)
        self._kept: OrderedDict[int, bytes] = OrderedDict()
        self._last = -(2**62)

    def at(self, pts: int) -> bytes:
        if pts in self._kept:
            return self._kept[pts]
        if pts <= self._last:
            self._images = self._open(self._segment)
        for shown, data in self._images:
            self._last = shown
            self._kept[shown] = data
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
            if shown == pts:
                return data
        raise TwinloopError(
            f"the video holds no image of pts {pts}",
            where=Where(self._segment.file, stream=self._segment.codec),
        )

    def close(self) -> None:
        if hasattr(self._images, "close"):
            self._images.close()


def _packets(segment: VideoSegment) -> Iterator[tuple[int, bytes]]:
    """(pts, bytes) of each packet; H.264 and H.265 as Annex B with their parameter sets at each keyframe."""
    import av
    from av.bitstream import BitStreamFilterContext

    with open_video(segment.file) as container:
        track = container.streams.video[0]
        extradata = track.codec_context.extradata or b""
        unpack = None
        if segment.codec in _TO_ANNEX_B and extradata[:1] == b"\x01":
            unpack = BitStreamFilterContext(_TO_ANNEX_B[segment.codec], track)
        try:
            for packet in container.demux(track):
                if not packet.size:
                    continue
                pts = packet.pts if packet.pts is not None else packet.dts or 0
                for plain in unpack.filter(packet) if unpack else (packet,):
                    yield _in_ticks(pts, track, segment), bytes(plain)
        except av.FFmpegError:
            return


def _frames(segment: VideoSegment) -> Iterator[tuple[int, av.VideoFrame]]:
    """(pts, picture) of a file, in display order."""
    import av

    with open_video(segment.file) as container:
        track = container.streams.video[0]
        track.thread_type = "AUTO"
        packets = container.demux(track)
        while True:
            try:
                packet = next(packets, None)
                if packet is None:
                    return
                for picture in packet.decode():
                    if picture.pts is not None:
                        yield _in_ticks(picture.pts, track, segment), picture
            except av.FFmpegError:
                continue


def _raw(encoding: str) -> _Opened:
    layout = _LAYOUTS[encoding.lower()]

    def images(segment: VideoSegment) -> Iterator[tuple[int, bytes]]:
        for pts, picture in _frames(segment):
            pixels = picture.to_ndarray(format=layout)
            if encoding.lower() in _LUMA_SECOND:
                pixels = pixels.reshape(picture.height, picture.width, 2)[:, :, ::-1]
            yield pts, np.ascontiguousarray(pixels).tobytes()

    return images


def _encoded(segment: VideoSegment) -> Iterator[tuple[int, bytes]]:
    """Each picture as H.264 of its own moment: no B-frames, no delay."""
    from fractions import Fraction

    import av

    context = av.CodecContext.create("libx264", "w")
    assert isinstance(context, av.VideoCodecContext)
    context.width, context.height = segment.width & ~1, segment.height & ~1
    context.pix_fmt, context.time_base = "yuv420p", Fraction(*segment.time_base)
    context.options = {"crf": _CRF, "preset": "veryfast", "tune": "zerolatency", "g": str(_KEYFRAME_EVERY)}
    for pts, picture in _frames(segment):
        plain = picture.reformat(context.width, context.height, "yuv420p")
        plain.pts, plain.time_base, plain.pict_type = pts, context.time_base, 0
        for packet in context.encode(plain):
            yield pts, bytes(packet)


def _in_ticks(pts: int, track: av.VideoStream, segment: VideoSegment) -> int:
    """A container's ticks in the segment's."""
    from fractions import Fraction

    scale = Fraction(track.time_base or 1) / Fraction(*segment.time_base)
    return pts if scale == 1 else round(pts * scale)


def bytes_a_pixel(encoding: str) -> int:
    """Bytes of one pixel of a raw encoding that `Pictures` gives."""
    layout = _LAYOUTS[encoding.lower()]
    return {"rgb24": 3, "bgr24": 3, "rgba": 4, "bgra": 4, "gray": 1, "gray16le": 2, "yuyv422": 2}.get(
        layout, 6 if layout.endswith("48le") else 8
    )
