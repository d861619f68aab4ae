"""Samples are stamped later than they were recorded.

## What it does

Reports streams whose stamps lie ahead of the recorder's clock.

## Why it matters

Nothing reaches the recorder before it happens. The stream's clock is ahead of the recorder's, so that its
samples are paired with what other streams will measure later: the future leaks into the observation.

## How it is measured

log time minus stamp, where both are on the same epoch; a steady drift of the clocks is taken out first
(rule TIM008 reports that). The value is how far ahead the farthest stamp lies; its time is the finding's.

## Example

`TIM012 stamps lie up to 41 ms ahead of the recorder`.

## Repair

Synchronise the clocks (PTP, chrony). For this recording, give a clock model with an offset.

## Tuning

- `tolerance_ms`: how far ahead is still taken as simultaneous (1.0).
- `share`: share of the stamps that may lie farther ahead; single ones are no matter of clocks (0.05).

## References

- GB/Z 218.1-2026, 6.2.5.2, as reported by robot-data-audit: multi-sensor alignment within 1 ms
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.checks.rule import Broken, Need, NotMeasured, Scope, rule
from twinloop.checks.rules.time.clock_drift import Limits as DriftLimits
from twinloop.checks.rules.time.clock_drift import drifts
from twinloop.checks.wording import duration, ms, share
from twinloop.core.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.checks.measure.delay import Delay
    from twinloop.checks.subject import RecordingSubject


@dataclass(frozen=True, slots=True)
class Limits:
    """`tolerance_ms` milliseconds; `share` of the stamps."""

    tolerance_ms: float = 1.0
    share: float = 0.05


@rule(
    code="TIM012",
    name="stamp_ahead",
    severity=Severity.WARNING,
    scope=Scope.RECORDING,
    needs=(Need.STAMP_AND_LOG,),
    since="0.1",
)
def stamp_ahead(subject: RecordingSubject, limits: Limits) -> Iterator[Broken | NotMeasured]:
    for name, seen in subject.observed.items():
        stream, delay = seen.stream, seen.delay
        if delay is None or stream.stamp_clock.epoch is not stream.log_clock.epoch:
            continue
        if seen.clock_steps:
            yield NotMeasured("its clock was set in between (rule TIM014)", name)
            continue
        ahead, at, part = _ahead(delay, limits.tolerance_ms * 1e6)
        if part > limits.share:
            yield Broken(
                message=(
                    f"stamps lie up to {duration(ahead)} ahead of the recorder, {share(part, 1)} of them by "
                    f"over {limits.tolerance_ms:g} ms"
                ),
                fix="synchronise the clocks; for this recording, give a clock model",
                stream=name,
                start_ns=at,
                end_ns=at,
                value=ms(ahead),
                limit=limits.tolerance_ms,
                unit="ms",
            )


def _ahead(delay: Delay, tolerance_ns: float) -> tuple[float, int, float]:
    """How far the farthest stamp is ahead, its time, and the share of samples that are."""
    delays = delay.delays_ns
    if delay.line is not None and drifts(delay.line, DriftLimits()):
        delays = delays - (delay.stamps_ns - delay.line.at_ns) * delay.line.ppm * 1e-6
        farthest = int(delays.argmin())
        ahead, at = float(-delays[farthest]), int(delay.stamps_ns[farthest])
    else:
        ahead, at = float(-delay.least_ns), delay.least_at_ns
    return ahead, at, float(np.mean(delays < -tolerance_ns))
