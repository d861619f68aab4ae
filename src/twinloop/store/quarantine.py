"""Quarantine: what could not be read, or not whole, with the reason and the way to try again.

``quarantine/<id>/reason.json`` is the first reason; later attempts stand beside it as ``attempt-<n>.json``.
The raw bytes lie in the blobs like any other's (or are referenced), so nothing is lost by waiting for a
better reader.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from twinloop.core.errors import StoreError
from twinloop.core.recording import Problem, ReadNote
from twinloop.store.blobs import SourceFile
from twinloop.store.objects import MissingObjectError
from twinloop.store.revisions import Revisions
from twinloop.store.sealed import seal, unseal
from twinloop.store.writer import now, writer_name

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from twinloop.store.objects import Objects

FOLDER = "quarantine"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something is in quarantine.

    Attributes:
        id: 16 hex digits: of the content's hash, or of the path's where the content may not be read.
        path: what was taken in. hash, files: its content, if it could be read at all.
        what: one message. notes: each lost part, with file, stream, byte or row.
        session: where the readable part went; None if there is none.
        retry: the command to run again. resolved: True once all of it was read.
    """

    id: str
    path: str
    what: str
    retry: str
    hash: str | None = None
    files: tuple[SourceFile, ...] = ()
    notes: tuple[ReadNote, ...] = ()
    session: str | None = None
    resolved: bool = False
    at: str = ""
    by: str = ""


def is_lost(note: ReadNote) -> bool:
    """Whether a reader's note says that samples were lost, may have been, or are damaged."""
    return note.lost is None or note.lost > 0 or note.problem is Problem.CORRUPT


def lost_parts(notes: Iterable[ReadNote]) -> tuple[ReadNote, ...]:
    """The notes about parts that could not be read."""
    return tuple(note for note in notes if is_lost(note))


def quarantine_id(hash: str | None, path: Path) -> str:
    """The id under which a content (or a path that may not be read) is in quarantine."""
    return hash[:16] if hash else hashlib.sha256(str(path).encode(errors="surrogateescape")).hexdigest()[:16]


class Quarantine:
    """Everything under ``quarantine/``."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def add(self, reason: Reason) -> None:
        """Put on record; the same reason as last time is not written twice."""
        known = self.last(reason.id)
        reason = replace(reason, at=now(), by=writer_name())
        if known and replace(known, at=reason.at, by=reason.by) == reason:
            return
        data = seal(reason)
        if self._objects.put(f"{FOLDER}/{reason.id}/reason.json", data):
            return
        attempts = self._attempts(reason.id)
        while not attempts.commit(attempts.latest() + 1, data):
            pass

    def resolve(self, id: str, session: str) -> None:
        """Note that all of it could be read after all; nothing happens if it was never in quarantine."""
        known = self.last(id)
        if known and not known.resolved:
            self.add(replace(known, what="read whole", notes=(), session=session, resolved=True))

    def last(self, id: str) -> Reason | None:
        """The last reason of one content; None if there is none that can be read."""
        try:
            return self.read(id)
        except StoreError:
            return None

    def read(self, id: str) -> Reason | None:
        """As `last`, for `fsck`.

        Raises:
            StoreError: it is there and damaged.
        """
        attempts = self._attempts(id)
        number = attempts.latest()
        key = attempts.key(number) if number else f"{FOLDER}/{id}/reason.json"
        try:
            return unseal(self._objects.get(key), Reason)
        except MissingObjectError:
            return None
        except msgspec.MsgspecError as error:
            raise StoreError(f"a reason does not parse: {error}", where=key) from None

    def all(self) -> list[Reason]:
        """The last reason of everything that is still in quarantine."""
        reasons = (self.last(id) for id in self._objects.children(FOLDER))
        return [reason for reason in reasons if reason and not reason.resolved]

    def _attempts(self, id: str) -> Revisions:
        return Revisions(self._objects, f"{FOLDER}/{id}", "attempt-")
