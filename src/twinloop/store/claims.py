"""Claims: which session a recording is on its way into, so that every attempt at it has the same aim.

An attempt renews the claim before it relies on any byte that lies in the store already; what a young claim
names is in use, whether or not a manifest names it yet (see `gc`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from twinloop.store.revisions import Revisions, numbers_among
from twinloop.store.writer import now, seconds_since

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from twinloop.store.objects import Objects

FOLDER = "claims"
_FRESH_S = 3600.0


@dataclass(frozen=True, slots=True)
class Claim:
    """The recording of `hash`, of raw files with these SHA-256, goes into `session`."""

    hash: str
    session: str
    at: str
    files: tuple[str, ...] = ()


def claim(
    objects: Objects,
    hash: str,
    session: str,
    *,
    insist: bool = False,
    files: Iterable[str] = (),
    erased: Collection[str] = (),
) -> str:
    """The session that the recording goes into: the one claimed before, or else `session`.

    `insist`: replace an earlier claim. Only for a caller who holds the recording's workspace, and so knows
    that the earlier attempt is dead; a young claim that may be another machine's holds all the same.
    `erased`: sessions that are claimed in vain.
    """
    revisions = _revisions(objects, hash)
    files = tuple(files)
    while True:
        number = revisions.latest()
        held = _decode(revisions.get(number)) if number else None
        if held and held.session in erased:
            held = None
        if held and (not insist or held.session == session or (objects.shared and _is_young(held))):
            if held.files == files and _is_young(held):
                return held.session
            session = held.session
        if revisions.commit(number + 1, msgspec.json.encode(Claim(hash, session, now(), files))):
            return session


def read_claim(objects: Objects, hash: str) -> Claim | None:
    """The claim on a recording that holds; None if there is none, or it is damaged."""
    revisions = _revisions(objects, hash)
    number = revisions.latest()
    return _decode(revisions.get(number)) if number else None


def all_claims(objects: Objects) -> list[Claim]:
    """The claim that holds of every recording."""
    hashes = sorted(
        {
            name.partition("-")[0]
            for folder in objects.children(FOLDER)
            for name in objects.children(f"{FOLDER}/{folder}")
            if numbers_among([name.rpartition("-")[2]])
        }
    )
    return [held for hash in hashes if (held := read_claim(objects, hash))]


def _revisions(objects: Objects, hash: str) -> Revisions:
    return Revisions(objects, f"{FOLDER}/{hash[:2]}", f"{hash}-")


def _is_young(held: Claim) -> bool:
    return seconds_since(held.at) < _FRESH_S


def _decode(data: bytes) -> Claim | None:
    """A claim; None for one that is damaged, which binds nobody."""
    try:
        return msgspec.json.decode(data, type=Claim)
    except msgspec.MsgspecError:
        return None
