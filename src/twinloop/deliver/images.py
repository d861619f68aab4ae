"""The images of a stream that is held in video files: when each was taken, and where it lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import UsageError, Where
from twinloop.core.timeline import timeline_ns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from twinloop.core.clock import ClockModel
    from twinloop.core.recording import Recording
    from twinloop.core.stream import Stream, VideoSegment


@dataclass(frozen=True, slots=True)
class ImageTable:
    """All images of one stream, by their true times.

    Attributes:
        times_ns: (N,) int64, not decreasing, on the session's timeline.
        segment: (N,) int64, number of the stream's video segment. pts: (N,) int64 ticks of its time base.
    """

    stream: Stream
    times_ns: NDArray[np.int64]
    segment: NDArray[np.int64]
    pts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.times_ns)

    def within(self, start_ns: int, end_ns: int) -> slice:
        """The places of the images in [start_ns, end_ns)."""
        first, stop = np.searchsorted(self.times_ns, [start_ns, end_ns], "left")
        return slice(int(first), int(stop))

    def segment_of(self, place: int) -> VideoSegment:
        """The video segment that holds the image at `place`."""
        return self.stream.segments[int(self.segment[place])]


def read_images(recording: Recording, stream: str, models: tuple[ClockModel, ...] = ()) -> ImageTable:
    """The image table of a stream; rows without an image are left out.

    Raises:
        UsageError: the stream's images do not lie in seekable video files.
    """
    source = recording.streams[stream]
    if not source.segments:
        raise UsageError(
            "the images of this stream do not lie in video files that can be sought in",
            where=Where(file=str(recording.path), stream=stream),
            fix="take the recording into a store (`twinloop ingest`) and export from there",
        )
    times, segments, pts = [], [], []
    for batch in recording.scan([stream], payload=False):
        has_image = np.asarray(batch.columns.column("pts").is_valid())
        times.append(timeline_ns(source, batch.columns, models)[has_image])
        segments.append(np.asarray(batch.columns.column("segment").drop_null(), np.int64))
        pts.append(np.asarray(batch.columns.column("pts").drop_null(), np.int64))
    if not times:
        empty = np.zeros(0, np.int64)
        return ImageTable(source, empty, empty, empty)
    all_times = np.concatenate(times)
    order = np.argsort(all_times, kind="stable")
    return ImageTable(source, all_times[order], np.concatenate(segments)[order], np.concatenate(pts)[order])
