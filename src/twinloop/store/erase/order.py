"""What an erasure is to do, and how far it has come: facts in ``erasures/<id>/``.

``order.json`` says what goes, by ids and hashes alone: it stays for good, so no name may be in it.
``worklist-<n>.json`` is what one run was about to take away that nothing names afterwards. ``done.json``
stands when all is gone from this store, ``reached-<mirror>.json`` when it is gone from that mirror too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from twinloop.core.errors import StoreError
from twinloop.store.revisions import Revisions
from twinloop.store.sealed import seal, unseal
from twinloop.store.tombstones import Tombstone, bury
from twinloop.store.writer import now

if TYPE_CHECKING:
    from twinloop.store.objects import Objects

FOLDER = "erasures"


@dataclass(frozen=True, slots=True)
class Part:
    """Recordings (by hash) that go from a session which stays. `unnamed`: its operator and consent go too."""

    session: str
    recordings: tuple[str, ...]
    unnamed: bool = False


@dataclass(frozen=True, slots=True)
class Order:
    """One erasure.

    Attributes:
        sessions: ids of those that go whole. parts: what goes from others.
        recordings: hashes of those that no session keeps. files: of raw files that nothing else needs.
        episodes: ids of all that go. documents: SHA-256 of entries of the registry that go.
        manifests: keys of earlier revisions that go from sessions which stay, for what they say.
    """

    id: str
    at: str
    by: str
    reason: str
    sessions: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    recordings: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    episodes: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    manifests: tuple[str, ...] = ()

    @property
    def hashes(self) -> tuple[str, ...]:
        """All that a tombstone stands for."""
        return (*self.sessions, *self.recordings, *self.files, *self.documents)


@dataclass(frozen=True, slots=True)
class Redaction:
    """A line of a journal that is written over: where it begins, and what stands there afterwards."""

    key: str
    offset: int
    line: str


@dataclass(frozen=True, slots=True)
class Worklist:
    """What a run takes away: keys of manifests, and texts in journals."""

    manifests: tuple[str, ...] = ()
    redactions: tuple[Redaction, ...] = ()


def place(objects: Objects, order: Order) -> None:
    """Give the order. From here on every run of an erasure finishes it."""
    objects.put(f"{FOLDER}/{order.id}/order.json", _encode(order))


def bury_all(objects: Objects, order: Order) -> None:
    """Put up the tombstones of an order."""
    for hash in order.hashes:
        bury(objects, Tombstone(hash, order.at, order.by, order.reason, order.id))


def orders(objects: Objects) -> list[Order]:
    """All orders, oldest first.

    Raises:
        StoreError: one is damaged.
    """
    return [read_order(objects, id) for id in order_ids(objects)]


def order_ids(objects: Objects) -> list[str]:
    """The ids of all erasures."""
    return [id for id in objects.children(FOLDER) if objects.exists(f"{FOLDER}/{id}/order.json")]


def read_order(objects: Objects, id: str) -> Order:
    """One order.

    Raises:
        StoreError: it is missing or damaged.
    """
    key = f"{FOLDER}/{id}/order.json"
    try:
        return unseal(objects.get(key), Order)
    except msgspec.MsgspecError as error:
        raise StoreError(
            f"the order of an erasure does not parse: {error}",
            where=key,
            fix="twinloop store fsck --repair --from MIRROR",
        ) from None


def add_worklist(objects: Objects, id: str, work: Worklist) -> None:
    """Put on record what is taken away next."""
    revisions = _worklists(objects, id)
    while not revisions.commit(revisions.latest() + 1, _encode(work)):
        pass


def worklists(objects: Objects, id: str) -> list[Worklist]:
    """What all runs took away, or were about to; a damaged list says nothing."""
    revisions = _worklists(objects, id)
    found = []
    for number in revisions.numbers():
        try:
            found.append(msgspec.json.decode(revisions.get(number), type=Worklist))
        except msgspec.MsgspecError:
            continue
    return found


def finish(objects: Objects, id: str) -> None:
    """Note that nothing is left of it in this store."""
    objects.put(f"{FOLDER}/{id}/done.json", _stamp())


def is_done(objects: Objects, id: str) -> bool:
    """Whether nothing is left of it in this store."""
    return objects.exists(f"{FOLDER}/{id}/done.json")


def done_ids(objects: Objects) -> frozenset[str]:
    """The ids of all erasures of which nothing is left in this store."""
    return frozenset(id for id, names in objects.folders(FOLDER).items() if "done.json" in names)


def reach(objects: Objects, id: str, mirror: str) -> None:
    """Note that nothing is left of it in a mirror either."""
    objects.put(f"{FOLDER}/{id}/reached-{mirror}.json", _stamp())


def has_reached(objects: Objects, id: str, mirror: str) -> bool:
    """Whether nothing is left of it in a mirror."""
    return objects.exists(f"{FOLDER}/{id}/reached-{mirror}.json")


def _worklists(objects: Objects, id: str) -> Revisions:
    return Revisions(objects, f"{FOLDER}/{id}", "worklist-")


def _encode(document: Order | Worklist) -> bytes:
    return seal(document)


def _stamp() -> bytes:
    return msgspec.json.encode({"at": now()}) + b"\n"
