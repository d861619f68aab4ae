"""Messages do not fit the definition of their own type.

## What it does

Reports messages that are shorter or longer than their type allows, or hold lengths that reach beyond their
end.

## Why it matters

They are missing from the stream. Where the definition changed between recording and now, all of the stream
may be read wrong.

## How it is measured

Every field of every message is bounded by the bytes that are there. The value is the number of messages
that do not fit.

## Example

A JointState cut to half its bytes: `STR006 1 message does not fit sensor_msgs/msg/JointState`, with its
byte.

## Repair

If single messages are concerned, exclude the span. If all are, the definition in the file is not the one of
the publisher.

## Tuning

Nothing to tune. `severity` and `enabled` can be set in a profile.

## References

- OMG DDS-XTypes 1.3, section 7.4 (CDR)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.checks.reading import broken_by_notes
from twinloop.checks.rule import Broken, NoLimits, Scope, rule
from twinloop.core.finding import Severity
from twinloop.core.recording import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.checks.subject import RecordingSubject


@rule(code="STR006", name="undecodable", severity=Severity.ERROR, scope=Scope.RECORDING, since="0.1")
def undecodable(subject: RecordingSubject, limits: NoLimits) -> Iterator[Broken]:  # noqa: ARG001
    yield from broken_by_notes(
        subject,
        Problem.UNDECODABLE,
        "record with the definition that the messages were made with; exclude the episodes that miss them",
    )
