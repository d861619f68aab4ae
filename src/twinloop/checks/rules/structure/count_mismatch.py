"""The number of samples is not what the recording declares.

## What it does

Compares the number of samples that index or metadata declare with the number that were read, for each
stream, and reports what the reader itself counted differently: rows, episodes, frames.

## Why it matters

Loaders compute positions from declared counts. With a wrong one, rows shift against images, and the last
episodes are out of reach or belong to others.

## How it is measured

Messages are counted while the stream is read. Samples that the reader is known to have lost (a corrupt
chunk, undecodable messages) are not counted against it: rules STR002, STR003 and STR006 report those, and a
difference beside them is information. The value is the actual number, the limit the declared one.

## Example

An `info.json` says 35,965 frames, the data files hold 35,960: `STR007 35965 samples declared, 35960 there`.

## Repair

If data is missing, fetch it. If the declaration is wrong, write it anew from the data.

## Tuning

- `tolerance`: samples by which the numbers may differ (0).

## References

- lerobot issues 1919, 2401, 2643: counts and maps that went wrong in conversion
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.checks.reading import broken_by_notes
from twinloop.checks.rule import Broken, Scope, rule
from twinloop.checks.wording import count
from twinloop.core.errors import Where
from twinloop.core.finding import Severity
from twinloop.core.recording import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.checks.subject import RecordingSubject

_FIX = "find out which is right: fetch what is missing, or write the declared number anew from the data"


@dataclass(frozen=True, slots=True)
class Limits:
    """`tolerance`: samples."""

    tolerance: int = 0


@rule(code="STR007", name="count_mismatch", severity=Severity.ERROR, scope=Scope.RECORDING, since="0.1")
def count_mismatch(subject: RecordingSubject, limits: Limits) -> Iterator[Broken]:
    yield from broken_by_notes(
        subject,
        Problem.COUNT,
        _FIX,
        lambda note: None if _known_losses(subject, note.where.stream) == 0 else Severity.INFO,
    )
    told = {note.where.stream for note in subject.notes if note.problem is Problem.COUNT}
    for name, seen in subject.observed.items():
        declared = seen.stream.count
        if declared is None or name in told:
            continue
        explained = _known_losses(subject, name)
        if explained is None:
            continue
        # Some sources count the messages that samples came in, some the samples.
        there = min(seen.messages, seen.rows, key=lambda number: abs(declared - number))
        off = declared - there
        if abs(off) > limits.tolerance and not 0 < off <= explained:
            yield Broken(
                message=f"{count(declared, 'sample')} declared, {there} there",
                fix=_FIX,
                stream=name,
                value=float(there),
                limit=float(declared),
                unit="sample",
                where=Where(file=subject.path, stream=name),
            )


def _known_losses(subject: RecordingSubject, stream: str | None) -> int | None:
    """Samples of a stream that the reader says it lost; None where it lost some and cannot tell how many."""
    losses = [
        note.lost
        for note in subject.notes
        if note.where.stream in (None, stream) and note.problem is not Problem.COUNT
    ]
    return None if None in losses else sum(loss or 0 for loss in losses)
