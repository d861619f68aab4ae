"""The copying of one store to another: object by object, each checked, each once."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from twinloop.core.errors import StoreError, TwinloopError
from twinloop.store.blobs import blob_key
from twinloop.store.edits import EPISODE
from twinloop.store.journal import encode_line
from twinloop.store.manifest import SESSIONS
from twinloop.store.quarantine import FOLDER as QUARANTINE
from twinloop.store.quarantine import Reason
from twinloop.store.sealed import unseal
from twinloop.store.tombstones import erased_hashes
from twinloop.store.transfer import Throttle, asides, check_key, copy_object, move_aside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from twinloop.store.journal import Entry
    from twinloop.store.manifest import Manifest
    from twinloop.store.store import Store


@dataclass
class Copying:
    """One run from `source` to `target`.

    Attributes:
        staging: a folder of the target's workspace. verify: hash again what is there already.
        copied, size: objects and bytes that were copied. there: objects that were there.
        held: what could not be copied, and why.
    """

    source: Store
    target: Store
    staging: Path
    throttle: Throttle
    verify: bool = False
    progress: Callable[[str, int], None] = lambda _key, _size: None
    copied: int = 0
    size: int = 0
    there: int = 0
    held: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        #: What was erased on either side is not copied.
        self.erased = erased_hashes(self.source.objects) | erased_hashes(self.target.objects)
        self._episodes: set[str] = set()

    def session(self, session: str) -> None:
        """A session's revisions in order, each behind the files that it names.

        One that names a file which is damaged or missing here is held back, with all that come after it, so
        that the destination names nothing that it lacks. Of earlier revisions' files, those that are left go.
        """
        if session in self.erased:
            return
        revisions = self.source.manifests.revisions(session)
        numbers = revisions.numbers()
        for number in numbers:
            key = revisions.key(number)
            try:
                manifest = self.source.manifests.get(session, number)
                if any(entry.hash in self.erased for entry in manifest.recordings):
                    raise StoreError("it names what was erased at the destination")
                self._named_files(manifest, needed=number == numbers[-1])
                self.document(key)
                self._episodes |= {episode.id for episode in manifest.episodes}
            except TwinloopError as error:
                self.held.append(f"{key}: {error.what}")
                return

    def _named_files(self, manifest: Manifest, *, needed: bool) -> None:
        files = [
            (blob_key(file.sha256), file.sha256, file.size)
            for entry in manifest.recordings
            for file in entry.files
            if file.copied
        ]
        files += [(artefact.key, artefact.sha256, artefact.size) for artefact in manifest.artefacts()]
        for key, sha256, size in files:
            check_key(key)
            if not key.startswith(("blobs/", f"{SESSIONS}/")):
                raise StoreError(f"{key!r} is no key of a file")
            if sha256 in self.erased:
                continue
            if needed or self.source.objects.exists(key):
                try:
                    self.file(key, sha256, size)
                except TwinloopError:
                    if needed:
                        raise

    def file(self, key: str, sha256: str, size: int | None = None) -> None:
        """A blob or an artefact.

        Raises:
            StoreError: it is missing or damaged here, and the destination has none that is whole.
        """
        there = self.target.objects
        if there.exists(key):
            whole = there.size(key) == size if size is not None else True
            if whole and (not self.verify or there.digest(key) == sha256):
                self.there += 1
                return
            move_aside(there, key, self.staging)
        size = copy_object(self.source.objects, there, key, self.staging, sha256=sha256, throttle=self.throttle)
        self._count(key, size)

    def document(self, key: str) -> None:
        """A small document, compared by its content.

        Raises:
            StoreError: the destination has another of that name.
        """
        data = self.source.objects.get(key)
        if hashlib.sha256(data).hexdigest() in self.erased:
            return
        if not self.target.objects.exists(key):
            self.throttle.passed(len(data))
            self.target.objects.put(key, data)
            self._count(key, len(data))
        else:
            self.there += 1
        if self.target.objects.get(key) != data:
            raise StoreError(f"{key} has another content at the destination", where=self.target.url)

    def documents(self, folder: str) -> None:
        """All documents below a folder; those that cannot be copied are held."""
        for key in self.source.objects.walk(folder):
            self._holding(key, self.document)

    def _holding(self, key: str, copy: Callable[[str], None]) -> None:
        try:
            copy(key)
        except TwinloopError as error:
            self.held.append(f"{key}: {error.what}")

    def quarantine(self) -> None:
        """What is in quarantine, behind its raw files; and what was moved aside, as it is."""
        for id in self.source.objects.children(QUARANTINE):
            keys = [] if id == "damaged" else list(self.source.objects.walk(f"{QUARANTINE}/{id}"))
            for key in keys:
                self._holding(key, self._reason)
        for key in asides(self.source.objects):
            if not self._is_of_erased(key):
                self._holding(key, self._aside)

    def _reason(self, key: str) -> None:
        try:
            reason = unseal(self.source.objects.get(key), Reason)
        except msgspec.MsgspecError as error:
            raise StoreError(f"it does not parse: {error}") from None
        hashes = {reason.hash, *(file.sha256 for file in reason.files)}
        if hashes & self.erased:
            return
        for file in reason.files:
            if file.copied and self.source.objects.exists(blob_key(file.sha256)):
                self.file(blob_key(file.sha256), file.sha256, file.size)
        self.document(key)

    def _aside(self, key: str) -> None:
        if self.target.objects.exists(key):
            self.there += 1
            return
        size = copy_object(self.source.objects, self.target.objects, key, self.staging, throttle=self.throttle)
        self._count(key, size)

    def _is_of_erased(self, key: str) -> bool:
        return any(part in self.erased for part in key.split("/"))

    def journal(self) -> None:
        """Statements that the destination has not heard. A torn line is none, and stays where it is.

        What is said of episodes that were held back waits for them.
        """
        known = {entry.id for entry in self.target.journal.entries()}
        for key in self.source.journal.files():
            lines = [
                encode_line(entry)
                for entry in self.source.journal.read(key).entries
                if entry.id not in known and not (self.held and self._is_of_others(entry))
            ]
            for some in _batches(lines):
                data = b"".join(some)
                self.throttle.passed(len(data))
                self.target.objects.append(journal_file(key), data)
                self._count(key, len(data))

    def _is_of_others(self, entry: Entry) -> bool:
        return entry.kind == EPISODE and entry.target not in self._episodes

    def _count(self, key: str, size: int) -> None:
        self.copied += 1
        self.size += size
        self.progress(key, size)


def journal_file(key: str) -> str:
    """The journal to append to for the lines of a file, which may be a part of one that cannot grow."""
    folder, host, *part = key.split("/")
    return f"{folder}/{host}.jsonl" if part else key


def _batches(lines: list[bytes], size: int = 1000) -> Iterable[list[bytes]]:
    return (lines[start : start + size] for start in range(0, len(lines), size))
