"""A stream has no sample in an episode, or shares no time with the others.

## What it does

Reports streams that have samples, but none within an episode; in a recording without episodes, streams that
lie wholly before or after the others.

## Why it matters

Rows of that episode have no such observation. Whoever holds the last value fills them with a picture of
another attempt.

## How it is measured

Each stream's samples are counted in each episode on the common timeline, clock models applied. The value is
the number of samples. Streams that keep no rate (events, transforms sent once) are judged only if a feature
is taken from them. A stream without any sample is rule STR011's.

## Example

A camera stamped by a clock that started at boot: `SYN001 no sample in this episode; its samples lie 54.2
years before it`.

## Repair

Clocks that count from different epochs: give a clock model. A camera that was off: exclude the episode.

## Tuning

Nothing to tune. `severity` and `enabled` can be set in a profile.

## References

- physlint: temporal.stream_overlap
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.checks.rule import Broken, Need, NoLimits, Scope, rule
from twinloop.checks.wording import duration
from twinloop.core.finding import Severity
from twinloop.core.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.checks.measure.timing import Timing
    from twinloop.checks.subject import EpisodeSubject
    from twinloop.core.stream import Stream

_FIX = "give a clock model if the clocks differ; else exclude the episode"
_FEWEST = 2


@rule(
    code="SYN001",
    name="no_overlap",
    severity=Severity.WARNING,
    scope=Scope.EPISODE,
    needs=(Need.TIMES,),
    since="0.1",
)
def no_overlap(subject: EpisodeSubject, limits: NoLimits) -> Iterator[Broken]:  # noqa: ARG001
    streams = [
        (stream, subject.observed[stream.name].timing)
        for stream in subject.timed_streams()
        if subject.keeps_rate(stream)
        or (subject.feature_of(stream) and stream.kind not in (Kind.TEXT, Kind.EVENT))
    ]
    if subject.span is not None:
        yield from _none_in_episode(subject, streams)
    else:
        yield from _apart(subject, [(s, t) for s, t in streams if t.count >= _FEWEST])


def _none_in_episode(subject: EpisodeSubject, streams: list[tuple[Stream, Timing]]) -> Iterator[Broken]:
    span = subject.span
    assert span is not None
    for stream, whole in streams:
        if subject.timing(stream) is not None:
            continue
        if whole.last_ns < span.start_ns:
            where = f"its samples lie {duration(span.start_ns - whole.last_ns)} before it"
        elif whole.first_ns >= span.end_ns:
            where = f"its samples lie {duration(whole.first_ns - span.end_ns)} after it"
        else:
            where = "its samples lie before and after it"
        yield Broken(
            message=f"no sample in this episode; {where}",
            fix=_FIX,
            severity=_severity(subject, stream),
            stream=stream.name,
            start_ns=span.start_ns,
            end_ns=span.end_ns,
            value=0.0,
            limit=1.0,
            unit="sample",
        )


def _apart(subject: EpisodeSubject, streams: list[tuple[Stream, Timing]]) -> Iterator[Broken]:
    """Streams that share no time with the one that shares time with most others."""
    if len(streams) < 2:
        return
    reference, its = max(streams, key=lambda item: sum(_meet(item[1], other) for _, other in streams))
    for stream, timing in streams:
        if not _meet(timing, its):
            before = timing.last_ns < its.first_ns
            distance = its.first_ns - timing.last_ns if before else timing.first_ns - its.last_ns
            yield Broken(
                message=(
                    f"shares no time with {reference.name}: it lies {duration(distance)} "
                    f"{'before' if before else 'after'} it"
                ),
                fix=_FIX,
                severity=_severity(subject, stream),
                stream=stream.name,
                start_ns=timing.first_ns,
                end_ns=timing.last_ns,
                value=0.0,
                limit=1.0,
                unit="sample",
            )


def _meet(a: Timing, b: Timing) -> bool:
    return a.first_ns <= b.last_ns and b.first_ns <= a.last_ns


def _severity(subject: EpisodeSubject, stream: Stream) -> Severity:
    needed = subject.feature_of(stream) is not None or stream.kind in (Kind.IMAGE, Kind.DEPTH)
    return Severity.ERROR if needed else Severity.WARNING
