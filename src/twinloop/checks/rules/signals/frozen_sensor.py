"""A sensor repeats its last reading.

## What it does

Reports spans in which a sensor that always trembles gives exactly the same numbers.

## Why it matters

The driver has lost the sensor and goes on publishing. Counts, rates and times are right; the values are a
memory.

## How it is measured

For inertial sensors, magnetometers and wrenches, which never read the same twice: runs of samples that are
identical in all numbers, of at least `least_s` and `least_samples`, in a stream that otherwise changes in
`changing` of its samples or more. The value is the length of the run. States of joints are judged against
their commands instead (rule SIG003), since a joint may rest.

## Example

`SIG004 the same reading for 1.2 s, 240 samples, in a stream that changes in 99.9 % of its samples`.

## Repair

Exclude the span. Let the driver say when it has no fresh reading instead of repeating the last.

## Tuning

- `least_s`: seconds (0.1).
- `least_samples`: and samples (10).
- `changing`: share of samples that differ from the one before, outside such runs (0.95).

## References

- adduct: 10 identical rows; rdq: no_motion
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.checks.rule import Broken, Need, Scope, rule
from twinloop.checks.wording import count, duration
from twinloop.core.errors import Where
from twinloop.core.finding import Severity
from twinloop.core.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.checks.measure.values import StreamValues
    from twinloop.checks.subject import RecordingSubject

_TREMBLING = (Kind.IMU, Kind.MAGNETOMETER, Kind.WRENCH)


@dataclass(frozen=True, slots=True)
class Limits:
    """`least_s` seconds; `least_samples` samples; `changing` share of samples."""

    least_s: float = 0.1
    least_samples: int = 10
    changing: float = 0.95


@rule(
    code="SIG004",
    name="frozen_sensor",
    severity=Severity.ERROR,
    scope=Scope.RECORDING,
    needs=(Need.VALUES,),
    since="0.1",
)
def frozen_sensor(subject: RecordingSubject, limits: Limits) -> Iterator[Broken]:
    for name, seen in subject.observed.items():
        if seen.values is None or seen.stream.kind not in _TREMBLING:
            continue
        runs, lengths = seen.values.standstills, seen.values.lengths
        changing = _changing_outside(seen.values, seen.rows)
        if changing < limits.changing:
            continue
        for row, start, end, samples in zip(runs.row, runs.start_ns, runs.end_ns, lengths, strict=True):
            if samples >= limits.least_samples and end - start >= limits.least_s * 1e9:
                yield Broken(
                    message=(
                        f"the same reading for {duration(end - start)}, {count(int(samples), 'sample')}, in a "
                        f"stream that changes in {100 * changing:.1f} % of its samples"
                    ),
                    fix="exclude the span; have the driver say when it has no fresh reading",
                    stream=name,
                    start_ns=int(start),
                    end_ns=int(end),
                    value=round((end - start) / 1e9, 6),
                    limit=limits.least_s,
                    unit="s",
                    where=Where(file=subject.path, stream=name, row=int(row)),
                )


def _changing_outside(values: StreamValues, rows: int) -> float:
    """Share of changing samples outside the standstills."""
    standing = int((values.lengths - 1).sum())
    steps = max(rows - 1, 1)
    return min(1.0, values.changing * steps / max(steps - standing, 1))
