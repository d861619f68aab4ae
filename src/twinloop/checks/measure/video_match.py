"""Rows of an image stream against the packets of one of its video files, listed without decoding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.checks.measure.bounded import Places
from twinloop.core.errors import TwinloopError
from twinloop.core.timeline import timeline_ns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from twinloop.checks.subject import RecordingSubject
    from twinloop.core.stream import Stream


@dataclass(frozen=True, slots=True)
class SegmentMatch:
    """What does not match in one video file.

    Attributes:
        rows_without: rows that name an image that the file does not hold.
        images_without: images that no row names; near_start_ns, near_end_ns: times of the rows that
            name the images around them.
    """

    rows_without: Places
    images_without: int
    near_start_ns: int | None
    near_end_ns: int | None


def match_segment(subject: RecordingSubject, stream: Stream, number: int, used: int) -> SegmentMatch | None:
    """What does not match in segment `number`, which `used` rows name; None if nothing, or no file is there."""
    if not 0 <= number < len(stream.segments):
        return None
    segment = stream.segments[number]
    if segment.images is not None and segment.images == used:
        return None
    from twinloop.formats.video.probe import packet_index

    try:
        held = np.sort(np.asarray(packet_index(segment.file).images, np.int64))
    except TwinloopError:
        return None  # a file that is missing or broken is the reader's to note
    times, pts, rows = _rows(subject, stream, number)
    missing = ~np.isin(pts, held)
    left_over = held[~np.isin(held, pts)]
    if not missing.any() and not len(left_over):
        return None
    near = _near(left_over, pts[~missing], times[~missing])
    places = Places(rows[missing], times[missing], times[missing], int(missing.sum()))
    return SegmentMatch(places, len(left_over), *near)


def _rows(
    subject: RecordingSubject, stream: Stream, number: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Times, presentation times and row numbers of the rows that name a segment."""
    table = subject.table(stream.name)
    named = np.asarray(table.column("segment").fill_null(-1)) == number
    named &= np.asarray(table.column("pts").is_valid())
    times = timeline_ns(stream, table)
    return times[named], np.asarray(table.column("pts").fill_null(0), np.int64)[named], np.flatnonzero(named)


def _near(
    left_over: NDArray[np.int64], pts: NDArray[np.int64], times: NDArray[np.int64]
) -> tuple[int | None, int | None]:
    if not len(left_over) or not len(pts):
        return None, None
    order = np.argsort(pts)
    pts, times = pts[order], times[order]
    first = max(int(np.searchsorted(pts, left_over[0])) - 1, 0)
    last = min(int(np.searchsorted(pts, left_over[-1])), len(pts) - 1)
    return int(times[first]), int(times[last])
