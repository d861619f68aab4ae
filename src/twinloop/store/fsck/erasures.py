"""Erasures: finished, here and in every mirror; and nothing that was erased is still there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.errors import TwinloopError
from twinloop.store.blobs import blob_key
from twinloop.store.erase.order import FOLDER, Order, has_reached, is_done, order_ids
from twinloop.store.fsck.sessions import is_manifest, newest_readable
from twinloop.store.fsck.statements import unreadable
from twinloop.store.fsck.trouble import FROM_MIRROR, MEND, RESUME, Harm, Trouble
from twinloop.store.manifest import SESSIONS
from twinloop.store.mirror.remembered import mirrors
from twinloop.store.tombstones import Tombstone, tombstone_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.store.fsck.trouble import Examination

_STILL = "it was erased and is still there"


def erasures(examination: Examination) -> Iterator[Trouble]:
    """Erasures that are not finished, and damage to what is known of them."""
    objects = examination.store.objects
    for hash in sorted(examination.erased):
        if what := unreadable(objects, tombstone_key(hash), Tombstone):
            yield Trouble(Harm.DAMAGE, tombstone_key(hash), what, f"{MEND}; it refuses all the same")
    remembered = []
    try:
        remembered = mirrors(objects)
    except TwinloopError as error:
        yield Trouble(Harm.DAMAGE, str(error.where), error.what, str(error.fix))
    for id in order_ids(objects):
        key = f"{FOLDER}/{id}/order.json"
        if what := unreadable(objects, key, Order):
            yield Trouble(Harm.DAMAGE, key, what, FROM_MIRROR)
        elif not is_done(objects, id):
            yield Trouble(Harm.DAMAGE, f"{FOLDER}/{id}", "an erasure is not finished", RESUME)
        else:
            for mirror in remembered:
                if not mirror.forgotten and not has_reached(objects, id, mirror.id):
                    yield Trouble(
                        Harm.DAMAGE, f"{FOLDER}/{id}", f"it has not reached the mirror {mirror.url}", RESUME
                    )
    yield from _still_there(examination)


def _still_there(examination: Examination) -> Iterator[Trouble]:
    store = examination.store
    for hash in sorted(examination.erased):
        if len(hash) == 64 and store.objects.exists(blob_key(hash)):
            yield Trouble(Harm.DAMAGE, blob_key(hash), _STILL, RESUME)
    for session in store.manifests.sessions():
        last = newest_readable(store, session)
        if session in examination.erased:
            revisions = store.manifests.revisions(session).numbers()
            if last is None or not last.erased or len(revisions) > 1:
                yield Trouble(Harm.DAMAGE, f"{SESSIONS}/{session}", _STILL, RESUME, session)
            elif any(not is_manifest(key) for key, _ in store.objects.listing(f"{SESSIONS}/{session}")):
                yield from _artefacts(examination, session)
        elif last:
            for entry in last.recordings:
                if entry.hash in examination.erased:
                    yield Trouble(
                        Harm.DAMAGE,
                        f"{SESSIONS}/{session}",
                        f"{entry.name}: {_STILL}",
                        RESUME,
                        session,
                        entry.hash,
                    )


def _artefacts(examination: Examination, session: str) -> Iterator[Trouble]:
    """Files in the folder of an erased session that no other session took with it in a split."""
    store = examination.store
    kept = {
        artefact.key
        for other in store.manifests.sessions()
        if (last := newest_readable(store, other))
        for artefact in last.artefacts()
    }
    for key, _ in store.objects.listing(f"{SESSIONS}/{session}"):
        if not is_manifest(key) and key not in kept:
            yield Trouble(Harm.DAMAGE, key, _STILL, RESUME, session)
