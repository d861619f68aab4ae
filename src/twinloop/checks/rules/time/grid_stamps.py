"""Times were made up as index / rate: drops, jitter and skew cannot be seen in this recording.

## What it does

Names the streams whose times are a grid, declared or by their looks. Says nothing about their quality:
nothing can be said.

## Why it matters

Most datasets compute `timestamp = frame_index / fps`. Lost images, uneven sampling and clocks that run
apart are still in the data, but no longer visible. A report without time findings for such a stream is no
proof that they are absent.

## How it is measured

Declared: the reader says that the format computes its stamps. By its looks: over 100 measured intervals
that are all equal to a millionth, which no oscillator and no operating system keeps. The value is the
number of streams.

## Example

`TIM010 the times of 3 streams are a grid (index / rate): drops, jitter and skew cannot be seen`.

## Repair

Take in the original recording (MCAP, bag), where there is one, instead of the dataset made from it.
twinloop keeps true times through the store and beside every export.

## Tuning

- `evenness`: largest relative deviation of intervals that looks like a grid (1e-6).

## References

- LeRobot 0.6.1, `DatasetWriter.add_frame`: timestamp = frame_index / fps
- calibra, robot-data-audit, kalanos and embodied-sync say the same of their own checks
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.checks.rule import Broken, Scope, rule
from twinloop.checks.wording import count, few, hertz
from twinloop.core.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.checks.subject import RecordingSubject

_FEWEST = 100
_FIX = "take in the original recording instead, if there is one"


@dataclass(frozen=True, slots=True)
class Limits:
    """`evenness` of intervals, relative to the period."""

    evenness: float = 1e-6


@rule(code="TIM010", name="grid_stamps", severity=Severity.INFO, scope=Scope.RECORDING, since="0.1")
def grid_stamps(subject: RecordingSubject, limits: Limits) -> Iterator[Broken]:
    declared = [stream.name for stream, _ in subject.on_grid()]
    if declared:
        yield Broken(
            message=(
                f"the times of {count(len(declared), 'stream')} are a grid (index / rate), {few(declared)}: "
                "drops, jitter and skew cannot be seen"
            ),
            fix=_FIX,
            value=float(len(declared)),
            limit=0.0,
            unit="stream",
        )
    for stream, timing in subject.timed():
        if timing.count <= _FEWEST or timing.period_ns <= 0:
            continue
        intervals = timing.intervals
        off = (
            max(intervals.longest - intervals.median, intervals.median - intervals.shortest) / intervals.median
        )
        if off <= limits.evenness:
            yield Broken(
                message=f"all intervals are equal, at {hertz(1e9 / timing.period_ns)}: the stamps are counted, "
                "not measured",
                fix="have the driver stamp the measurement, if drops and jitter are to be seen",
                stream=stream.name,
                start_ns=timing.first_ns,
                end_ns=timing.last_ns,
                value=off,
                limit=limits.evenness,
                unit="1",
                confidence=0.8,
            )
