"""Several samples have the same time.

## What it does

Reports samples whose time equals that of another sample of the stream.

## Why it matters

Either a sample was recorded twice, or two measurements share one stamp and their order and spacing are
gone. Velocities across them are infinite.

## How it is measured

Samples are put in order of time; neighbours without distance are counted. A recorder's times may repeat
when its clock is coarse: there, repeats are reported, as one finding, when they are more than `share` of
all samples. Streams of transforms, detections, texts and events are left out: several of their messages may
speak of one moment.

## Example

A driver that publishes faster than its sensor measures: `TIM002 1204 of 6000 samples repeat the time of
another`.

## Repair

Drop exact copies. Where values differ, the stamp is taken at the wrong place in the driver: stamp at the
measurement.

## Tuning

- `share`: share of repeats from which on a stream with recorder's times alone is reported (0.01).
- `listed`: places that are listed for each stream; more are counted in the last one (10).

## References

- clockdoctor: duplicates over 1 %; baglint: duplicate stamps are a warning
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from twinloop.checks.rule import Broken, Scope, rule
from twinloop.checks.subject import SPORADIC_KINDS
from twinloop.checks.wording import count, runs
from twinloop.core.errors import Where
from twinloop.core.finding import Severity
from twinloop.core.kinds import GROUPED_KINDS, StampSource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.checks.subject import RecordingSubject


_OF_ONE_MOMENT = SPORADIC_KINDS | GROUPED_KINDS


@dataclass(frozen=True, slots=True)
class Limits:
    """`share` of all samples; `listed` places for each stream."""

    share: float = 0.01
    listed: int = 10


@rule(code="TIM002", name="repeated_time", severity=Severity.WARNING, scope=Scope.RECORDING, since="0.1")
def repeated_time(subject: RecordingSubject, limits: Limits) -> Iterator[Broken]:
    for stream in subject.streams.values():
        timing = subject.timing(stream)
        stamped = stream.timeline == "stamp_ns"
        if timing is None or stream.kind in _OF_ONE_MOMENT or (timing.span_ns == 0 and not stamped):
            continue
        if stamped and stream.stamp_source is StampSource.NONE:
            continue  # it has no times, which are no repeated ones
        repeats = timing.repeated
        allowed = 0.0 if stamped else limits.share
        if not repeats.total or repeats.total <= allowed * timing.count:
            continue
        listed = limits.listed if stamped else 1
        all_of_them = f"{repeats.total} of {count(timing.count, 'sample')} repeat the time of another"
        for row, start, end, rows in islice(runs(repeats), listed):
            yield Broken(
                message=f"{count(rows, 'sample')} here at the time of the one before"
                + (f"; in all {all_of_them}" if repeats.total > rows else ""),
                fix="drop exact copies; else have the driver stamp each measurement",
                stream=stream.name,
                start_ns=start,
                end_ns=end,
                value=float(rows),
                limit=0.0,
                unit="sample",
                where=Where(file=subject.path, stream=stream.name, row=row),
            )
