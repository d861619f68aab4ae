"""The revisions of every session's manifest: each there, each whole, none newer known to be gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.errors import TwinloopError
from twinloop.store.erase.order import orders, worklists
from twinloop.store.fsck.trouble import FROM_MIRROR, Harm, Trouble
from twinloop.store.manifest import SESSIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.store.fsck.trouble import Examination
    from twinloop.store.store import Store

_HOLDS = f"{FROM_MIRROR}; without a mirror, what was before it holds then"


def histories(examination: Examination) -> Iterator[Trouble]:
    """Manifests that are gone or damaged, and strangers among the sessions."""
    store = examination.store
    accounted = examination.lost | taken_manifests(store)
    newest = examination.memory.revisions
    known = store.manifests.sessions()
    for session in sorted({*known, *newest}):
        yield from _history(examination, session, accounted, newest.get(session, 0))
    for name in sorted(set(store.objects.children(SESSIONS)) - set(known)):
        yield Trouble(Harm.LEFTOVER, f"{SESSIONS}/{name}", "no session has such an id", "harmless")


def _history(
    examination: Examination, session: str, accounted: frozenset[str], newest: int
) -> Iterator[Trouble]:
    store = examination.store
    revisions = store.manifests.revisions(session)
    numbers = revisions.numbers()
    for number in range(1, max([newest, *numbers]) + 1):
        key = revisions.key(number)
        if number not in numbers:
            if key not in accounted and session not in examination.erased:
                examination.unread = True
                yield Trouble(Harm.DAMAGE, key, "this revision of the manifest is missing", _HOLDS, session)
            continue
        try:
            manifest = store.manifests.get(session, number)
        except TwinloopError as error:
            examination.unread = True
            yield Trouble(Harm.DAMAGE, key, error.what, _HOLDS, session)
            continue
        if (manifest.session, manifest.revision) != (session, number):
            yield Trouble(
                Harm.DAMAGE, key, f"it says it is {manifest.session}, {manifest.revision}", _HOLDS, session
            )
            continue
        examination.episodes |= {episode.id for episode in manifest.episodes}
        examination.lent |= {a.key for a in manifest.artefacts() if a.key.split("/")[1] != session}
        examination.wanted |= {f.sha256 for entry in manifest.recordings for f in entry.files if f.copied}


def taken_manifests(store: Store) -> frozenset[str]:
    """The keys of manifests that erasures took away."""
    try:
        ids = [order.id for order in orders(store.objects)]
    except TwinloopError:
        ids = list(store.objects.children("erasures"))
    return frozenset(key for id in ids for work in worklists(store.objects, id) for key in work.manifests)
