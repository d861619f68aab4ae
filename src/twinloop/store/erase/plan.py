"""What an erasure takes: whole sessions, recordings of others, raw files that nothing else needs.

A recording is the least that can go: a person's episode cannot be cut out of raw bytes. What other people did
in the same recording goes with it, and is counted so that whoever confirms it knows.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.core.errors import TwinloopError, UnknownNameError, UsageError
from twinloop.core.ids import new_ulid
from twinloop.store.erase.order import Order, Part
from twinloop.store.fsck.sessions import newest_readable
from twinloop.store.liveness import State, session_state
from twinloop.store.registry import FOLDER as REGISTRY
from twinloop.store.writer import now, writer_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from twinloop.core.session import Episode, SessionFacts
    from twinloop.store.manifest import Manifest, RecordingEntry
    from twinloop.store.store import Store


@dataclass(frozen=True, slots=True)
class Going:
    """A recording that goes: of which session, its name, bytes, episodes, and how many of those are others'."""

    session: str
    hash: str
    name: str
    size: int
    episodes: int
    others: int


@dataclass(frozen=True, slots=True)
class Plan:
    """An order that is not given yet, and what a person must see before they confirm it.

    Attributes:
        going: recordings. shared: SHA-256 of raw files that stay, since another session holds them too.
        originals: raw files outside the store, which are not the store's to delete.
        facts: keys of entries of the registry that go.
    """

    order: Order
    going: tuple[Going, ...]
    shared: tuple[str, ...]
    originals: tuple[str, ...]
    facts: tuple[str, ...]


def plan_session(store: Store, session: str, reason: str) -> Plan:
    """The erasure of a session (full id), and of those that were joined into it.

    Raises:
        UsageError: there is no such session, or no reason.
    """
    sessions = _sessions(store)
    if session not in sessions:
        raise UsageError(f"there is no session {session}", fix="see `twinloop ls`")
    whole = [session]
    for id in whole:
        whole += [other for other in sessions[id].absorbed if other in sessions and other not in whole]
    chosen = {id: {entry.hash for entry in sessions[id].recordings} for id in whole}
    return _plan(store, sessions, chosen, set(whole), set(), (), (), reason)


def plan_subject(store: Store, name: str, reason: str) -> Plan:
    """The erasure of all that was recorded of a person: as operator, or as the subject of a consent.

    Raises:
        UnknownNameError: nobody of that name is known here. UsageError: there is no reason.
    """
    sessions = _sessions(store)
    consents = {fact.id for fact in store.registry.all("consents", []) if fact.data.get("subject") == name}
    person = _Person(name, consents)
    chosen: dict[str, set[str]] = {}
    unnamed: set[str] = set()
    for id, manifest in sessions.items():
        hashes = {entry.hash for entry in manifest.recordings if person.is_in(manifest, entry)}
        if person.is_meant(manifest.facts):
            unnamed.add(id)
        if hashes or id in unnamed:
            chosen[id] = hashes
    whole = {id for id, hashes in chosen.items() if hashes >= {entry.hash for entry in sessions[id].recordings}}
    facts = tuple(_facts_of(store, ("operators", {name}), ("consents", consents)))
    history = tuple(_history_of(store, sessions.keys() - whole, person))
    if not (chosen or facts or history):
        known = {m.facts.operator for m in sessions.values()} | {
            e.facts.operator for m in sessions.values() for e in m.episodes
        }
        raise UnknownNameError("person", name, (one for one in known if one))
    return _plan(store, sessions, chosen, whole, unnamed - whole, facts, history, reason, person)


@dataclass(frozen=True, slots=True)
class _Person:
    name: str
    consents: set[str]

    def is_meant(self, facts: SessionFacts) -> bool:
        return facts.operator == self.name or facts.consent in self.consents

    def did(self, manifest: Manifest, episode: Episode) -> bool:
        """Whether an episode is theirs: what it states itself comes before what the session states."""
        operator = episode.facts.operator or manifest.facts.operator
        return operator == self.name or (episode.facts.consent or manifest.facts.consent) in self.consents

    def is_in(self, manifest: Manifest, entry: RecordingEntry) -> bool:
        episodes = [episode for episode in manifest.episodes if episode.recording == entry.hash]
        return any(self.did(manifest, e) for e in episodes) if episodes else self.is_meant(manifest.facts)

    def is_named(self, manifest: Manifest) -> bool:
        return self.is_meant(manifest.facts) or any(self.is_meant(e.facts) for e in manifest.episodes)


