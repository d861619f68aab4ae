"""Losses that are known: damage that was looked at and cannot be undone, so that it is told only once.

``losses/<id>.json`` says which bytes (of a journal line that was torn) or which document (a manifest's
revision) are lost for good, and where what is left of them was laid. Nothing else is changed by it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from twinloop.store.writer import now, writer_name

if TYPE_CHECKING:
    from twinloop.store.objects import Objects

FOLDER = "losses"


@dataclass(frozen=True, slots=True)
class Loss:
    """One loss.

    Attributes:
        key: of the document. what: happened. byte, sha256: of a torn line, where its bytes still stand.
        aside: where the damaged document was moved, if there was one.
    """

    key: str
    what: str
    byte: int | None = None
    sha256: str | None = None
    aside: str | None = None
    at: str = ""
    by: str = ""


def admit(objects: Objects, loss: Loss) -> None:
    """Put a loss on record; once, however often it is said."""
    record = replace(loss, at=now(), by=writer_name())
    objects.put(_key(loss), msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")


def lost_documents(objects: Objects) -> frozenset[str]:
    """The keys of documents that are known to be lost."""
    return frozenset(loss.key for loss in losses(objects) if loss.byte is None)


def torn_known(objects: Objects) -> frozenset[tuple[str, int | None, str | None]]:
    """(key, byte, SHA-256) of the torn lines that are known."""
    return frozenset((loss.key, loss.byte, loss.sha256) for loss in losses(objects) if loss.byte is not None)


def losses(objects: Objects) -> list[Loss]:
    """All known losses; a record that does not parse says nothing."""
    found = []
    for key in objects.walk(FOLDER):
        try:
            found.append(msgspec.json.decode(objects.get(key), type=Loss))
        except msgspec.MsgspecError:
            continue
    return found


def _key(loss: Loss) -> str:
    said = f"{loss.key}\n{loss.byte}\n{loss.sha256}"
    return f"{FOLDER}/{hashlib.sha256(said.encode(errors='surrogateescape')).hexdigest()[:16]}.json"
