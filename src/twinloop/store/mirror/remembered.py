"""The mirrors of a store, remembered where they were made from, so that an erasure reaches them.

``mirrors/<id>/<n>.json`` is what one run noted: before its first byte, and when it was done.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from twinloop.core.errors import StoreError, UnknownNameError
from twinloop.store.revisions import Revisions
from twinloop.store.writer import now, writer_name

if TYPE_CHECKING:
    from twinloop.store.objects import Objects

FOLDER = "mirrors"


@dataclass(frozen=True, slots=True)
class Mirror:
    """A mirror.

    Attributes:
        id: of its URL. at, by: of this note. finished: when a run last copied all there was; None: never yet.
        forgotten: whether someone said that it is gone for good, so that no erasure waits for it.
    """

    id: str
    url: str
    at: str
    by: str
    finished: str | None = None
    forgotten: bool = False


def mirror_id(url: str) -> str:
    """The id of the mirror at a URL: 16 hex digits."""
    return hashlib.sha256(url.encode(errors="surrogateescape")).hexdigest()[:16]


def remember(objects: Objects, url: str, *, finished: bool) -> Mirror:
    """Note a run: that it begins, or that it is done. A beginning is noted for a new mirror only."""
    id = mirror_id(url)
    revisions = _revisions(objects, id)
    while True:
        number = revisions.latest()
        known = _read(objects, id) if number else None
        if known and not known.forgotten and not finished:
            return known
        mirror = Mirror(id, url, now(), writer_name(), now() if finished else None)
        if revisions.commit(number + 1, _encode(mirror)):
            return mirror


def forget(objects: Objects, url: str) -> Mirror:
    """Note that a mirror is gone for good.

    Raises:
        UnknownNameError: none is remembered there.
    """
    known = {mirror.url: mirror for mirror in mirrors(objects)}
    if url not in known:
        raise UnknownNameError("mirror", url, known)
    mirror = replace(known[url], at=now(), by=writer_name(), forgotten=True)
    revisions = _revisions(objects, mirror.id)
    while not revisions.commit(revisions.latest() + 1, _encode(mirror)):
        pass
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


def _encode(mirror: Mirror) -> bytes:
    return msgspec.json.format(msgspec.json.encode(mirror), indent=1) + b"\n"


def _revisions(objects: Objects, id: str) -> Revisions:
    return Revisions(objects, f"{FOLDER}/{id}")
