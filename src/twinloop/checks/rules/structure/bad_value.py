"""A value cannot be what its column says.

## What it does

Reports values that do not parse as the type of their column: text in a column of numbers, an index beyond
its range, a time that is none.

## Why it matters

Tools replace such values by NaN or zero, or give up on the file.

## How it is measured

The reader notes the row and column of what does not parse, and leaves the value empty.

## Example

One row in a million of a CSV says `--` where the others say a number: `STR010 row 734112: '--' is not a
number`.

## Repair

Correct the row, or drop it knowingly.

## Tuning

Nothing to tune. `severity` and `enabled` can be set in a profile.

## References

- RFC 4180 (CSV)
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


@rule(code="STR010", name="bad_value", severity=Severity.ERROR, scope=Scope.RECORDING, since="0.1")
def bad_value(subject: RecordingSubject, limits: NoLimits) -> Iterator[Broken]:  # noqa: ARG001
    yield from broken_by_notes(subject, Problem.BAD_VALUE, "correct or remove the value at its source")
