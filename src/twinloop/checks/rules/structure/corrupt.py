"""Bytes are not what their format says.

## What it does

Reports chunks with a wrong checksum, records that do not parse, compressed data that does not decompress,
images that do not decode at all.

## Why it matters

Corrupt bytes that still parse become plausible numbers: a joint angle with a flipped bit is an action the
robot never took.

## How it is measured

CRCs are recomputed where the format has them; lengths and opcodes are checked everywhere. The byte offset
is in the finding, the value is the number of samples known to be lost.

## Example

One bit flipped in an MCAP chunk: `STR003 the CRC of the chunk does not match`, with its byte.

## Repair

Copy the recording again from the robot. If the robot holds the same bytes, exclude the episodes that the
span touches.

## Tuning

Nothing to tune. `severity` and `enabled` can be set in a profile.

## References

- MCAP specification, "Chunk": uncompressed_crc, https://mcap.dev/spec
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


@rule(code="STR003", name="corrupt", severity=Severity.ERROR, scope=Scope.RECORDING, since="0.1")
def corrupt(subject: RecordingSubject, limits: NoLimits) -> Iterator[Broken]:  # noqa: ARG001
    yield from broken_by_notes(
        subject, Problem.CORRUPT, "copy the file again and compare checksums; check the disk that it came from"
    )