def _sessions(store: Store) -> dict[str, Manifest]:
    """The newest manifest of every session that is not erased."""
    found = ((id, newest_readable(store, id)) for id in store.manifests.sessions())
    return {id: manifest for id, manifest in found if manifest and not manifest.erased}


def _facts_of(store: Store, *entries: tuple[str, Iterable[str]]) -> Iterator[str]:
    """The keys of all revisions of entries of the registry."""
    from twinloop.store.objects import encode_name

    for noun, ids in entries:
        for id in sorted(ids):
            yield from store.objects.walk(f"{REGISTRY}/{noun}/{encode_name(id)}")


def _history_of(store: Store, sessions: Iterable[str], person: _Person) -> Iterator[str]:
    """Earlier revisions of sessions that name a person, as before a correction."""
    for session in sorted(sessions):
        revisions = store.manifests.revisions(session)
        for number in revisions.numbers()[:-1]:
            try:
                if person.is_named(store.manifests.get(session, number)):
                    yield revisions.key(number)
            except TwinloopError:
                continue


def _plan(
    store: Store,
    sessions: dict[str, Manifest],
    chosen: dict[str, set[str]],
    whole: set[str],
    unnamed: set[str],
    facts: tuple[str, ...],
    history: tuple[str, ...],
    reason: str,
    person: _Person | None = None,
) -> Plan:
    if not reason.strip():
        raise UsageError("an erasure needs a reason", expected='--reason "asked for on 2026-03-01"')
    kept = [
        entry
        for id, manifest in sessions.items()
        if session_state(manifest, sessions.get) is not State.MERGED
        for entry in manifest.recordings
        if entry.hash not in chosen.get(id, ())
    ]
    kept_files = {file.sha256 for entry in kept for file in entry.files} | _held_in_quarantine(store, chosen)
    gone = {hash for hashes in chosen.values() for hash in hashes} - {entry.hash for entry in kept}
    for id, manifest in sessions.items():  # what a joined session still says of what its new home gave up
        if joined := {entry.hash for entry in manifest.recordings} & gone:
            chosen[id] = chosen.get(id, set()) | joined
    entries = {
        (id, entry.hash): entry
        for id, hashes in chosen.items()
        for entry in sessions[id].recordings
        if entry.hash in hashes
    }
    files = {file.sha256: file for entry in entries.values() for file in entry.files}
    order = Order(
        id=new_ulid(),
        at=now(),
        by=writer_name(),
        reason=reason,
        sessions=tuple(sorted(whole)),
        parts=tuple(
            Part(id, tuple(sorted(hashes)), id in unnamed)
            for id, hashes in sorted(chosen.items())
            if id not in whole
        ),
        recordings=tuple(sorted(gone)),
        files=tuple(sorted(files.keys() - kept_files)),
        episodes=tuple(sorted(_episodes(store, chosen, whole))),
        documents=tuple(hashlib.sha256(store.objects.get(key)).hexdigest() for key in facts),
        manifests=history,
    )
    return Plan(
        order,
        going=tuple(_going(sessions[id], entry, person) for (id, _), entry in entries.items()),
        shared=tuple(sorted(files.keys() & kept_files)),
        originals=tuple(sorted({file.url for file in files.values() if not file.copied})),
        facts=facts,
    )


def _going(manifest: Manifest, entry: RecordingEntry, person: _Person | None) -> Going:
    episodes = [episode for episode in manifest.episodes if episode.recording == entry.hash]
    others = sum(not person.did(manifest, episode) for episode in episodes) if person else 0
    return Going(manifest.session, entry.hash, entry.name, entry.size, len(episodes), others)


def _held_in_quarantine(store: Store, chosen: dict[str, set[str]]) -> set[str]:
    """Raw files that something else in quarantine holds, too."""
    going = {hash for hashes in chosen.values() for hash in hashes}
    reasons = [r for r in store.quarantine.all() if r.hash not in going and r.session not in chosen]
    return {file.sha256 for reason in reasons for file in reason.files}


def _episodes(store: Store, chosen: dict[str, set[str]], whole: set[str]) -> Iterator[str]:
    """The ids of all episodes that go, of every revision; those that went to another session stay."""
    staying = {
        episode.id
        for id, manifest in _sessions(store).items()
        if id not in whole
        for episode in manifest.episodes
        if episode.recording not in chosen.get(id, ())
    }
    found: set[str] = set()
    for id, hashes in chosen.items():
        for number in store.manifests.revisions(id).numbers():
            try:
                manifest = store.manifests.get(id, number)
            except TwinloopError:
                continue
            found |= {e.id for e in manifest.episodes if id in whole or e.recording in hashes}
    yield from found - staying
