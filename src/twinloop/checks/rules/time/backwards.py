"""Time goes back from one sample to the next.

## What it does

Reports samples whose time is earlier than that of the sample before them in the file, on the time that
orders the stream.

## Why it matters

Interpolation, differentiation and "the latest sample before" all assume order. A clock that was set back
makes a robot move in two ways at once; samples out of order make it tremble.

## How it is measured

Neighbours in the file's order are compared, across batches and files. Each place gives the row, the two
times, and by how much time went back (the value). Jumps of a clock that was set are rule TIM014's. Streams
of transforms are left out: several publishers share them, each with a clock of its own.

## Example

NTP set a robot's clock back in the middle of a take: `TIM001 time goes back by 1.2 s`, with the row.

## Repair

Two samples in the wrong order: sort by time. A clock that was set back: the take is in two clocks; exclude
the episode, or give a clock model for each part.

## Tuning

- `tolerance_ms`: how far back is still taken as order (0).
- `listed`: places that are listed for each stream; more are counted in the last one (10).

## References

- Checked by lerobot-doctor, lerobot-lint, robovet, physlint and others, all with a tolerance of 0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.checks.rule import Broken, Scope, rule
from twinloop.checks.wording import count, duration, ms
from twinloop.core.errors import Where
from twinloop.core.finding import Severity
from twinloop.core.kinds import GROUPED_KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.checks.subject import RecordingSubject


@dataclass(frozen=True, slots=True)
class Limits:
    """`tolerance_ms` milliseconds; `listed` places for each stream."""

    tolerance_ms: float = 0.0
    listed: int = 10


@rule(code="TIM001", name="backwards", severity=Severity.ERROR, scope=Scope.RECORDING, since="0.1")
def backwards(subject: RecordingSubject, limits: Limits) -> Iterator[Broken]:
    for stream in subject.streams.values():
        timing = subject.timing(stream)
        if timing is None or stream.kind in GROUPED_KINDS:
            continue
        places = timing.backwards
        by_ns = places.end_ns - places.start_ns
        steps = [step.row for step in subject.observed[stream.name].clock_steps]
        chosen = ((by_ns > limits.tolerance_ms * 1e6) & ~np.isin(places.row, steps)).nonzero()[0]
        more = len(chosen) - limits.listed + places.total - len(places)
        for i in chosen[: limits.listed]:
            last = i == chosen[: limits.listed][-1] and more > 0
            yield Broken(
                message=f"time goes back by {duration(by_ns[i])}"
                + (f"; {count(more, 'place')} more like this" if last else ""),
                fix="sort the samples, or find out who set the clock",
                stream=stream.name,
                start_ns=int(places.start_ns[i]),
                end_ns=int(places.end_ns[i]),
                value=ms(by_ns[i]),
                limit=limits.tolerance_ms,
                unit="ms",
                where=Where(file=subject.path, stream=stream.name, row=int(places.row[i])),
            )
