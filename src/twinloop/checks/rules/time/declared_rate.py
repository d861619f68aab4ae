"""The rate that a stream declares is not the rate at which it samples.

## What it does

Compares the declared rate with the measured one.

## Why it matters

Whoever multiplies a row number by 1 / rate gets times that run away from the truth: at 3 %, one second is
wrong after half a minute. A robot at 250 Hz whose actions were logged at 30 Hz plays back eight times too
fast.

## How it is measured

The measured rate is one over the median interval. The stream is reported if that and one over the mean of
the regular intervals both differ from the declared rate by more than `percent`. Times that are a grid are
not measured and prove nothing: such streams are not judged.

## Example

Metadata declares the action at 250 Hz: `TIM007 250 Hz declared, 29.9 Hz measured`.

## Repair

Correct the declaration, if the robot was meant to run at the measured rate. Else find out what slowed it
down.

## Tuning

- `percent`: difference in percent of the declared rate (2.0).
- `gross_percent`: difference from which on it is an error (10.0).

## References

- lerobot-lint: 10 %; lerobot-doctor: 1 frame per second for videos
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.checks.rule import Broken, Need, Scope, rule
from twinloop.checks.wording import hertz
from twinloop.core.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.checks.subject import RecordingSubject

_FEWEST = 10


@dataclass(frozen=True, slots=True)
class Limits:
    """`percent` and `gross_percent` of the declared rate."""

    percent: float = 2.0
    gross_percent: float = 10.0


@rule(
    code="TIM007",
    name="declared_rate",
    severity=Severity.WARNING,
    scope=Scope.RECORDING,
    needs=(Need.DECLARED_RATE,),
    since="0.1",
)
def declared_rate(subject: RecordingSubject, limits: Limits) -> Iterator[Broken]:
    for stream, timing in subject.timed():
        declared = stream.rate_hz
        if not declared or timing.count < _FEWEST or timing.period_ns <= 0:
            continue
        by_median, by_mean = 1e9 / timing.period_ns, 1e9 / timing.intervals.regular_mean
        off = 100 * min(abs(by_median - declared), abs(by_mean - declared)) / declared
        if off > limits.percent:
            yield Broken(
                message=f"{hertz(declared)} declared, {hertz(by_median)} measured",
                fix="correct the declaration, or find out what slowed the stream",
                severity=Severity.ERROR if off > limits.gross_percent else None,
                stream=stream.name,
                start_ns=timing.first_ns,
                end_ns=timing.last_ns,
                value=round(by_median, 4),
                limit=float(declared),
                unit="Hz",
            )
