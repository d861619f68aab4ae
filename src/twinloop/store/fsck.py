"""Whether a store is whole: every manifest, artefact, blob, journal line, and the catalog over them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from twinloop.core.errors import TwinloopError, UnreadableError
from twinloop.store.blobs import blob_key, hash_file
from twinloop.store.liveness import State, session_state
from twinloop.store.manifest import SESSIONS, Artefact
from twinloop.store.places import is_there
from twinloop.store.quarantine import FOLDER as QUARANTINE
from twinloop.store.registry import NOUNS
from twinloop.store.staging import leftovers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from twinloop.store.blobs import SourceFile
    from twinloop.store.manifest import Manifest, RecordingEntry
    from twinloop.store.store import Store


class Harm(StrEnum):
    """What a problem means."""

    DAMAGE = "damage"  # bytes that were there are gone or changed
    LEFTOVER = "leftover"  # of a command that did not finish; nothing is lost
    STALE = "stale"  # a cache that can be made anew


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that is not as it must be: where, what, and what to do."""

    harm: Harm
    key: str
    what: str
    fix: str


_MIRROR = "restore it from a mirror"
_HARMLESS = "harmless; nothing points to it"


def check_store(
    store: Store, *, quick: bool = False, progress: Callable[[str], None] | None = None
) -> Iterator[Trouble]:
    """Everything that is wrong with a store. `quick`: sizes and presence only, no content is hashed."""
    examiner = _Examiner(store, quick, progress or (lambda _: None))
    for session in store.manifests.sessions():
        yield from examiner.session(session)
    yield from examiner.strays()
    yield from examiner.blobs()
    yield from examiner.people()
    for path in leftovers(store.work):
        yield Trouble(
            Harm.LEFTOVER,
            str(path.relative_to(store.work)),
            "work of a killed command",
            "goes with the next ingest",
        )
    for table in store.catalog.stale():
        yield Trouble(
            Harm.STALE, "catalog", f"the table {table} is not what the store says", "twinloop store rebuild"
        )


