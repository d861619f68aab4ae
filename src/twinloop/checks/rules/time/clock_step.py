"""A stream's clock was set in the middle of the recording.

## What it does

Reports moments at which the stamps of a stream jump, forward or back, while the recorder's times go on.

## Why it matters

Before and after, the stream is on two clocks. A jump forward looks like lost samples and is none; a jump
back gives samples that overlap. From there on, the stream is paired with the wrong moments of all others.

## How it is measured

At each long interval and each step back of the stamps, the floor of the delay (log minus stamp) before is
compared with the floor after. If it shifted by the jump, the other way, the clock was set; if samples were
lost, the floor stays. Jumps under two periods or 5 ms are not looked at. The value is the step, positive if
forward.

## Example

NTP corrected a camera's computer: `TIM014 the clock was set forward by 512 ms`.

## Repair

Let clocks be slewed, not stepped, while recording (chrony does so after its start). For this recording,
give a clock model with a knot at the step, or exclude the episode.

## Tuning

- `tolerance_ms`: steps that are let pass (5.0).

## References

- See TIM008 for the floor of the delay
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.checks.rule import Broken, Need, Scope, rule
from twinloop.checks.wording import duration, ms
from twinloop.core.errors import Where
from twinloop.core.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.checks.subject import RecordingSubject


@dataclass(frozen=True, slots=True)
class Limits:
    """`tolerance_ms` milliseconds."""

    tolerance_ms: float = 5.0


@rule(
    code="TIM014",
    name="clock_step",
    severity=Severity.ERROR,
    scope=Scope.RECORDING,
    needs=(Need.STAMP_AND_LOG,),
    since="0.1",
)
def clock_step(subject: RecordingSubject, limits: Limits) -> Iterator[Broken]:
    for name, seen in subject.observed.items():
        for step in seen.clock_steps:
            if abs(step.jump_ns) > limits.tolerance_ms * 1e6:
                way = "forward" if step.jump_ns > 0 else "back"
                yield Broken(
                    message=f"the clock was set {way} by {duration(abs(step.jump_ns))}",
                    fix="slew clocks while recording; give a clock model with a knot here, or exclude it",
                    stream=name,
                    start_ns=step.time_ns,
                    end_ns=step.time_ns,
                    value=ms(step.jump_ns),
                    limit=limits.tolerance_ms,
                    unit="ms",
                    confidence=0.9,
                    where=Where(file=subject.path, stream=name, row=step.row),
                )
