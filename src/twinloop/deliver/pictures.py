"""Decoded pictures of images by their pts, in the decoder's own pixel format."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from twinloop.formats.video.probe import open_video

if TYPE_CHECKING:
    from collections.abc import Iterator

    import av
    from numpy.typing import NDArray

    from twinloop.core.stream import VideoSegment
    from twinloop.formats.video.probe import PacketIndex


def ticks_in(index: PacketIndex, segment: VideoSegment, pts: NDArray[np.int64]) -> NDArray[np.int64]:
    """`pts` (N,) in ticks of the segment's time base, in ticks of the file as it is now."""
    scale = Fraction(*segment.time_base) / index.time_base
    if scale == 1:
        return pts
    return np.array([round(int(tick) * scale) for tick in pts], np.int64)


def pictures_at(index: PacketIndex, pts: NDArray[np.int64]) -> Iterator[tuple[int, av.VideoFrame]]:
    """(pts, picture) of the images at `pts` (N,) int64 ticks of the file, strictly increasing.

    One pass from the keyframe before the first. Images that do not decode are passed over.
    """
    import av

    if not len(pts):
        return
    keyframes = index.pts[index.keyframe]
    before = keyframes[keyframes <= pts[0]]
    wanted = set(pts.tolist())
    last = int(pts[-1])
    with open_video(index.header.file) as container:
        track = container.streams.video[0]
        track.thread_type = "AUTO"
        container.seek(int(before[-1]) if len(before) else 0, stream=track)
        try:
            for packet in container.demux(track):
                try:
                    pictures = packet.decode()
                except av.FFmpegError:
                    continue
                for picture in pictures:
                    shown = picture.dts if picture.pts is None else picture.pts
                    if shown is None:
                        continue
                    if shown in wanted and not picture.is_corrupt:
                        yield shown, picture
                    if shown >= last:
                        return
        except av.FFmpegError:
            return


def keyframes_at(index: PacketIndex, positions: NDArray[np.int64]) -> Iterator[av.VideoFrame]:
    """The pictures of the keyframe packets at `positions` (N,), increasing: nothing between is decoded."""
    import av

    if not len(positions):
        return
    wanted = {int(index.pts[position]) for position in positions}
    first, last = min(wanted), max(wanted)
    with open_video(index.header.file) as container:
        track = container.streams.video[0]
        container.seek(first, stream=track)
        track.codec_context.thread_count = 1
        for packet in container.demux(track):
            if packet.pts is not None and packet.pts > last:
                break
            if packet.size and packet.pts in wanted:
                try:
                    yield from packet.decode()
                except av.FFmpegError:
                    continue
        yield from track.codec_context.decode(None)
