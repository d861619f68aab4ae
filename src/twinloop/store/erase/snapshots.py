"""Snapshots that held what was erased: a note beside them says that they are withdrawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from twinloop.store.writer import now

if TYPE_CHECKING:
    from twinloop.store.erase.order import Order
    from twinloop.store.objects import Objects

FOLDER = "snapshots"
_NOTE = ".withdrawn.json"


def withdraw(objects: Objects, order: Order) -> list[str]:
    """Withdraw the snapshots that name anything which an order takes; their keys.

    A snapshot is a JSON document that names sessions, episodes and content by id and hash.
    """
    wanted = [id.encode() for id in (*order.sessions, *order.recordings, *order.files, *order.episodes)]
    found = []
    for key in list(objects.walk(FOLDER)):
        if not key.endswith(".json") or key.endswith(_NOTE):
            continue
        data = objects.get(key)
        if any(id in data for id in wanted):
            note = {"snapshot": key, "erasure": order.id, "at": now(), "reason": order.reason}
            objects.put(key.removesuffix(".json") + _NOTE, msgspec.json.encode(note) + b"\n")
            found.append(key)
    return found


def is_withdrawn(objects: Objects, key: str) -> bool:
    """Whether a snapshot may not be used any more."""
    return objects.exists(key.removesuffix(".json") + _NOTE)
