"""Samples reach the recorder late.

## What it does

Measures the time from a sample's stamp to the recorder: median, 99th percentile, maximum, and whether it
grows.

## Why it matters

What reaches the recorder late reaches a policy late. A policy that is trained with the stamps sees the
world as it was; on the robot it sees it later. A latency that grows is a queue that overflows in the end.

## How it is measured

log time minus stamp, where both are on the same epoch. A latency is reported as information when its
maximum exceeds half a period and 10 ms; it is a warning when its 99th percentile exceeds `limit_ms`, or
when the median of the last quarter exceeds that of the first by `growth_ms` after a steady drift of the
clocks is taken out (rule TIM008). The value is the 99th percentile, or the growth.

## Example

`TIM009 reaches the recorder 8 ms after its stamp (median), 99 % within 28 ms, at most 32 ms; arrivals are
uneven: every 23 ms in the median, 20 ms in the mean`.

## Repair

Record on the machine that measures. Compress images before they cross the network. Give large topics a
queue of one.

## Tuning

- `limit_ms`: 99th percentile of the latency (200.0).
- `growth_ms`: growth from the first to the last quarter (50.0).

## References

- MacKenzie, Ware: "Lag as a determinant of human performance in interactive systems", INTERCHI 1993: 225 ms
  of lag cost operators 64 % more time
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.checks.rule import Broken, Need, NotMeasured, Scope, rule
from twinloop.checks.rules.time.clock_drift import Limits as DriftLimits
from twinloop.checks.rules.time.clock_drift import drifts
from twinloop.checks.wording import duration, ms
from twinloop.core.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.checks.measure.delay import Delay
    from twinloop.checks.measure.observer import Observed
    from twinloop.checks.subject import RecordingSubject

_NOTABLE_NS = 10e6
_FEWEST = 20
_FIX = "record where it is measured; compress images before the network; shorten queues"


@dataclass(frozen=True, slots=True)
class Limits:
    """`limit_ms`, `growth_ms` milliseconds."""

    limit_ms: float = 200.0
    growth_ms: float = 50.0


@rule(
    code="TIM009",
    name="log_latency",
    severity=Severity.WARNING,
    scope=Scope.RECORDING,
    needs=(Need.STAMP_AND_LOG,),
    since="0.1",
)
def log_latency(subject: RecordingSubject, limits: Limits) -> Iterator[Broken | NotMeasured]:
    for name, seen in subject.observed.items():
        if seen.delay is None or seen.delay.count < _FEWEST:
            continue
        if seen.clock_steps:
            yield NotMeasured("its clock was set in between (rule TIM014)", name)
            continue
        if seen.stream.stamp_clock.epoch is not seen.stream.log_clock.epoch:
            yield NotMeasured("its stamps and the recorder's times count from different epochs", name)
            continue
        yield from _latency(seen, seen.delay, limits)


def _latency(seen: Observed, delay: Delay, limits: Limits) -> Iterator[Broken]:
    median, late = np.quantile(delay.delays_ns, [0.5, 0.99])
    growth = _growth_ns(delay)
    grows, slow = growth > limits.growth_ms * 1e6, late > limits.limit_ms * 1e6
    notable = delay.most_ns > max(0.5 * seen.timing.period_ns, _NOTABLE_NS)
    if not (grows or slow or notable):
        return
    message = (
        f"reaches the recorder {duration(median)} after its stamp (median), 99 % within {duration(late)}, "
        f"at most {duration(delay.most_ns)}"
    )
    if grows:
        message += f"; the latency grows by {duration(growth)} from the first quarter to the last"
    message += _uneven(delay)
    yield Broken(
        message=message,
        fix=_FIX,
        severity=Severity.WARNING if grows or slow else Severity.INFO,
        stream=seen.stream.name,
        start_ns=seen.timing.first_ns,
        end_ns=seen.timing.last_ns,
        value=ms(growth if grows and not slow else late),
        limit=limits.growth_ms if grows and not slow else limits.limit_ms,
        unit="ms",
    )


def _growth_ns(delay: Delay) -> float:
    delays = delay.delays_ns
    if delay.line is not None and drifts(delay.line, DriftLimits()):
        delays = delays - (delay.stamps_ns - delay.line.at_ns) * delay.line.ppm * 1e-6
    quarter = len(delays) // 4
    return float(np.median(delays[-quarter:]) - np.median(delays[:quarter]))


def _uneven(delay: Delay) -> str:
    if len(delay.arrival_ns) < _FEWEST:
        return ""
    median, mean = float(np.median(delay.arrival_ns)), float(delay.arrival_ns.mean())
    if abs(median - mean) <= 0.1 * mean:
        return ""
    return f"; arrivals are uneven: every {duration(median)} in the median, {duration(mean)} in the mean"
