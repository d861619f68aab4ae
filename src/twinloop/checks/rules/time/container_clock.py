"""A video file's own times are not those at which its images were taken.

## What it does

Compares the even pace that the header of a video file claims with the true times of its images.

## Why it matters

Players, and every tool that computes time as frame / fps, show the images at the wrong moments.
Triangulation between cameras and pairing with joints fail by as much.

## How it is measured

Image k is expected at the first image's time plus k over the declared rate. The value is the largest
distance of a true time from there. It is information from `share` of a period on, and a warning from half a
period on, where an image is nearer to its neighbour's place than to its own. Only streams whose times were
measured apart from the video are looked at.

## Example

Four webcams whose files say 6.000 frames a second: `TIM013 images lie up to 45 ms beside the file's 6 Hz;
true intervals are 125 to 208 ms`.

## Repair

Nothing is wrong here: twinloop takes times from the table, never from the file. Keep the table with the
videos, and export with `--clock camera:<name>`, which writes the true times beside the images.

## Tuning

- `share`: distance over the period (0.1).

## References

- caliscope recordings: headers of exactly 6.000 frames a second over webcams that scatter by 8 ms
- Matroska's time base is usually a millisecond, MP4's 1/90000 s; several tools rewrite both
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.checks.measure.observer import container_rate_hz
from twinloop.checks.rule import Broken, Need, Scope, rule
from twinloop.checks.wording import duration, hertz, ms
from twinloop.core.errors import Where
from twinloop.core.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.checks.subject import RecordingSubject


@dataclass(frozen=True, slots=True)
class Limits:
    """`share` of a period."""

    share: float = 0.1


@rule(
    code="TIM013",
    name="container_clock",
    severity=Severity.INFO,
    scope=Scope.RECORDING,
    needs=(Need.TIMES, Need.IMAGE_ROWS),
    since="0.1",
)
def container_clock(subject: RecordingSubject, limits: Limits) -> Iterator[Broken]:
    for stream, timing in subject.timed():
        rate = container_rate_hz(stream)
        if rate is None or timing.off_pace is None:
            continue
        distance, row, time = timing.off_pace
        period = 1e9 / rate
        if distance > limits.share * period:
            intervals = timing.intervals
            yield Broken(
                message=(
                    f"images lie up to {duration(distance)} beside the file's {hertz(rate)}; "
                    f"true intervals are {duration(intervals.shortest)} to {duration(intervals.longest)}"
                ),
                fix="take times from the table, never from the video file",
                severity=Severity.WARNING if distance > 0.5 * period else None,
                stream=stream.name,
                start_ns=time,
                end_ns=time,
                value=ms(distance),
                limit=ms(limits.share * period),
                unit="ms",
                where=Where(file=stream.segments[0].file, stream=stream.name, row=row),
            )
