"""A path, codec or shape in the metadata is wrong; the data was found all the same.

## What it does

Reports path templates that do not lead to the files, absolute paths of another machine, codecs and names in
the metadata that differ from the file.

## Why it matters

Another reader trusts the metadata and fails, or picks a decoder that the file does not need.

## How it is measured

The reader tries the declared place, then the places that the format uses by custom, and compares what the
file says of itself with what the metadata says of it.

## Example

`video_path` of a dataset lacks a folder: `STR009 info.json names videos/..., found at ...`.

## Repair

Write the true value into the metadata.

## Tuning

Nothing to tune. `severity` and `enabled` can be set in a profile.

## References

- LeRobot dataset format v3.0: https://huggingface.co/docs/lerobot
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


@rule(code="STR009", name="wrong_path", severity=Severity.WARNING, scope=Scope.RECORDING, since="0.1")
def wrong_path(subject: RecordingSubject, limits: NoLimits) -> Iterator[Broken]:  # noqa: ARG001
    yield from broken_by_notes(
        subject, Problem.PATH, "correct the entry in the metadata; twinloop found the file all the same"
    )
