"""A file ends before its format says that it does.

## What it does

Reports files that stop in the middle: a record or chunk that is cut off, a missing footer, a video whose
last packets are not there.

## Why it matters

The end of an attempt is where it succeeds or fails. An episode that is cut off there teaches motion without
an outcome.

## How it is measured

The reader follows lengths and offsets to the last byte. What lies whole before the cut is read and kept;
the value is the number of samples known to be lost (none where it cannot be known). A file that ends in its
summary, after all data, is a warning.

## Example

A laptop lost power 40 s into a take: `STR002 the file ends inside a chunk`, with the byte, and the 39 s
before it are read.

## Repair

Where the original is elsewhere, copy it again and compare sizes. Else exclude the episode, or cut it before
the end and set its outcome to unknown.

## Tuning

Nothing to tune. `severity` and `enabled` can be set in a profile.

## References

- lerobot issues 2495, 2529, 3522: datasets that do not open after a crash
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


@rule(code="STR002", name="truncated", severity=Severity.ERROR, scope=Scope.RECORDING, since="0.1")
def truncated(subject: RecordingSubject, limits: NoLimits) -> Iterator[Broken]:  # noqa: ARG001
    yield from broken_by_notes(
        subject,
        Problem.TRUNCATED,
        "keep what was read, or find the whole file; see why the recorder ended",
        lambda note: Severity.WARNING if note.lost == 0 else None,
    )
