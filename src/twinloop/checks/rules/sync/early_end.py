"""A stream ends before its episode does.

## What it does

Reports streams whose last sample comes well before the episode's end.

## Why it matters

The end of an attempt shows whether it succeeded. A camera that died before it leaves rows with the last
image repeated, or none.

## How it is measured

The episode's end less the last sample's time (in a recording without episodes: the latest sample of all
streams on the same clock). It may be `limit_s`, or two periods of the stream. Streams without a rate and
streams of a grid are not judged. Where a mapping says which streams are used, others are information.

## Example

A USB camera was unplugged: `SYN003 ends 12.7 s earlier than the episode`.

## Repair

Cut the episode where the stream ends, or exclude it.

## Tuning

- `limit_s`: seconds without the stream at the end (0.5).

## References

- Counterpart of SYN002
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.checks.rule import Broken, Need, Scope, rule
from twinloop.checks.wording import duration
from twinloop.core.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.checks.subject import EpisodeSubject


@dataclass(frozen=True, slots=True)
class Limits:
    """`limit_s` seconds."""

    limit_s: float = 0.5


@rule(
    code="SYN003",
    name="early_end",
    severity=Severity.WARNING,
    scope=Scope.EPISODE,
    needs=(Need.TIMES,),
    since="0.1",
)
def early_end(subject: EpisodeSubject, limits: Limits) -> Iterator[Broken]:
    for stream, timing in subject.continuous():
        end = subject.end_ns(stream)
        if end is None:
            continue
        period = subject.observed[stream.name].timing.period_ns
        limit_ns = max(limits.limit_s * 1e9, 2 * period)
        early = end - timing.last_ns
        if early > limit_ns:
            yield Broken(
                message=f"ends {duration(early)} earlier than the {'episode' if subject.span else 'recording'}",
                fix="cut the episode where the stream ends, or exclude it",
                severity=None if subject.is_used(stream) else Severity.INFO,
                stream=stream.name,
                start_ns=timing.last_ns,
                end_ns=end,
                value=round(early / 1e9, 6),
                limit=round(limit_ns / 1e9, 6),
                unit="s",
            )
