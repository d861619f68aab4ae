"""Taking leftovers away: work of dead processes, artefacts and blobs that nothing names, parts never finished.

What an ingest is about to name must stay. Four things see to that. Only what is older than the grace period
goes. What a young claim names stays: every attempt renews its claim before it relies on a byte that is there.
What a live process of this machine works on stays, as its workspace lock tells, and all stays while it is
not known what that is. And before each few deletions the locks, and then the manifests, are looked at again,
in this order: an ingest that is done by then has its manifest, one that is not has its lock. An ingest looks
for its blobs once more behind its commit.

A store that is damaged keeps its leftovers: a manifest that cannot be read may have named them. Old revisions
of manifests stay, and so does what they name.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from twinloop.core.errors import TwinloopError, UsageError
from twinloop.store.blobs import blob_key
from twinloop.store.claims import all_claims, read_claim
from twinloop.store.fsck.history import histories
from twinloop.store.fsck.memory import Memory
from twinloop.store.fsck.sessions import is_manifest, named_anywhere
from twinloop.store.fsck.statements import statements
from twinloop.store.fsck.trouble import Examination
from twinloop.store.inbox.parcel import PARCELS, PARTS, parcel_keys, read_parcel
from twinloop.store.losses import losses
from twinloop.store.manifest import SESSIONS
from twinloop.store.quarantine import FOLDER as QUARANTINE
from twinloop.store.staging import STAGING, clean, leftovers, try_lock, workspace
from twinloop.store.writer import seconds_since

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from twinloop.store.store import Store

DAY_S = 86_400.0
_BATCH = 16


@dataclass(frozen=True, slots=True)
class Leftover:
    """Something that nothing needs: its key (or its name in the work folder), bytes, and why it is one."""

    key: str
    size: int
    why: str


@dataclass(frozen=True, slots=True)
class Collection:
    """What was taken away (or would be), and what was left and why."""

    taken: tuple[Leftover, ...]
    left: tuple[str, ...]

    @property
    def size(self) -> int:
        """Bytes of all that was taken away."""
        return sum(leftover.size for leftover in self.taken)


def collect(
    store: Store,
    *,
    grace_s: float = DAY_S,
    dry_run: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Collection:
    """Take away what nothing needs and is older than `grace_s` seconds. `dry_run`: only say so.

    Raises:
        UsageError: the grace period is negative.
    """
    if grace_s < 0:
        raise UsageError(f"the grace period is {grace_s} s", expected="0 or more")
    tell = progress or (lambda _: None)
    taken = [
        Leftover(str(path.relative_to(store.work)), _size(path), "work of a dead process")
        for path in leftovers(store.work)
    ]
    if not dry_run:
        clean(store.work)
    left: list[str] = []
    with workspace(store.work, "gc"):
        orphans = sorted(_orphans(store, grace_s, left, tell), key=lambda orphan: orphan.key)
        named: _References | None = None
        for start in range(0, len(orphans), _BATCH):
            spared = _Spared(store, grace_s)
            if named is None or not named.hold():
                named = _References(store)
            for orphan in orphans[start : start + _BATCH]:
                if orphan.key in named or spared.names(orphan.key):
                    left.append(f"{orphan.key}: in use")
                    continue
                if not dry_run:
                    tell(orphan.key)
                    store.objects.delete(orphan.key)
                taken.append(orphan)
    return Collection(tuple(taken), tuple(left))


def _orphans(store: Store, grace_s: float, left: list[str], tell: Callable[[str], None]) -> Iterator[Leftover]:
    """What nothing names and is old enough. Listed first, judged by manifests that are read afterwards."""
    listed = list(store.objects.listing("blobs"))
    folders = {id: list(store.objects.listing(f"{SESSIONS}/{id}")) for id in store.manifests.sessions()}
    named = _References(store)
    if named.unread:
        left.append(
            "blobs and artefacts: a manifest or reason is damaged that may name them; `twinloop store fsck`"
        )
        return
    for key, size in listed:
        if key not in named:
            blob = Leftover(key, size, "no session and no quarantine knows it")
            if seconds_since(named.lost_at) < time.time() - store.objects.modified(key):
                left.append(f"{key}: a manifest that was lost may have named it")
            else:
                yield from _if_old(store, blob, grace_s, left)
    for files in folders.values():
        for key, size in files:
            tell(key)
            if not is_manifest(key) and key not in named:
                yield from _if_old(store, Leftover(key, size, "no manifest names it"), grace_s, left)
    yield from _abandoned_parts(store, named, grace_s, left)


def _abandoned_parts(store: Store, named: _References, grace_s: float, left: list[str]) -> Iterator[Leftover]:
    """Parts in the inbox of files that no envelope names, and of which none came for as long as the grace."""
    files: dict[str, list[tuple[str, int]]] = {}
    for key, size in store.objects.listing(PARTS):
        files.setdefault(key.split("/")[2], []).append((key, size))
    for sha256, parts in files.items():
        if parts[0][0] in named:
            continue
        with suppress(TwinloopError):  # it went meanwhile
            last = max(store.objects.modified(key) for key, _ in parts)
            if time.time() - last >= grace_s:
                yield from (Leftover(key, size, "its sender never finished") for key, size in parts)
            else:
                left.append(f"{PARTS}/{sha256}: younger than the grace period")


def _if_old(store: Store, orphan: Leftover, grace_s: float, left: list[str]) -> Iterator[Leftover]:
    with suppress(TwinloopError):  # it went meanwhile
        if time.time() - store.objects.modified(orphan.key) >= grace_s:
            yield orphan
        else:
            left.append(f"{orphan.key}: younger than the grace period")


class _References:
    """The keys that manifests, quarantine and envelopes name, read when this is made."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._state = self._look()
        self._looked = Examination(store, True, lambda _: None, Memory())
        for _ in histories(self._looked):
            pass
        for _ in statements(self._looked):
            pass
        self.unread = self._looked.unread
        #: When the last manifest was admitted to be lost; "" for none.
        self.lost_at = max(
            (loss.at for loss in losses(store.objects) if loss.key.startswith((SESSIONS, QUARANTINE))),
            default="",
        )
        self._artefacts: dict[str, set[str]] = {}
        self._sent, self._sent_is_known = self._read_envelopes()

    def hold(self) -> bool:
        """Whether nothing was committed since they were read."""
        return self._state == self._look()

    def _look(self) -> tuple[object, ...]:
        objects = self._store.objects
        return (
            self._store.manifests.latest_revisions(),
            list(objects.walk(QUARANTINE)),
            list(objects.walk(PARCELS)),
        )

    def _read_envelopes(self) -> tuple[set[str], bool]:
        """The files that envelopes in the inbox name; whether all envelopes could be read."""
        sent: set[str] = set()
        for key, _ in parcel_keys(self._store.objects):
            try:
                sent |= {file.sha256 for file in read_parcel(self._store.objects, key).files}
            except TwinloopError:
                return sent, False
        return sent, True

    def __contains__(self, key: str) -> bool:
        if key.startswith("blobs/"):
            return key.rpartition("/")[2] in self._looked.wanted
        if key.startswith(PARTS):
            return not self._sent_is_known or key.split("/")[2] in self._sent
        session = key.split("/")[1]
        if session not in self._artefacts:
            self._artefacts[session] = named_anywhere(self._store, session)
        return key in self._artefacts[session] or key in self._looked.lent


