"""Manifests that are lost: restored from a mirror, or replaced by what held before and what raw files tell."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from twinloop.core.errors import TwinloopError
from twinloop.core.session import SessionFacts
from twinloop.store.blobs import blob_key
from twinloop.store.claims import all_claims
from twinloop.store.fsck.sessions import is_manifest, newest_readable
from twinloop.store.losses import Loss, admit, lost_documents
from twinloop.store.manifest import SESSIONS, Manifest, encode_manifest
from twinloop.store.mending.documents import from_mirror
from twinloop.store.revisions import numbers_among
from twinloop.store.sources import IngestOptions
from twinloop.store.transfer import move_aside
from twinloop.store.writer import now, writer_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from twinloop.store.fsck.memory import Memory
    from twinloop.store.fsck.trouble import Trouble
    from twinloop.store.mending.supply import Supply


def mend_histories(supply: Supply, damage: Sequence[Trouble], memory: Memory) -> Iterator[tuple[str, str]]:
    """(key, how) of each manifest, and of each recording that only a lost one named."""
    keys = [trouble.key for trouble in damage if is_manifest(trouble.key)]
    keys += [
        f"{trouble.key}/manifest-{number}.json"
        for trouble in damage
        if trouble.key == f"{SESSIONS}/{trouble.session}"
        for number in _numbers_in_mirror(supply, trouble.session)
    ]
    bereft: set[str] = set()
    for key in dict.fromkeys(keys):
        if done := from_mirror(supply, key, Manifest):
            yield key, done
            continue
        aside = move_aside(supply.store.objects, key, supply.staging)
        admit(supply.store.objects, Loss(key, "a revision of a manifest", aside=aside))
        bereft.add(key.split("/")[1])
        yield key, "it is on record as lost; what was before it holds"
    for session in sorted(bereft):
        _stand_in(supply, session, memory.facts.get(session, SessionFacts()))
        yield from _take_in_again(supply, session, memory)


def _numbers_in_mirror(supply: Supply, session: str) -> list[int]:
    return supply.mirror.manifests.revisions(session).numbers() if supply.mirror else []


def _stand_in(supply: Supply, session: str, facts: SessionFacts) -> None:
    """Let what was before lost revisions hold, under a number of its own: theirs are not given again."""
    store = supply.store
    lost = numbers_among(
        (key.rpartition("/")[2] for key in lost_documents(store.objects) if f"/{session}/" in key), "manifest-"
    )
    revisions = store.manifests.revisions(session)
    if revisions.latest() > max(lost, default=0):
        return
    before = newest_readable(store, session) or Manifest(session, facts=facts)
    number = max(lost, default=0) + 1
    stand_in = replace(before, revision=number, why="stands in for lost revisions", at=now(), by=writer_name())
    revisions.commit(number, encode_manifest(stand_in))


def _take_in_again(supply: Supply, session: str, memory: Memory) -> Iterator[tuple[str, str]]:
    """Take in what claims say was on its way into the session, and no manifest names now."""
    from twinloop.store.ingest import ingest

    store = supply.store
    store.catalog.sync()
    named = {
        entry.hash
        for other in store.manifests.sessions()
        if (last := newest_readable(store, other))
        for entry in last.recordings
    }
    claimed = {held.hash for held in all_claims(store.objects) if held.session == session}
    for hash in sorted(claimed - named):
        if not store.objects.exists(blob_key(hash)):
            continue  # of several files whose names went with the manifest
        folder = supply.staging / "again" / hash
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / memory.names.get(hash, hash)
        with store.objects.open(blob_key(hash)) as reader, path.open("wb") as writer:
            shutil.copyfileobj(reader, writer, 1 << 20)
        outcome = ingest(store, path, IngestOptions())
        if outcome.session == session:
            _name_episodes(supply, session, hash, memory.episodes.get(hash, ()))
            yield blob_key(hash), f"taken in again, as {path.name} of session {session}"


def _name_episodes(supply: Supply, session: str, hash: str, ids: tuple[str, ...]) -> None:
    """Let episodes have the ids that they had, so that what people said of them holds."""

    def edit(current: Manifest) -> Manifest | None:
        own = [episode for episode in current.episodes if episode.recording == hash]
        if len(own) != len(ids):
            return None
        names = dict(zip((episode.id for episode in own), ids, strict=True))
        return replace(
            current,
            episodes=tuple(replace(e, id=names.get(e.id, e.id)) for e in current.episodes),
            recordings=tuple(
                replace(r, episodes=tuple(names.get(id, id) for id in r.episodes)) for r in current.recordings
            ),
        )

    with suppress(TwinloopError):
        supply.store.manifests.change(session, "episodes by their known ids", edit)
