"""A file that the recording names is not there.

## What it does

Reports videos, data files and parts of split bags that the metadata names and the folder lacks.

## Why it matters

An episode without its video loads until the first access to the image, which is hours into a training run.

## How it is measured

Every path that the metadata gives is looked up when the recording is opened. The value is the number of
samples known to be lost.

## Example

97 of 100 videos were left out of an upload: `STR008 97 video files are not there`, with the first names.

## Repair

Fetch the files from where the recording came from. Where they are gone, delete the feature or the episodes.

## Tuning

Nothing to tune. `severity` and `enabled` can be set in a profile.

## References

- lerobot issue 2401: episodes that point to the wrong file
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


@rule(code="STR008", name="missing_file", severity=Severity.ERROR, scope=Scope.RECORDING, since="0.1")
def missing_file(subject: RecordingSubject, limits: NoLimits) -> Iterator[Broken]:  # noqa: ARG001
    yield from broken_by_notes(
        subject, Problem.MISSING_FILE, "copy the missing file beside the others, or take its episodes out"
    )
