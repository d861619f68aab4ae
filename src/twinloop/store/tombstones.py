"""Tombstones: what was erased, by hash or id, so that it is not taken in, nor copied back, again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from twinloop.core.errors import StoreError
from twinloop.store.sealed import seal, unseal

if TYPE_CHECKING:
    from twinloop.store.objects import Objects

FOLDER = "tombstones"


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What was erased, when, by whom, why.

    Attributes:
        hash: SHA-256 of a raw file, of a recording, or of a document; or the id of a session.
        erasure: the id of the erasure that it belongs to.
    """

    hash: str
    at: str
    by: str
    reason: str
    erasure: str = ""


class ErasedError(StoreError):
    """A recording was erased from this store and is refused."""


def bury(objects: Objects, stone: Tombstone) -> None:
    """Put a tombstone up; the first one for a hash stays."""
    objects.put(tombstone_key(stone.hash), seal(stone))


def tombstone_key(hash: str) -> str:
    """Where the tombstone of a hash or id stands."""
    return f"{FOLDER}/{hash}.json"


def read_tombstone(objects: Objects, hash: str) -> Tombstone | None:
    """The tombstone of a hash or id; None if there is none.

    Raises:
        StoreError: it is there and damaged.
    """
    key = tombstone_key(hash)
    if not objects.exists(key):
        return None
    try:
        return unseal(objects.get(key), Tombstone)
    except msgspec.MsgspecError as error:
        raise StoreError(f"a tombstone does not parse: {error}", where=key) from None


def erased_hashes(objects: Objects) -> frozenset[str]:
    """The hashes and ids of all that was erased. A damaged tombstone counts: its name says what of."""
    return frozenset(name.removesuffix(".json") for name in objects.children(FOLDER) if name.endswith(".json"))


def refuse_erased(objects: Objects, hash: str, name: str) -> None:
    """Raise ErasedError if the content of this hash was erased."""
    try:
        stone = read_tombstone(objects, hash)
    except StoreError:
        how = f"{tombstone_key(hash)} says how, but does not parse any more"
    else:
        if stone is None:
            return
        how = f"erased {stone.at} by {stone.by}: {stone.reason}"
    raise ErasedError(f"{name} was erased from this store and stays out", where=f"sha256 {hash}", expected=how)
