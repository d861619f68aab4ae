"""Images by their pts: decoded, in the decoder's own pixel format, or the bytes that hold them."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from twinloop.core.errors import UnreadableError, Where
from twinloop.formats.video.probe import open_video

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import av
    from numpy.typing import NDArray

    from twinloop.core.stream import VideoSegment
    from twinloop.deliver.images import ImageTable
    from twinloop.formats.video.probe import PacketIndex

T = TypeVar("T")


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


def bytes_at(index: PacketIndex, pts: NDArray[np.int64]) -> Iterator[tuple[int, bytes]]:
    """(pts, bytes) of the packets at `pts` (N,) int64 ticks of the file, strictly increasing."""
    import av

    if not len(pts):
        return
    wanted = set(pts.tolist())
    last = int(pts[-1])
    with open_video(index.header.file) as container:
        track = container.streams.video[0]
        container.seek(int(pts[0]), stream=track)
        try:
            for packet in container.demux(track):
                if packet.pts is None or not packet.size:
                    continue
                if packet.pts in wanted:
                    yield packet.pts, bytes(packet)
                if packet.pts >= last:
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


def shown_by_rows(
    table: ImageTable,
    images: NDArray[np.int64],
    packets: Callable[[str], PacketIndex],
    read: Callable[[PacketIndex, NDArray[np.int64]], Iterator[tuple[int, T]]],
) -> Iterator[tuple[T, bool]]:
    """What each row shows, and whether that is its own image.

    Args:
        images: (R,) places in the table, not decreasing; a place may repeat.
        read: `pictures_at` or `bytes_at`.

    A row whose image cannot be read shows the one before it; the first rows, the first that can.

    Raises:
        UnreadableError: none can.
    """
    waiting = 0
    last: T | None = None
    for found in _read_rows(table, images, packets, read):
        if found is None:
            if last is None:
                waiting += 1
            else:
                yield last, False
            continue
        for _ in range(waiting):
            yield found, False
        waiting = 0
        last = found
        yield found, True
    if last is None:
        raise UnreadableError(
            "none of the images of an episode decodes",
            where=Where(file=table.segment_of(int(images[0])).file, stream=table.stream.name),
            fix="exclude the episode: twinloop episode set ID --exclude REASON",
        )


def _read_rows(
    table: ImageTable,
    images: NDArray[np.int64],
    packets: Callable[[str], PacketIndex],
    read: Callable[[PacketIndex, NDArray[np.int64]], Iterator[tuple[int, T]]],
) -> Iterator[T | None]:
    """What is read for each row, in order; None where the image cannot be read."""
    places, repeats = np.unique(images, return_counts=True)
    turns = np.nonzero(np.diff(table.segment[places]))[0] + 1
    for part in np.split(np.arange(len(places)), turns):
        segment = table.segment_of(int(places[part[0]]))
        index = packets(segment.file)
        ticks = ticks_in(index, segment, table.pts[places[part]])
        # Images may lie in the file in another order than their true times: then each is sought.
        forward = bool((np.diff(ticks) > 0).all())
        for run in [part] if forward else np.split(part, len(part)):
            wanted = ticks[run - part[0]]
            yield from _read_run(read(index, wanted), wanted, repeats[run])


def _read_run(
    found: Iterator[tuple[int, T]], ticks: NDArray[np.int64], repeats: NDArray[np.int64]
) -> Iterator[T | None]:
    """What is found at `ticks`, each for as many rows as `repeats` says."""
    done = 0
    for shown, image in found:
        place = int(np.searchsorted(ticks, shown))
        yield from (None for missed in repeats[done:place].tolist() for _ in range(missed))
        yield from (image for _ in range(int(repeats[place])))
        done = place + 1
    yield from (None for missed in repeats[done:].tolist() for _ in range(missed))
