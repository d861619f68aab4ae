"""A stream is declared and holds no sample.

## What it does

Reports streams that the recording lists and that hold nothing.

## Why it matters

A camera that was subscribed to and never published is in the list of topics, so that everyone believes it
was recorded.

## How it is measured

The samples of every stream are counted while the recording is read. Streams that speak only when something
happens (text, events, buttons, camera information) may be silent: for them it is information.

## Example

`STR011 /wrist/image_raw holds no sample`.

## Repair

Check the cable, the driver and the topic's quality of service (a best-effort publisher and a reliable
subscriber never meet), then record again. If nothing was meant to be there, take the topic off the
recorder's list.

## Tuning

Nothing to tune. `severity` and `enabled` can be set in a profile.

## References

- Project Aria recordings list streams of sensors that were off (gps, wps, als)
- ROS 2 quality of service compatibilities:
  https://docs.ros.org/en/rolling/Concepts/Intermediate/About-Quality-of-Service-Settings.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.checks.rule import Broken, NoLimits, Scope, rule
from twinloop.checks.subject import SPORADIC_KINDS
from twinloop.core.errors import Where
from twinloop.core.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.checks.subject import RecordingSubject


@rule(code="STR011", name="empty_stream", severity=Severity.WARNING, scope=Scope.RECORDING, since="0.1")
def empty_stream(subject: RecordingSubject, limits: NoLimits) -> Iterator[Broken]:  # noqa: ARG001
    for name, seen in subject.observed.items():
        if seen.rows:
            continue
        sporadic = seen.stream.kind in SPORADIC_KINDS
        yield Broken(
            message="the stream is declared and holds no sample",
            fix="check that its publisher ran, or take it off the recorder's list",
            severity=Severity.INFO if sporadic else None,
            stream=name,
            value=0.0,
            limit=1.0,
            unit="sample",
            where=Where(file=subject.path, stream=name),
        )