@dataclass
class _Spared:
    """What running ingests are about to name: by live locks here, by young claims anywhere."""

    store: Store
    grace_s: float
    everything: bool = False
    keys: set[str] = field(default_factory=set)
    sessions: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for name in live_workspaces(self.store.work):
            claim = read_claim(self.store.objects, name[:64]) if len(name) >= 64 else None
            if claim is None or not claim.files:
                self.everything = True
            else:
                self._spare(claim.session, (claim.hash, *claim.files))
        young_s = max(self.grace_s, DAY_S) if self.store.objects.shared else self.grace_s
        for claim in all_claims(self.store.objects):
            if seconds_since(claim.at) < young_s:
                self._spare(claim.session, (claim.hash, *claim.files))

    def _spare(self, session: str, files: tuple[str, ...]) -> None:
        self.sessions.add(session)
        self.keys |= {blob_key(sha256) for sha256 in files}

    def names(self, key: str) -> bool:
        """Whether a key may be named soon."""
        return self.everything or key in self.keys or key.split("/")[1] in self.sessions


def live_workspaces(work: Path) -> list[str]:
    """The names of the workspaces that live processes of this machine hold, `gc`'s own left out."""
    found = []
    for lock in sorted((work / STAGING).glob("*.lock")):
        if lock.stem == "gc":
            continue
        try:
            descriptor = os.open(lock, os.O_RDWR)
        except OSError:
            continue
        if not try_lock(descriptor):
            found.append(lock.stem)
        os.close(descriptor)
    return found


def _size(path: Path) -> int:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    total = 0
    for file in files:
        with suppress(OSError):
            total += file.stat().st_size
    return total
