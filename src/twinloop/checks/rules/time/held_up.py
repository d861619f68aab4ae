"""Samples were held up and came in a burst: none is missing, but their times are wrong.

## What it does

Reports places where a stream is silent and then delivers what it owes at once.

## Why it matters

The samples are all there, so that counts look right. But they carry the time at which a queue was emptied,
not the time at which they were measured: a second of motion is squeezed into a millisecond.

## How it is measured

An interval counts as held up if it is longer than `periods` periods and `least_ms`, and if more than half
of the samples that it owes come within the next intervals, shorter than the period. The value is the
interval. It takes a stream whose times come from the recorder, or from a driver that stamps on arrival; a
sensor's own stamps do not bunch.

## Example

A disk was busy for 400 ms while a topic without stamps was recorded: `TIM005 40 samples were held up for
400 ms and came at once`.

## Repair

Record stamps of the measurement. If there are none, exclude the span, or spread the samples evenly over it,
knowing that this is a guess.

## Tuning

- `periods`: from how many periods on (3.0).
- `least_ms`: and from how many milliseconds on (50.0).
- `listed`: places that are listed for each stream and episode, the longest (10).

## References

- Own measurements: recorders that flush their queue after a write stall
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.checks.rule import Broken, Need, Scope, rule
from twinloop.checks.wording import count, duration, ms
from twinloop.core.errors import Where
from twinloop.core.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.checks.subject import EpisodeSubject


@dataclass(frozen=True, slots=True)
class Limits:
    """`periods` periods; `least_ms` milliseconds; `listed` places for each stream and episode."""

    periods: float = 3.0
    least_ms: float = 50.0
    listed: int = 10


@rule(
    code="TIM005",
    name="held_up",
    severity=Severity.WARNING,
    scope=Scope.EPISODE,
    needs=(Need.TIMES,),
    since="0.1",
)
def held_up(subject: EpisodeSubject, limits: Limits) -> Iterator[Broken]:
    for stream, timing in subject.continuous():
        if timing.period_ns <= 0:
            continue
        long = timing.long
        limit_ns = max(timing.gap_limit_ns(limits.periods), limits.least_ms * 1e6)
        owed = long.length_ns / timing.period_ns - 1
        made_up = owed - long.excess - long.unplaced
        held = np.flatnonzero((long.length_ns > limit_ns) & (made_up > 0.5 * owed))
        longest = np.sort(held[np.argsort(-long.length_ns[held], kind="stable")[: limits.listed]])
        for i in longest:
            message = (
                f"{count(round(made_up[i]), 'sample')} held up for {duration(long.length_ns[i])}, "
                "then delivered in a burst"
            )
            if len(held) > len(longest):
                message += f"; {len(held)} such places in all"
            yield Broken(
                message=message,
                fix="record stamps of the measurement; do not trust the times here",
                stream=stream.name,
                start_ns=int(long.start_ns[i]),
                end_ns=int(long.end_ns[i]),
                value=ms(long.length_ns[i]),
                limit=ms(limit_ns),
                unit="ms",
                confidence=0.9,
                where=Where(file=subject.path, stream=stream.name, row=int(long.row[i])),
            )
