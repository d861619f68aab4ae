"""A stream's clock runs faster or slower than the recorder's.

## What it does

Measures the rate of the clock that stamps a stream against the recorder's clock, in parts per million.

## Why it matters

Two streams stamped by two clocks slide past each other. 100 ppm are 6 ms after a minute and 360 ms after an
hour; fusion of cameras and joints then mixes moments.

## How it is measured

The delay from stamp to recorder has a floor and a tail. A robust line (Theil-Sen) through the smallest
delays of many windows gives the drift, untouched by queues. The value is in ppm, positive if the stamps run
slow. It is reported if it exceeds `ppm`, its sum over the recording exceeds `shift_ms`, and that stands six
times above the scatter of the floor. Beyond `gross_ppm` no quartz is to blame: the stamps count wrong
ticks, or a queue grows all the time; that is an error. Streams that are ordered by the recorder's time use
no stamps: for them drift is information.

## Example

`TIM008 the stamps run 104 ppm slow against the recorder: 6.2 ms over 60 s`.

## Repair

Discipline the clocks (PTP, chrony) when recording. Afterwards: give a clock model of the measured drift
with the session; twinloop applies it on read.

## Tuning

- `ppm`: rate error (20.0).
- `shift_ms`: growth of the delay over the recording (3.0).
- `gross_ppm`: rate error from which on it is an error (1000.0).

## References

- Moon, Skelly, Towsley: "Estimation and removal of clock skew from network delay measurements", INFOCOM
  1999
- clockdoctor: 20 ppm and three times the jitter
- Ordinary quartz oscillators are specified at 20 to 100 ppm
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.checks.rule import Broken, Need, NotMeasured, Scope, rule
from twinloop.checks.wording import duration
from twinloop.core.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.checks.measure.delay import DriftLine
    from twinloop.checks.subject import RecordingSubject
    from twinloop.core.stream import Stream

_SCATTERS = 6


@dataclass(frozen=True, slots=True)
class Limits:
    """`ppm` and `gross_ppm` parts per million; `shift_ms` milliseconds over the recording."""

    ppm: float = 20.0
    shift_ms: float = 3.0
    gross_ppm: float = 1000.0


@rule(
    code="TIM008",
    name="clock_drift",
    severity=Severity.WARNING,
    scope=Scope.RECORDING,
    needs=(Need.STAMP_AND_LOG,),
    since="0.1",
)
def clock_drift(subject: RecordingSubject, limits: Limits) -> Iterator[Broken | NotMeasured]:
    for name, seen in subject.observed.items():
        if seen.clock_steps:
            yield NotMeasured("its clock was set in between (rule TIM014)", name)
            continue
        line = seen.delay.line if seen.delay else None
        if line and drifts(line, limits):
            yield _drift(seen.stream, line, seen.timing.first_ns, seen.timing.last_ns, limits)


def drifts(line: DriftLine, limits: Limits) -> bool:
    """Whether a drift is there beyond doubt and large enough to matter."""
    shift = abs(line.shift_ns)
    return abs(line.ppm) > limits.ppm and shift > limits.shift_ms * 1e6 and shift > _SCATTERS * line.scatter_ns


def _drift(stream: Stream, line: DriftLine, first_ns: int, last_ns: int, limits: Limits) -> Broken:
    gross = abs(line.ppm) > limits.gross_ppm
    pace = "slow" if line.ppm > 0 else "fast"
    message = (
        f"the stamps run {abs(line.ppm):.0f} ppm {pace} against the recorder: "
        f"{duration(abs(line.shift_ns))} over the recording"
    )
    if gross:
        message += "; no quartz is that wrong" + (", unless a queue grows all the time" if line.ppm > 0 else "")
    severity = Severity.ERROR if gross else Severity.WARNING
    return Broken(
        message=message,
        fix="synchronise the clocks (PTP, chrony); for this recording, give a clock model",
        severity=severity if stream.timeline == "stamp_ns" else Severity.INFO,
        stream=stream.name,
        start_ns=first_ns,
        end_ns=last_ns,
        value=round(line.ppm, 2),
        limit=limits.ppm,
        unit="ppm",
        confidence=line.confidence,
    )
