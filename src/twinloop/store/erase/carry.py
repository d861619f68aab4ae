"""Carrying an order out in one store. Any step may die anywhere; the same order carried out again finishes it.

The order of the steps: tombstones first, so that nothing comes in again. Then every session gives up what goes
by a new revision of its manifest, so that no reader is sent to bytes that are about to vanish. Then artefacts
and raw files, while the earlier revisions still say which; what nothing names afterwards is put on a worklist
before it goes. Then those revisions, quarantine, registry, the words in the journal, and the catalog, which
is made anew. Last the note that it is done.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from twinloop.core.errors import TwinloopError
from twinloop.store.blobs import blob_key
from twinloop.store.erase.journal import redact, redactions
from twinloop.store.erase.order import Worklist, add_worklist, bury_all, finish, place, worklists
from twinloop.store.erase.snapshots import withdraw
from twinloop.store.fsck.sessions import is_manifest, newest_readable
from twinloop.store.inbox.parcel import PARCELS, PARTS
from twinloop.store.manifest import SESSIONS, Manifest, encode_manifest
from twinloop.store.quarantine import FOLDER as QUARANTINE
from twinloop.store.quarantine import Reason
from twinloop.store.registry import FOLDER as REGISTRY
from twinloop.store.sealed import unseal
from twinloop.store.staging import clean
from twinloop.store.transfer import asides

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from twinloop.store.erase.order import Order
    from twinloop.store.store import Store


def carry_out(store: Store, order: Order, progress: Callable[[str], None] | None = None) -> None:
    """Do all that an order says, in this store."""
    _Erasing(store, order, progress or (lambda _: None)).run()


class _Erasing:
    def __init__(self, store: Store, order: Order, progress: Callable[[str], None]) -> None:
        self.store = store
        self.order = order
        self.progress = progress
        self.whole = frozenset(order.sessions)
        self.recordings = frozenset(order.recordings)
        self.episodes = frozenset(order.episodes)
        self.parts = {part.session: part for part in order.parts}

    def run(self) -> None:
        objects = self.store.objects
        place(objects, self.order)
        bury_all(objects, self.order)
        clean(self.store.work)
        for session in self.store.manifests.sessions():
            self._give_up(session)
        history = list(self._history())
        lines = tuple(redactions(self.store, self.episodes))
        if history or lines:
            add_worklist(objects, self.order.id, Worklist(tuple(key for key, _ in history), lines))
        kept, kept_blobs = self._kept()
        for _, manifest in history:
            for artefact in manifest.artefacts() if manifest else ():
                if artefact.key not in kept:
                    self._remove(artefact.key)
        for session in self.order.sessions:
            for key in list(objects.walk(f"{SESSIONS}/{session}")):
                if key not in kept and not is_manifest(key):
                    self._remove(key)
        for sha256 in self.order.files:
            if sha256 not in kept_blobs:
                self._remove(blob_key(sha256))
        for key, _ in history:
            self._remove(key)
        self._quarantine(kept_blobs)
        self._inbox(kept_blobs)
        self._registry()
        for work in worklists(objects, self.order.id):
            for redaction in work.redactions:
                if objects.exists(redaction.key):
                    redact(objects, redaction)
        withdraw(objects, self.order)
        self.store.catalog.rebuild(ending=self.order.id)
        finish(objects, self.order.id)

    def _give_up(self, session: str) -> None:
        """Commit a revision without what goes."""
        current = newest_readable(self.store, session)
        revisions = self.store.manifests.revisions(session)
        while session in self.whole and not (current and current.erased):
            current = current or Manifest(session)
            number = revisions.latest() + 1
            left = Manifest(
                session,
                revision=number,
                why="erased",
                at=self.order.at,
                by=self.order.by,
                merged_into=current.merged_into,
                absorbed=current.absorbed,
                split_from=current.split_from,
                split_into=current.split_into,
                erased=self.order.id,
            )
            if not revisions.commit(number, encode_manifest(left)):
                current = newest_readable(self.store, session)
                continue
            return
        if session not in self.whole and current and self._without(current) is not None:
            self.store.manifests.change(session, "a part of it was erased", self._without)

    def _without(self, manifest: Manifest) -> Manifest | None:
        """A manifest without what goes; None if nothing does."""
        part = self.parts.get(manifest.session)
        going = self.recordings | frozenset(part.recordings if part else ())
        unnamed = replace(manifest.facts, operator=None, consent=None)
        left = replace(
            manifest,
            facts=unnamed if part and part.unnamed else manifest.facts,
            recordings=tuple(r for r in manifest.recordings if r.hash not in going),
            episodes=tuple(e for e in manifest.episodes if e.recording not in going),
        )
        return None if left == manifest else left

    def _history(self) -> Iterator[tuple[str, Manifest | None]]:
        """Revisions that go: (key, what stands there if it can be read)."""
        for session in self.store.manifests.sessions():
            revisions = self.store.manifests.revisions(session)
            for number in revisions.numbers()[:-1]:
                key = revisions.key(number)
                try:
                    manifest = self.store.manifests.get(session, number)
                except TwinloopError:
                    manifest = None
                if session in self.whole or key in self.order.manifests or (manifest and self._names(manifest)):
                    yield key, manifest

    def _names(self, manifest: Manifest) -> bool:
        """Whether a revision of a session that stays speaks of what goes."""
        part = self.parts.get(manifest.session)
        going = self.recordings | frozenset(part.recordings if part else ())
        return (
            any(entry.hash in going for entry in manifest.recordings)
            or any(episode.id in self.episodes for episode in manifest.episodes)
            or bool(part and part.unnamed and (manifest.facts.operator or manifest.facts.consent))
        )

    def _kept(self) -> tuple[set[str], set[str]]:
        """The artefacts and the raw files that sessions still name."""
        artefacts: set[str] = set()
        blobs: set[str] = set()
        for session in self.store.manifests.sessions():
            if (manifest := newest_readable(self.store, session)) and not manifest.erased:
                artefacts |= {artefact.key for artefact in manifest.artefacts()}
                blobs |= {file.sha256 for entry in manifest.recordings for file in entry.files}
        return artefacts, blobs

    def _quarantine(self, kept_blobs: set[str]) -> None:
        objects = self.store.objects
        gone = {*self.recordings, *self.order.files} - kept_blobs
        for id in objects.children(QUARANTINE):
            keys = [] if id == "damaged" else list(objects.walk(f"{QUARANTINE}/{id}"))
            if any(hash[:16] == id for hash in gone) or any(self._is_about(key, gone) for key in keys):
                for key in keys:
                    self._remove(key)

    def _inbox(self, kept_blobs: set[str]) -> None:
        """What a robot sends of it once more. Receipts stay: they tell the robot that it may remove its own."""
        objects = self.store.objects
        for sha256 in self.order.files:
            for key in list(objects.walk(f"{PARTS}/{sha256}")) if sha256 not in kept_blobs else ():
                self._remove(key)
        for key in list(objects.walk(PARCELS)):
            if any(key.endswith(f"-{hash[:16]}.json") for hash in self.recordings):
                self._remove(key)

    def _is_about(self, key: str, gone: set[str]) -> bool:
        try:
            reason = unseal(self.store.objects.get(key), Reason)
        except (msgspec.MsgspecError, TwinloopError):
            return False
        hashes = {reason.hash, *(file.sha256 for file in reason.files)}
        return reason.session in self.whole or bool(hashes & gone)

    def _registry(self) -> None:
        documents = frozenset(self.order.documents)
        for key in list(self.store.objects.walk(REGISTRY)) if documents else ():
            if hashlib.sha256(self.store.objects.get(key)).hexdigest() in documents:
                self._remove(key)

    def _remove(self, key: str) -> None:
        """Delete a key, and what was moved aside from it."""
        self.progress(key)
        for aside in asides(self.store.objects, key):
            self.store.objects.delete(aside)
        self.store.objects.delete(key)
