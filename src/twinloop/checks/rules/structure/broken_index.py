"""The index or summary of a file is missing, or disagrees with its data.

## What it does

Reports files without an index or summary section, and files whose index points to places where something
else lies.

## Why it matters

Tools that trust the index read nothing, or the wrong messages. twinloop walks the data instead, which is
complete but slower.

## How it is measured

The reader compares the index with the records that it finds. Where they differ, the data wins.

## Example

A bag of a recorder that was killed, left as `.bag.active`: `STR004 the file has no index`.

## Repair

Nothing is lost. To spare other tools the trouble, write the index anew.

## Tuning

Nothing to tune. `severity` and `enabled` can be set in a profile.

## References

- ROS 1 bag format 2.0: http://wiki.ros.org/Bags/Format/2.0
- MCAP specification, "Summary section": https://mcap.dev/spec
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


@rule(code="STR004", name="broken_index", severity=Severity.WARNING, scope=Scope.RECORDING, since="0.1")
def broken_index(subject: RecordingSubject, limits: NoLimits) -> Iterator[Broken]:  # noqa: ARG001
    yield from broken_by_notes(
        subject,
        Problem.INDEX,
        "rewrite the file with its own tool (`mcap recover`, `rosbag reindex`); twinloop reads it as it is",
    )
