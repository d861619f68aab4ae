"""Turning what a reader noted while reading into findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.checks.rule import Broken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from twinloop.checks.subject import RecordingSubject
    from twinloop.core.finding import Severity
    from twinloop.core.recording import Problem, ReadNote

_LISTED = 50


def broken_by_notes(
    subject: RecordingSubject,
    problem: Problem,
    fix: str,
    severity_of: Callable[[ReadNote], Severity | None] = lambda _: None,
) -> Iterator[Broken]:
    """A finding for each of the reader's notes of one problem; beyond 50 they are counted in a last one.

    Args:
        severity_of: of one note; None: the rule's own.
    """
    notes = [note for note in subject.notes if note.problem is problem]
    for note in notes[:_LISTED]:
        yield Broken(
            message=note.message,
            fix=fix,
            severity=severity_of(note),
            stream=note.where.stream,
            start_ns=note.where.time_ns,
            value=float(note.lost) if note.lost else None,
            limit=0.0 if note.lost else None,
            unit="sample" if note.lost else "",
            where=note.where,
        )
    if rest := notes[_LISTED:]:
        known = sum(note.lost or 0 for note in rest)
        yield Broken(
            message=f"{len(rest)} more places like these, with {known} samples known to be lost",
            fix=fix,
            severity=severity_of(rest[0]),
            value=float(len(rest)),
            limit=0.0,
            unit="place",
            where=rest[0].where,
        )
