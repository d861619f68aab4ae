"""Damaged documents that are no manifests: registry, reasons, claims, tombstones, orders of erasures."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import msgspec

from twinloop.core.errors import TwinloopError
from twinloop.store.blobs import SourceFile, blob_key
from twinloop.store.erase.order import FOLDER as ERASURES
from twinloop.store.erase.order import Order, bury_all, orders
from twinloop.store.losses import Loss, admit
from twinloop.store.quarantine import FOLDER as QUARANTINE
from twinloop.store.quarantine import Reason
from twinloop.store.registry import FOLDER as REGISTRY
from twinloop.store.registry import Fact
from twinloop.store.sealed import unseal
from twinloop.store.tombstones import FOLDER as TOMBSTONES
from twinloop.store.tombstones import Tombstone, bury
from twinloop.store.transfer import move_aside
from twinloop.store.writer import now, writer_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from twinloop.store.fsck.trouble import Trouble
    from twinloop.store.mending.supply import Supply

_TYPES = {REGISTRY: Fact, QUARANTINE: Reason, TOMBSTONES: Tombstone, ERASURES: Order}


def mend_documents(supply: Supply, damage: Sequence[Trouble]) -> Iterator[tuple[str, str]]:
    """(key, how) of each document that is whole again, or gives way to what holds without it."""
    for key in dict.fromkeys(trouble.key for trouble in damage):
        area = key.partition("/")[0]
        if area in _TYPES and (done := from_mirror(supply, key, _TYPES[area])):
            yield key, done
        elif area == REGISTRY:
            aside = move_aside(supply.store.objects, key, supply.staging)
            admit(supply.store.objects, Loss(key, "an entry of the registry", aside=aside))
            yield key, "moved aside; what was stated before it holds"
        elif area == "claims":
            move_aside(supply.store.objects, key, supply.staging)
            yield key, "moved aside; the recording goes where it is sent next"
        elif area == TOMBSTONES:
            yield key, _tombstone(supply, key)
        elif area == QUARANTINE:
            yield key, _reason(supply, key)


def from_mirror(supply: Supply, key: str, type: type) -> str | None:
    """Bring a document from the mirror if it has it whole; how, or None."""
    data = supply.document(key)
    if data is None:
        return None
    try:
        unseal(data, type)
    except msgspec.MsgspecError:
        return None
    move_aside(supply.store.objects, key, supply.staging)
    supply.store.objects.put(key, data)
    assert supply.mirror
    return f"restored from {supply.mirror.url}"


def _tombstone(supply: Supply, key: str) -> str:
    """Put a tombstone up again, as its erasure says or, of an unknown one, with no more than that."""
    objects = supply.store.objects
    aside = move_aside(objects, key, supply.staging)
    with contextlib.suppress(TwinloopError):
        for order in orders(objects):
            bury_all(objects, order)
    hash = key.rpartition("/")[2].removesuffix(".json")
    bury(objects, Tombstone(hash, now(), writer_name(), f"not known any more: see {aside}"))
    return "put up again"


def _reason(supply: Supply, key: str) -> str:
    """Move a damaged reason aside; the last one that can be read holds, or one that says what is known."""
    store = supply.store
    aside = move_aside(store.objects, key, supply.staging)
    id = key.split("/")[1]
    if (held := store.quarantine.last(id)) is not None:
        return f"moved aside; the reason of {held.at} holds"
    files = _raw_of(supply, id)
    retry = f"twinloop ingest {store.objects.place(files[0].place)}" if files else "take it in again"
    store.quarantine.add(
        Reason(
            id=id,
            path=files[0].url if files else "not known any more",
            what=f"not known any more: the reason was damaged ({aside})",
            retry=retry,
            hash=files[0].sha256 if files else None,
            files=files,
        )
    )
    return "moved aside; its raw bytes are kept"


def _raw_of(supply: Supply, id: str) -> tuple[SourceFile, ...]:
    """The raw file that a quarantine's id begins like; none for an id of a path, or of several files."""
    objects = supply.store.objects
    for key, size in objects.listing(f"blobs/{id[:2]}"):
        sha256 = key.rpartition("/")[2]
        if sha256.startswith(id):
            return (SourceFile(sha256, sha256, size, str(objects.place(blob_key(sha256)))),)
    return ()
