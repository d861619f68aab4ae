"""Samples come unevenly.

## What it does

Measures the spread of a stream's intervals against its period.

## Why it matters

Policies are trained as if rows were evenly spaced. With jitter of 10 % of a period, velocities that are
computed from differences are off by as much.

## How it is measured

The standard deviation of the intervals between samples in order of time, gaps and bursts left out (rules
TIM004 and TIM005), over the median interval. A stream is reported if it exceeds both `share` of the period
and `least_ms`: half a millisecond at 1 kHz is what an ordinary operating system does, and harms nobody. A
stream below that limit with single intervals off by more than `stray` of the period is reported as
information.

## Example

A webcam with automatic exposure: `TIM006 intervals scatter by 9 ms (27 % of the period of 33.3 ms), from
18.2 to 61.0 ms`.

## Repair

Use the sensor's own stamps instead of the recorder's. Fix the exposure time of cameras. Keep true times
until export, and let the export resample.

## Tuning

- `share`: standard deviation over the period (0.1).
- `least_ms`: and at least so many milliseconds (1.0).
- `stray`: deviation of a single interval over the period (0.25).

## References

- GB/Z 218.1-2026, 6.2.2.3, as reported by robot-data-audit: standard deviation at most 10 % of the period
- calibra: coefficient of variation 0.15 (warning), 0.30
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.checks.rule import Broken, Need, Scope, rule
from twinloop.checks.wording import duration, ms, share
from twinloop.core.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.checks.measure.timing import Timing
    from twinloop.checks.subject import EpisodeSubject
    from twinloop.core.stream import Stream

_FEWEST = 20
_FIX = "use the sensor's own stamps; keep the true times until export"


@dataclass(frozen=True, slots=True)
class Limits:
    """`share` and `stray` of the period; `least_ms` milliseconds."""

    share: float = 0.1
    least_ms: float = 1.0
    stray: float = 0.25


@rule(
    code="TIM006",
    name="jitter",
    severity=Severity.WARNING,
    scope=Scope.EPISODE,
    needs=(Need.TIMES,),
    since="0.1",
)
def jitter(subject: EpisodeSubject, limits: Limits) -> Iterator[Broken]:
    for stream, timing in subject.continuous():
        if timing.count < _FEWEST or timing.period_ns <= 0:
            continue
        limit_ns = max(limits.share * timing.period_ns, limits.least_ms * 1e6)
        if timing.jitter_ns > limit_ns:
            yield _uneven(stream, timing, limit_ns)
        else:
            yield from _stray(stream, timing, limits)


def _uneven(stream: Stream, timing: Timing, limit_ns: float) -> Broken:
    intervals = timing.intervals
    part = share(timing.jitter_ns, timing.period_ns)
    mean = f" at a mean of {duration(timing.mean_ns)}" if _differ(timing.mean_ns, timing.period_ns) else ""
    return Broken(
        message=(
            f"intervals scatter by {duration(timing.jitter_ns)} ({part} of the period), "
            f"from {duration(intervals.regular_shortest)} to {duration(intervals.regular_longest)}; "
            f"median {duration(timing.period_ns)}{mean}"
        ),
        fix=_FIX,
        stream=stream.name,
        start_ns=timing.first_ns,
        end_ns=timing.last_ns,
        value=ms(timing.jitter_ns),
        limit=ms(limit_ns),
        unit="ms",
    )


def _stray(stream: Stream, timing: Timing, limits: Limits) -> Iterator[Broken]:
    shortest, longest = timing.intervals.shortest, timing.intervals.longest
    off = max(timing.period_ns - shortest, longest - timing.period_ns)
    limit_ns = max(limits.stray * timing.period_ns, limits.least_ms * 1e6)
    if off > limit_ns:
        yield Broken(
            message=(
                f"single intervals are off: {duration(shortest)} to {duration(longest)} at a median of "
                f"{duration(timing.period_ns)}; all in all steady (scatter {duration(timing.jitter_ns)})"
            ),
            fix=_FIX,
            severity=Severity.INFO,
            stream=stream.name,
            start_ns=timing.first_ns,
            end_ns=timing.last_ns,
            value=ms(off),
            limit=ms(limit_ns),
            unit="ms",
        )


def _differ(a: float, b: float) -> bool:
    return abs(a - b) > 0.05 * b
