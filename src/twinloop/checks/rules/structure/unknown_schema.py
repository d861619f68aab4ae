"""A definition is missing, incomplete or does not parse: what rests on it is kept raw, or guessed.

## What it does

Reports streams whose messages cannot be decoded for want of a definition, and tables whose columns do not
say what they are (a unit, a layout).

## Why it matters

Raw bytes are kept, but nothing looks into them: no check, no plot, no feature. A unit that was inferred may
be the wrong one.

## How it is measured

The reader looks for the definition in the file, then among the standard types. ROS 2 SQLite bags before
Iron carry none.

## Example

A Humble bag with a custom `arm_msgs/msg/Tool`: `STR005 no definition of arm_msgs/msg/Tool`.

## Repair

Point `--types` at the folder that holds `arm_msgs/msg/Tool.msg` and take the recording in again.

## Tuning

Nothing to tune. `severity` and `enabled` can be set in a profile.

## References

- rosbag2 issue 782: message definitions inside bags
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


@rule(code="STR005", name="unknown_schema", severity=Severity.WARNING, scope=Scope.RECORDING, since="0.1")
def unknown_schema(subject: RecordingSubject, limits: NoLimits) -> Iterator[Broken]:  # noqa: ARG001
    yield from broken_by_notes(
        subject,
        Problem.SCHEMA,
        "say what is missing: message definitions with `--types DIR`, units and layouts in a mapping",
    )
