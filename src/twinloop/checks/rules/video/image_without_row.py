"""A video file holds images that no row names.

## What it does

Reports images in the video files of a stream that belong to no row.

## Why it matters

Images of a discarded take, left in the file, shift everything after them: 235 of 758 published episodes
were found to hold such images. Even where nothing shifts, they are pictures that someone meant to throw
away.

## How it is measured

The images of each video file (its packets, listed without decoding) are compared with the presentation
times that rows name. The value is the number of images without a row; the span is where the rows around
them lie.

## Example

`VID002 11 images of videos/cam/episode_000012.mp4 belong to no row`.

## Repair

Map rows to images by their true times, not by their number. Cut the images out when exporting; `twinloop
export` writes only images that rows name.

## Tuning

- `allowed`: images that may be left over in each file (0).

## References

- lerobot issues 4104 and 4109: discarded takes leak into the next video
- lerobot-doctor: more than 2 per file
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.checks.measure.video_match import match_segment
from twinloop.checks.rule import Broken, Need, Scope, rule
from twinloop.checks.wording import count
from twinloop.core.errors import Where
from twinloop.core.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.checks.subject import RecordingSubject


@dataclass(frozen=True, slots=True)
class Limits:
    """`allowed` images in each file."""

    allowed: int = 0


@rule(
    code="VID002",
    name="image_without_row",
    severity=Severity.WARNING,
    scope=Scope.RECORDING,
    needs=(Need.IMAGE_ROWS,),
    since="0.1",
)
def image_without_row(subject: RecordingSubject, limits: Limits) -> Iterator[Broken]:
    for seen in subject.observed.values():
        for number, used in sorted(seen.images.used.items()) if seen.images else ():
            match = match_segment(subject, seen.stream, number, used)
            if match is None or match.images_without <= limits.allowed:
                continue
            file = seen.stream.segments[number].file
            yield Broken(
                message=f"{count(match.images_without, 'image')} of {file} belong to no row",
                fix="map rows to images by their true times; cut the images out when exporting",
                stream=seen.stream.name,
                start_ns=match.near_start_ns,
                end_ns=match.near_end_ns,
                value=float(match.images_without),
                limit=float(limits.allowed),
                unit="image",
                where=Where(file=file, stream=seen.stream.name),
            )
