"""The mirrors of a store, remembered where they were made from, so that an erasure reaches them.

``mirrors/<id>/<n>.json`` is what one run noted: before its first byte, and when it was done.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from twinloop.core.errors import StoreError
from twinloop.store.revisions import Revisions
from twinloop.store.writer import now, writer_name

if TYPE_CHECKING:
    from twinloop.store.objects import Objects

FOLDER = "mirrors"


@dataclass(frozen=True, slots=True)
class Mirror:
    """A mirror: `id` is of its URL; `finished` is when a run last copied all there was, None: never yet."""

    id: str
    url: str
    at: str
    by: str
    finished: str | None = None


def mirror_id(url: str) -> str:
    """The id of the mirror at a URL: 16 hex digits."""
    return hashlib.sha256(url.encode(errors="surrogateescape")).hexdigest()[:16]


def remember(objects: Objects, url: str, *, finished: bool) -> Mirror:
    """Note a run: that it begins, or that it is done. A beginning is noted for a new mirror only."""
    id = mirror_id(url)
    revisions = _revisions(objects, id)
    while True:
        number = revisions.latest()
        if number and not finished:
            return _read(objects, id)
        mirror = Mirror(id, url, now(), writer_name(), now() if finished else None)
        if revisions.commit(number + 1, msgspec.json.format(msgspec.json.encode(mirror), indent=1) + b"\n"):
            return mirror


def mirrors(objects: Objects) -> list[Mirror]:
    """All mirrors that were ever begun.

    Raises:
        StoreError: what is remembered of one is damaged.
    """
    return [_read(objects, id) for id in objects.children(FOLDER) if _revisions(objects, id).latest()]


def _read(objects: Objects, id: str) -> Mirror:
    """The newest note on a mirror that can be read."""
    revisions = _revisions(objects, id)
    for number in reversed(revisions.numbers()):
        try:
            return msgspec.json.decode(revisions.get(number), type=Mirror)
        except msgspec.MsgspecError:
            continue
    raise StoreError(
        "what is remembered of a mirror does not parse",
        where=f"{FOLDER}/{id}",
        fix="run `twinloop mirror` to it again",
    )


def _revisions(objects: Objects, id: str) -> Revisions:
    return Revisions(objects, f"{FOLDER}/{id}")