class _Examiner:
    def __init__(self, store: Store, quick: bool, progress: Callable[[str], None]) -> None:
        self.store = store
        self.quick = quick
        self.progress = progress
        self.wanted_blobs: set[str] = set()

    def session(self, session: str) -> Iterator[Trouble]:
        """A session's manifests, the files that they name, and files that none names."""
        named: set[str] = set()
        last: Manifest | None = None
        numbers = self.store.manifests.revisions(session).numbers()
        for number in numbers:
            key = self.store.manifests.revisions(session).key(number)
            try:
                last = self.store.manifests.get(session, number)
            except TwinloopError as error:
                yield Trouble(
                    Harm.DAMAGE, key, error.what, f"{_MIRROR}, or delete it: what was before it holds then"
                )
                continue
            named |= {artefact.key for artefact in last.artefacts()}
            self.wanted_blobs |= {
                file.sha256 for entry in last.recordings for file in entry.files if file.copied
            }
        if last is not None:
            yield from self._holds(last)
        for key in self.store.objects.walk(f"{SESSIONS}/{session}"):
            if key not in named and not key.rpartition("/")[2].startswith("manifest-"):
                why = "no manifest names it" if numbers else "the session has no manifest"
                yield Trouble(Harm.LEFTOVER, key, why, _HARMLESS)

    def strays(self) -> Iterator[Trouble]:
        """What lies among the sessions and is none."""
        for name in sorted(set(self.store.objects.children(SESSIONS)) - set(self.store.manifests.sessions())):
            yield Trouble(Harm.LEFTOVER, f"{SESSIONS}/{name}", "no session has such an id", _HARMLESS)

    def _holds(self, manifest: Manifest) -> Iterator[Trouble]:
        if session_state(manifest, self.store.manifests.latest) is State.PENDING:
            yield Trouble(
                Harm.LEFTOVER,
                f"{SESSIONS}/{manifest.session}",
                f"a split of {manifest.split_from} that did not finish; that session still has all",
                "split again; this one counts nowhere",
            )
        for entry in manifest.recordings:
            again = self._again(entry)
            for artefact in entry.artefacts():
                yield from self._artefact(artefact, again)
            for file in entry.files:
                yield from self._raw(file, again)

    def _again(self, entry: RecordingEntry) -> str:
        """How to take a recording in again, which makes what is lost of it anew."""
        if len(entry.files) > 1:
            return f"take {entry.name} in again, from where it was"
        (file,) = entry.files
        blob = self.store.objects.path(blob_key(file.sha256))
        return f"twinloop ingest {quote(file.url if is_there(file.url) else str(blob))}"

    def _artefact(self, artefact: Artefact, again: str) -> Iterator[Trouble]:
        self.progress(artefact.key)
        if not self.store.objects.exists(artefact.key):
            yield Trouble(Harm.DAMAGE, artefact.key, "the file is missing", again)
            return
        size = self.store.objects.size(artefact.key)
        if size != artefact.size:
            yield Trouble(Harm.DAMAGE, artefact.key, f"{size} bytes instead of {artefact.size}", again)
        elif wrong := self._differs(self.store.objects.path(artefact.key), artefact.sha256):
            yield Trouble(Harm.DAMAGE, artefact.key, wrong, f"delete it, then: {again}")

    def _differs(self, path: Path, sha256: str) -> str | None:
        """What is wrong with a file's content, or None."""
        if self.quick:
            return None
        try:
            return None if hash_file(path) == sha256 else "its content changed (SHA-256 differs)"
        except UnreadableError as error:
            return error.what

    def _raw(self, file: SourceFile, again: str) -> Iterator[Trouble]:
        if file.copied:
            if not self.store.objects.exists(blob_key(file.sha256)):
                yield Trouble(
                    Harm.DAMAGE,
                    blob_key(file.sha256),
                    f"the raw file {file.name} is missing",
                    f"restore it from a mirror, or: {again}" if is_there(file.url) else _MIRROR,
                )
            return
        path = Path(file.url)
        if not is_there(path):
            yield Trouble(Harm.DAMAGE, file.url, "the referenced raw file is gone", "put it back where it was")
        elif path.stat().st_size != file.size or self._differs(path, file.sha256):
            yield Trouble(
                Harm.DAMAGE,
                file.url,
                "the referenced raw file changed, or cannot be read",
                "restore it as it was taken in",
            )

    def blobs(self) -> Iterator[Trouble]:
        """Raw files: each is what its name says, and something knows it."""
        for reason in self.store.quarantine.all():
            self.wanted_blobs |= {file.sha256 for file in reason.files}
            if reason.hash:
                self.wanted_blobs.add(reason.hash)
        for key in self.store.objects.walk("blobs"):
            self.progress(key)
            sha256 = key.rpartition("/")[2]
            if wrong := self._differs(self.store.objects.path(key), sha256):
                yield Trouble(Harm.DAMAGE, key, wrong, "delete it, then take the original in again")
            elif sha256 not in self.wanted_blobs:
                yield Trouble(Harm.LEFTOVER, key, "no session and no quarantine knows it", _HARMLESS)

    def people(self) -> Iterator[Trouble]:
        """What people said: journal and registry."""
        for key in self.store.journal.files():
            for torn in self.store.journal.read(key).torn:
                yield Trouble(
                    Harm.DAMAGE,
                    key,
                    f"a torn line of {torn.size} bytes at byte {torn.where.byte}",
                    "say it again (see `twinloop episode ls`); the other lines hold",
                )
        damaged: list[TwinloopError] = []
        for noun in NOUNS:
            self.store.registry.all(noun, damaged)
        for error in damaged:
            yield Trouble(Harm.DAMAGE, str(error.where), error.what, _MIRROR)
        for id in self.store.objects.children(QUARANTINE):
            try:
                self.store.quarantine.read(id)
            except TwinloopError as error:
                yield Trouble(Harm.DAMAGE, str(error.where), error.what, "take it in again")
