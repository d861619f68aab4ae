"""What a video file's container says: its header, and its packets without decoding one."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import UnreadableError
from twinloop.core.stream import VideoSegment

if TYPE_CHECKING:
    from collections.abc import Iterator

    import av
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class VideoHeader:
    """The first video track as the container declares it. Nothing here was counted or measured.

    Attributes:
        codec: FFmpeg's name of the codec: h264, hevc, av1, vp9, mjpeg, ffv1, png...
        pix_fmt: of the pictures. time_base: seconds a tick. start: pts of the first image in ticks, 0 if
            not declared. images: declared count, None where the container has none (Matroska).
        rate_hz: declared average rate. duration_s: declared length.
        has_b_frames: whether images are stored in another order than they are shown.
        extradata: codec set-up bytes (SPS and PPS, av1C...).
    """

    file: str
    codec: str
    width: int
    height: int
    pix_fmt: str
    time_base: Fraction
    start: int
    images: int | None
    rate_hz: float | None
    duration_s: float | None
    has_b_frames: bool
    extradata: bytes

    def segment(self, images: int | None = None) -> VideoSegment:
        """The file as one segment of a stream; `images` replaces the declared count."""
        return VideoSegment(
            file=self.file,
            time_base=(self.time_base.numerator, self.time_base.denominator),
            codec=self.codec,
            width=self.width,
            height=self.height,
            pix_fmt=self.pix_fmt,
            images=self.images if images is None else images,
        )


@dataclass(frozen=True, slots=True)
class PacketIndex:
    """The packets of a file's first video track, in decode order.

    Attributes:
        pts, dts: (P,) int64 ticks of `time_base`. A missing pts is its dts (AVI has no pts); a missing
            dts is `NO_TIME`.
        size: (P,) int64 bytes. keyframe: (P,) bool.
        shown: (P,) bool, False where the container says to decode but not to show (edit lists).
        position: (P,) int64 byte offset in the file, -1 where unknown.
        error: why the packets end before the file says so; empty when they do not.
    """

    header: VideoHeader
    pts: NDArray[np.int64]
    dts: NDArray[np.int64]
    size: NDArray[np.int64]
    keyframe: NDArray[np.bool_]
    shown: NDArray[np.bool_]
    position: NDArray[np.int64]
    error: str = ""

    def __len__(self) -> int:
        return len(self.pts)

    @property
    def images(self) -> NDArray[np.int64]:
        """The pts of all images that are shown, in display order, (N,) int64 ticks."""
        return np.sort(self.pts[self.shown])

    @property
    def time_base(self) -> Fraction:
        """Seconds a tick."""
        return self.header.time_base

    @property
    def codec(self) -> str:
        """FFmpeg's name of the codec."""
        return self.header.codec

    @property
    def extradata(self) -> bytes:
        """Codec set-up bytes."""
        return self.header.extradata

    @property
    def pix_fmt(self) -> str:
        """Pixel format of the pictures."""
        return self.header.pix_fmt

    @property
    def width(self) -> int:
        """Pixels a row."""
        return self.header.width

    @property
    def height(self) -> int:
        """Rows."""
        return self.header.height

    @property
    def has_b_frames(self) -> bool:
        """Whether decode order and display order differ (as measured, not as declared)."""
        return bool((np.diff(self.pts) < 0).any())


NO_TIME = int(np.iinfo(np.int64).min)


def video_header(file: Path | str) -> VideoHeader:
    """The header of a video file. Costs a millisecond or a few; decodes at most one image.

    Raises:
        UnreadableError: the file is missing, no container that FFmpeg knows, or without a video track.
    """
    with open_video(file) as container:
        return _header(container, str(file))


def packet_index(file: Path | str) -> PacketIndex:
    """All packets of a video file, in one pass over its bytes, without decoding.

    A file that breaks off gives the packets before the break, and `error`.

    Raises:
        UnreadableError: as :func:`video_header`.
    """
    with open_video(file) as container:
        header = _header(container, str(file))
        rows, error = _packets(container)
    kinds = (np.int64, np.int64, np.int64, bool, bool, np.int64)
    columns = list(zip(*rows, strict=True)) or [()] * len(kinds)
    pts, dts, size, keyframe, shown, position = map(np.array, columns, kinds)
    return PacketIndex(header, pts, dts, size, keyframe, shown, position, error)


@contextmanager
def open_video(file: Path | str) -> Iterator[av.container.InputContainer]:
    """The container of a video file, open for reading.

    Raises:
        UnreadableError: as :func:`video_header`.
    """
    import av

    try:
        container = av.open(str(file), metadata_errors="replace")
    except (av.FFmpegError, OSError, ValueError) as failure:
        if not Path(file).exists():
            raise UnreadableError("there is no such video file", where=str(file)) from None
        reason = getattr(failure, "strerror", None) or str(failure)
        raise UnreadableError(
            f"the video file does not open: {reason}",
            where=str(file),
            expected="a container that FFmpeg reads (MP4, Matroska, WebM, AVI...)",
            fix="an MP4 without its index (moov) was cut off while recording; recover it with a repair tool",
        ) from failure
    with container:
        if not container.streams.video:
            raise UnreadableError("the file holds no video track", where=str(file))
        yield container


def _header(container: av.container.InputContainer, file: str) -> VideoHeader:
    track = container.streams.video[0]
    context = track.codec_context
    if context is None:  # and then the track does not know its own size either
        raise UnreadableError(
            "the codec of the file's video track is not known",
            where=file,
            expected="a codec that FFmpeg decodes",
        )
    rate = track.average_rate or track.guessed_rate
    seconds = track.duration * track.time_base if track.duration and track.time_base else None
    if seconds is None and container.duration:
        seconds = Fraction(container.duration, 1_000_000)
    return VideoHeader(
        file=file,
        codec=context.codec.canonical_name,
        width=track.width,
        height=track.height,
        pix_fmt=track.pix_fmt or "",
        time_base=Fraction(track.time_base or 1),
        start=track.start_time or 0,
        images=track.frames or None,
        rate_hz=float(rate) if rate else None,
        duration_s=float(seconds) if seconds is not None else None,
        has_b_frames=bool(context.has_b_frames),
        extradata=bytes(context.extradata or b""),
    )


def _packets(
    container: av.container.InputContainer,
) -> tuple[list[tuple[int, int, int, bool, bool, int]], str]:
    """(pts, dts, size, keyframe, shown, position) of each packet, and why they end too early."""
    import av

    rows: list[tuple[int, int, int, bool, bool, int]] = []
    try:
        for packet in container.demux(container.streams.video[0]):
            if not packet.size:
                continue
            dts = NO_TIME if packet.dts is None else packet.dts
            pts = dts if packet.pts is None else packet.pts
            position = -1 if packet.pos is None else packet.pos
            rows.append((pts, dts, packet.size, packet.is_keyframe, not packet.is_discard, position))
    except av.FFmpegError as failure:
        return rows, f"{failure.strerror} after {len(rows)} packets"
    return rows, ""
