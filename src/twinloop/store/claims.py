"""Claims: which session a recording is on its way into, so that every attempt at it has the same aim."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from twinloop.store.revisions import Revisions
from twinloop.store.writer import now

if TYPE_CHECKING:
    from twinloop.store.objects import Objects

FOLDER = "claims"


@dataclass(frozen=True, slots=True)
class Claim:
    """The recording of `hash` goes into `session`."""

    hash: str
    session: str
    at: str


def claim(objects: Objects, hash: str, session: str, *, insist: bool = False) -> str:
    """The session that the recording goes into: the one claimed before, or else `session`.

    `insist`: replace an earlier claim. Only for a caller who holds the recording's workspace and knows that
    the earlier attempt is dead.
    """
    revisions = Revisions(objects, f"{FOLDER}/{hash[:2]}", f"{hash}-")
    while True:
        number = revisions.latest()
        if number and (held := _decode(revisions.get(number))) and (held == session or not insist):
            return held
        if revisions.commit(number + 1, msgspec.json.encode(Claim(hash, session, now()))):
            return session


def _decode(data: bytes) -> str | None:
    """The session of a claim; None for one that is damaged, which binds nobody."""
    try:
        return msgspec.json.decode(data, type=Claim).session
    except msgspec.MsgspecError:
        return None
