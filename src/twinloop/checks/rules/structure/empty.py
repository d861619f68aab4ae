"""A file or a part of a recording holds nothing.

## What it does

Reports files and parts of recordings in which there is nothing to read: zero bytes, a header without data,
a dataset without rows.

## Why it matters

An empty file counts as an episode in every list that counts files. A trainer that loads it fails, or skips
it without a word.

## How it is measured

The reader notes it when it finds a valid beginning and no data behind it. The value is the number of
samples known to be lost.

## Example

A recorder that was stopped before its first message leaves an MCAP of a header and a footer: `STR001 holds
no messages`.

## Repair

Record the take again. Nothing can be recovered from it.

## Tuning

Nothing to tune. `severity` and `enabled` can be set in a profile.

## References

- MCAP specification, "Records": https://mcap.dev/spec
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


@rule(code="STR001", name="empty", severity=Severity.ERROR, scope=Scope.RECORDING, since="0.1")
def empty(subject: RecordingSubject, limits: NoLimits) -> Iterator[Broken]:  # noqa: ARG001
    yield from broken_by_notes(subject, Problem.EMPTY, "record it again; delete or exclude the empty file")
