"""Rows have no image.

## What it does

Reports rows of an image stream for which its video file has no image: rows that name none, and rows that
name one that is not in the file.

## Why it matters

Row k is paired with image k. With images missing in the middle, every later row shows the wrong moment;
with images missing at the end, the last rows of an episode show the next one, or fail. LeRobot's streaming
encoder drops an image after 0.1 s on a full queue and still writes the row.

## How it is measured

Rows without a presentation time are counted where they lie. Where more rows name images of a file than it
holds, its packets are listed, without decoding, and the rows that match none are found. Neighbouring rows
of an episode are one finding; the value is their number. Rows of an episode whose video file is missing as
a whole are rule STR008's. It is an error if more than `share` of the stream's rows in the recording have no
image.

## Example

`VID001 8 rows have no image, 8 of 300 in all`, with the time of the first.

## Repair

Record again with an encoder that keeps up (h264 instead of AV1, a hardware encoder). For this recording,
exclude the episode, or let the export repeat the image before.

## Tuning

- `share`: share of rows from which on it is an error (0.01).
- `listed`: places that are listed for each stream (10).

## References

- lerobot pull requests 4462 and 4533: images dropped by the streaming encoder
- robot-data-audit: 1 % (warning) and 5 %
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from twinloop.checks.measure.video_match import match_segment
from twinloop.checks.rule import Broken, Need, Scope, rule
from twinloop.checks.wording import count, runs
from twinloop.core.errors import Where
from twinloop.core.finding import Severity
from twinloop.core.recording import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.checks.measure.bounded import Places
    from twinloop.checks.measure.images import ImageRows
    from twinloop.checks.measure.observer import Observed, Span
    from twinloop.checks.subject import RecordingSubject
    from twinloop.core.stream import Stream

_FIX = "record with an encoder that keeps up; exclude the episode, or repeat the image before"


@dataclass(frozen=True, slots=True)
class Limits:
    """`share` of rows; `listed` places for each stream."""

    share: float = 0.01
    listed: int = 10


@rule(
    code="VID001",
    name="row_without_image",
    severity=Severity.WARNING,
    scope=Scope.RECORDING,
    needs=(Need.IMAGE_ROWS,),
    since="0.1",
)
def row_without_image(subject: RecordingSubject, limits: Limits) -> Iterator[Broken]:
    for seen in subject.observed.values():
        if seen.images is None:
            continue
        for span, places in _by_episode(subject, seen.images.without):
            if not _is_missing_file(subject, seen, span, places):
                yield from _places(subject, seen.stream, seen.images, places, "", limits)
        for number, used in sorted(seen.images.used.items()):
            match = match_segment(subject, seen.stream, number, used)
            if match is not None and match.rows_without.total:
                file = seen.stream.segments[number].file
                yield from _places(subject, seen.stream, seen.images, match.rows_without, file, limits)


def _by_episode(subject: RecordingSubject, places: Places) -> Iterator[tuple[Span | None, Places]]:
    """Places cut at the episodes' borders; the same rows of two episodes are not one run."""
    if not subject.spans or not len(places):
        yield None, places
        return
    for span in subject.spans:
        if len(inside := places.within(span.start_ns, span.end_ns)):
            yield span, inside


def _is_missing_file(subject: RecordingSubject, seen: Observed, span: Span | None, places: Places) -> bool:
    """Whether the rows of a whole episode lack images because their file is not there (rule STR008)."""
    rows = seen.rows if span is None else seen.episodes[span.index].count
    noted = any(
        note.problem is Problem.MISSING_FILE and note.where.stream in (None, seen.stream.name)
        for note in subject.notes
    )
    return noted and places.total >= rows


def _places(
    subject: RecordingSubject, stream: Stream, images: ImageRows, places: Places, file: str, limits: Limits
) -> Iterator[Broken]:
    total = images.without.total or places.total
    many = places.total > limits.share * images.rows
    for row, start, end, rows in islice(runs(places), limits.listed):
        where = f" that is in {file}" if file else ""
        yield Broken(
            message=f"{count(rows, 'row')} without an image{where}, {total} of {images.rows} in all",
            fix=_FIX,
            severity=Severity.ERROR if many else None,
            stream=stream.name,
            start_ns=start,
            end_ns=end,
            value=float(rows),
            limit=0.0,
            unit="row",
            where=Where(file=file or subject.path, stream=stream.name, row=row),
        )
