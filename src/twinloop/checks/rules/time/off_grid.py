"""Times on a grid lie beside it by more than a loader allows.

## What it does

For streams whose times are index / rate, measures how far they lie from that grid.

## Why it matters

LeRobot looks up an image by its time and gives up if the nearest is farther than 0.1 ms. The dataset opens,
and training stops at the first such row.

## How it is measured

Times are counted from the episode's first sample and compared with the nearest multiple of one over the
declared rate. The value is the largest distance: the smallest tolerance with which a loader would accept
the episode.

## Example

Times that were kept as float32 of a clock that has run for an hour: `TIM011 row 112 lies 0.21 ms beside the
grid of 30 Hz`.

## Repair

Write the times anew as index / rate in double precision, counted from the episode's start.

## Tuning

- `tolerance_s`: distance from the grid in seconds (1e-4, LeRobot's own).

## References

- LeRobot 0.6.1: `tolerance_s = 1e-4`, FrameTimestampError; issues 933, 2364, 3177
- robovet TIME-202: 1e-4 s, failure beyond half a period
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.checks.rule import Broken, Need, Scope, rule
from twinloop.checks.wording import duration, hertz
from twinloop.core.errors import Where
from twinloop.core.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.checks.subject import EpisodeSubject


@dataclass(frozen=True, slots=True)
class Limits:
    """`tolerance_s` seconds."""

    tolerance_s: float = 1e-4


@rule(
    code="TIM011",
    name="off_grid",
    severity=Severity.ERROR,
    scope=Scope.EPISODE,
    needs=(Need.GRID,),
    since="0.1",
)
def off_grid(subject: EpisodeSubject, limits: Limits) -> Iterator[Broken]:
    for stream, timing in subject.on_grid():
        if timing.off_grid is None or not stream.rate_hz:
            continue
        distance, row, time = timing.off_grid
        if distance > limits.tolerance_s * 1e9:
            yield Broken(
                message=f"row {row} lies {duration(distance)} beside the grid of {hertz(stream.rate_hz)}",
                fix="write the times anew as index / rate in double precision",
                stream=stream.name,
                start_ns=time,
                end_ns=time,
                value=distance / 1e9,
                limit=limits.tolerance_s,
                unit="s",
                where=Where(file=subject.path, stream=stream.name, row=row),
            )
