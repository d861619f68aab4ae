"""Tombstones: hashes of what was erased, so that it is not taken in again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from twinloop.core.errors import StoreError

if TYPE_CHECKING:
    from twinloop.store.objects import Objects

FOLDER = "tombstones"


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What was erased (SHA-256 of a raw file or recording), when, by whom, why."""

    hash: str
    at: str
    by: str
    reason: str


class ErasedError(StoreError):
    """A recording was erased from this store and is refused."""


def refuse_erased(objects: Objects, hash: str, name: str) -> None:
    """Raise ErasedError if the content of this hash was erased."""
    key = f"{FOLDER}/{hash}.json"
    if not objects.exists(key):
        return
    try:
        stone = msgspec.json.decode(objects.get(key), type=Tombstone)
        how = f"erased {stone.at} by {stone.by}: {stone.reason}"
    except msgspec.MsgspecError:
        how = f"{key} says how, but does not parse any more"
    raise ErasedError(f"{name} was erased from this store and stays out", where=f"sha256 {hash}", expected=how)
