"""Images out of a seekable video file, by their pts."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import UnreadableError
from twinloop.formats.video.pixels import to_pixels
from twinloop.formats.video.probe import open_video

if TYPE_CHECKING:
    from collections.abc import Iterator

    import av
    from numpy.typing import NDArray

    from twinloop.core.stream import VideoSegment

#: Packets that are cheaper to decode and drop than to seek over.
_WORTH_A_SEEK = 8
#: Images from which on the decoder's threads pay for the extra packets that they hold.
_WORTH_THREADS = 16


def decode_images(
    segment: VideoSegment, pts: NDArray[np.int64]
) -> Iterator[tuple[int, NDArray[np.uint8] | NDArray[np.uint16]]]:
    """The images at `pts` (N,) int64 ticks of the segment's time base.

    Yields ``(row, image)`` in ascending order of pts, `row` being the position in `pts` (rows may repeat an
    image). An image is RGB uint8 (H, W, 3), or uint16 (H, W), bit-exact, where the video is gray of more
    than 8 bits. Goes to the keyframe before a wanted image only when decoding on from the last one would
    cost more. **An image whose packet is there but does not decode is not yielded**: compare the rows
    yielded with those asked for.

    Raises:
        UnreadableError: the file does not open, or holds no image of a pts asked for; what was decoded
            before that is yielded first.
    """
    pts = np.asarray(pts, np.int64)
    if not len(pts):
        return
    order = np.argsort(pts, kind="stable")
    with open_video(segment.file) as container:
        wanted = _in_ticks_of(container, segment, pts[order])
        unique, first = np.unique(wanted, return_index=True)
        rows = np.split(order, first[1:])
        if len(unique) >= _WORTH_THREADS:
            container.streams.video[0].thread_type = "AUTO"
        for position, picture in _pictures(container, segment.file, unique):
            for row in rows[position]:
                yield int(row), picture


def _in_ticks_of(
    container: av.container.InputContainer, segment: VideoSegment, pts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """`pts` of the segment's time base, in the container's (the same in every file of our own)."""
    scale = Fraction(*segment.time_base) / Fraction(container.streams.video[0].time_base or 1)
    if scale == 1:
        return pts
    return np.array([round(int(p) * scale) for p in pts], np.int64)


def _pictures(
    container: av.container.InputContainer, file: str, wanted: NDArray[np.int64]
) -> Iterator[tuple[int, NDArray[np.uint8] | NDArray[np.uint16]]]:
    """(position in `wanted`, image) for each of `wanted` (K,) int64 ticks, strictly increasing."""
    from av.video.reformatter import VideoReformatter

    reformatter = VideoReformatter()
    position = 0
    while position < len(wanted):
        run = _Run(container, int(wanted[position]))
        for shown, picture in run.pictures():
            while position < len(wanted) and wanted[position] < shown:
                run.miss(int(wanted[position]), file)
                position += 1
            if position == len(wanted):
                return
            if wanted[position] == shown:
                yield position, to_pixels(picture, reformatter)
                position += 1
                if position == len(wanted):
                    return
            if run.should_seek(int(wanted[position])):
                break
        else:
            for left in wanted[position:]:
                run.miss(int(left), file)
            return


class _Run:
    """One seek and the pictures that follow it, in display order."""

    def __init__(self, container: av.container.InputContainer, start: int) -> None:
        self._container = container
        self._track = container.streams.video[0]
        rate = self._track.average_rate or self._track.guessed_rate or 30
        self._far = int(_WORTH_A_SEEK / (rate * (self._track.time_base or 1)))
        self._packets = self._from_keyframe_before(start)
        self._seen: set[int] = set()  # of packets whose picture has not come out
        self._read_up_to = start

    def _from_keyframe_before(self, start: int) -> Iterator[av.Packet]:
        """Packets from a keyframe that is shown at or before `start`.

        Containers seek by decode time, which may land on a keyframe shown after `start`, or between two
        (MPEG-TS): then from further back, at last from the beginning.
        """
        import av

        back, beginning = 0, (self._track.start_time or 0) - 10 * self._far
        while True:
            try:
                self._container.seek(start - back, stream=self._track)
            except av.FFmpegError:
                self._container.seek(0)
            packets = self._container.demux(self._track)
            try:
                first = next((packet for packet in packets if packet.is_keyframe), None)
            except av.FFmpegError:
                return
            reached = first is not None and (first.pts is None or first.pts <= start)
            if reached or start - back < beginning:
                break
            back = max(2 * back, self._far, 1)
        if first is not None:
            yield first
        try:
            yield from packets
        except av.FFmpegError:
            return

    def pictures(self) -> Iterator[tuple[int, av.VideoFrame]]:
        """(pts, picture); a packet that does not decode gives none."""
        import av

        for packet in self._packets:
            if packet.size:
                shown = packet.dts if packet.pts is None else packet.pts
                if shown is not None:
                    self._seen.add(shown)
                    self._read_up_to = max(self._read_up_to, shown)
            try:
                pictures = packet.decode()
            except av.FFmpegError:
                continue
            for picture in pictures:
                shown = picture.dts if picture.pts is None else picture.pts
                if shown is not None and not picture.is_corrupt:
                    self._seen.discard(shown)
                    yield shown, picture

    def should_seek(self, wanted: int) -> bool:
        """Whether a keyframe lies well beyond what is read already, at or before `wanted`."""
        if wanted - self._read_up_to <= self._far:
            return False
        entries = self._track.index_entries
        keyframe = entries.search_timestamp(wanted)
        return keyframe >= 0 and entries[keyframe].timestamp - self._read_up_to > self._far

    def miss(self, wanted: int, file: str) -> None:
        """Pass over an image that is there but does not decode; raise for one that is not there."""
        if wanted in self._seen:
            return
        raise UnreadableError(
            f"the video holds no image of pts {wanted}",
            where=f"{file}, pts {wanted} ({float(wanted * (self._track.time_base or 1)):.6f} s)",
            expected="the pts of an image in the file",
            fix="the file was changed after it was indexed; take it in again",
        )
