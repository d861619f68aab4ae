"""A stream starts late in an episode.

## What it does

Reports streams whose first sample comes well after the episode began.

## Why it matters

The first rows have no such observation. Exports begin there with a black image or a later one, or drop the
rows.

## How it is measured

The first sample's time less the episode's start (in a recording without episodes: the earliest sample of
all streams on the same clock). It may be `limit_s`, or two periods of the stream. Streams without a rate
and streams of a grid are not judged. Where a mapping says which streams are used, others are information.

## Example

A camera that takes two seconds to start: `SYN002 starts 2.04 s later than the episode`.

## Repair

Start the episode when all streams run (`twinloop map`: cut at an event), or cut its beginning.

## Tuning

- `limit_s`: seconds without the stream at the start (0.5).

## References

- ROS 2 discovery and camera start-up take a few hundred milliseconds; measured on recorders of our own
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.checks.rule import Broken, Need, Scope, rule
from twinloop.checks.wording import duration
from twinloop.core.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.checks.subject import EpisodeSubject


@dataclass(frozen=True, slots=True)
class Limits:
    """`limit_s` seconds."""

    limit_s: float = 0.5


@rule(
    code="SYN002",
    name="late_start",
    severity=Severity.WARNING,
    scope=Scope.EPISODE,
    needs=(Need.TIMES,),
    since="0.1",
)
def late_start(subject: EpisodeSubject, limits: Limits) -> Iterator[Broken]:
    for stream, timing in subject.continuous():
        origin = subject.origin_ns(stream)
        if origin is None:
            continue
        period = subject.observed[stream.name].timing.period_ns
        limit_ns = max(limits.limit_s * 1e9, 2 * period)
        late = timing.first_ns - origin
        if late > limit_ns:
            yield Broken(
                message=f"starts {duration(late)} later than the {'episode' if subject.span else 'recording'}",
                fix="start episodes when all streams run, or cut the beginning",
                severity=None if subject.is_used(stream) else Severity.INFO,
                stream=stream.name,
                start_ns=origin,
                end_ns=timing.first_ns,
                value=round(late / 1e9, 6),
                limit=round(limit_ns / 1e9, 6),
                unit="s",
            )
