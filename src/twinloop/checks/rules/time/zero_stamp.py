"""Samples have no stamp though their stream has one.

## What it does

Reports samples whose stamp is zero or missing.

## Why it matters

A stamp of zero is 1970. Whoever sorts by it puts the sample first; whoever takes the span of the stream
gets half a century.

## How it is measured

Stamps are compared with zero. The first sample of a clock that starts with the recording may be at zero.
The findings' times are those of the recorder. A stream in which no sample has a stamp is one finding, a
warning: its driver fills none in.

## Example

`TIM003 3 samples have a stamp of zero`, with their rows.

## Repair

Fill the header in the driver. twinloop orders such samples by the recorder's time and leaves the stamp as
it is.

## Tuning

- `listed`: places that are listed for each stream; more are counted in the last one (10).

## References

- baglint: zero stamps are a warning
- ROS `std_msgs/Header`: stamp is the time of acquisition
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from twinloop.checks.rule import Broken, Scope, rule
from twinloop.checks.wording import count, runs
from twinloop.core.errors import Where
from twinloop.core.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.checks.subject import RecordingSubject

_FIX = "have the driver fill in the stamp"


@dataclass(frozen=True, slots=True)
class Limits:
    """`listed` places for each stream."""

    listed: int = 10


@rule(code="TIM003", name="zero_stamp", severity=Severity.ERROR, scope=Scope.RECORDING, since="0.1")
def zero_stamp(subject: RecordingSubject, limits: Limits) -> Iterator[Broken]:
    for name, seen in subject.observed.items():
        zero = seen.unstamped
        if not zero.total:
            continue
        # The first sample of a clock that begins with the recording is let pass by itself.
        if zero.total >= seen.messages - 1:
            yield Broken(
                message=f"none of {count(seen.messages, 'sample')} has a stamp",
                fix=_FIX,
                severity=Severity.WARNING,
                stream=name,
                start_ns=int(zero.start_ns[0]),
                end_ns=int(zero.end_ns[-1]),
                value=float(zero.total),
                limit=0.0,
                unit="sample",
                where=Where(file=subject.path, stream=name, row=0),
            )
            continue
        for row, start, end, rows in islice(runs(zero), limits.listed):
            yield Broken(
                message=f"{count(rows, 'sample')} with a stamp of zero, {zero.total} in all",
                fix=_FIX,
                stream=name,
                start_ns=start,
                end_ns=end,
                value=float(rows),
                limit=0.0,
                unit="sample",
                where=Where(file=subject.path, stream=name, row=row),
            )
