"""What the last manifest of every session names, and what lies beside that no manifest does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from twinloop.core.errors import TwinloopError, UnreadableError
from twinloop.store.blobs import blob_key, hash_file
from twinloop.store.fsck.trouble import COLLECT, FROM_MIRROR, MEND, Harm, Trouble
from twinloop.store.liveness import State, related, session_state
from twinloop.store.manifest import SESSIONS
from twinloop.store.places import is_there

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.store.blobs import SourceFile
    from twinloop.store.fsck.trouble import Examination
    from twinloop.store.manifest import Artefact, Manifest, RecordingEntry
    from twinloop.store.store import Store


def sessions(examination: Examination) -> Iterator[Trouble]:
    """Artefacts and raw files that are missing or changed, splits that did not finish, strays."""
    for session in examination.store.manifests.sessions():
        last = newest_readable(examination.store, session)
        if last is not None and not last.erased:
            yield from _holds(examination, last)
        if session not in examination.erased:  # else `erasures` speaks of it
            yield from _strays(examination, session, last is not None)


def newest_readable(store: Store, session: str) -> Manifest | None:
    """The newest revision of a session that can be read; None if there is none."""
    for number in reversed(store.manifests.revisions(session).numbers()):
        try:
            return store.manifests.get(session, number)
        except TwinloopError:
            continue
    return None


def _strays(examination: Examination, session: str, has_manifest: bool) -> Iterator[Trouble]:
    named = named_anywhere(examination.store, session) | examination.lent
    why = "no manifest names it" if has_manifest else "the session has no manifest"
    fix = COLLECT
    if not has_manifest and not examination.store.manifests.revisions(session).numbers():
        fix = f"{COLLECT}; take the recording in again if it was not"
    for key, _ in examination.store.objects.listing(f"{SESSIONS}/{session}"):
        if key not in named and not is_manifest(key):
            yield Trouble(Harm.LEFTOVER, key, why, fix, session)


def named_anywhere(store: Store, session: str) -> set[str]:
    """The artefacts that any readable revision of a session names."""
    named: set[str] = set()
    for number in store.manifests.revisions(session).numbers():
        try:
            named |= {artefact.key for artefact in store.manifests.get(session, number).artefacts()}
        except TwinloopError:
            continue
    return named


def is_manifest(key: str) -> bool:
    """Whether a key among the sessions is of a manifest."""
    return key.count("/") == 2 and key.rpartition("/")[2].startswith("manifest-")


def _holds(examination: Examination, manifest: Manifest) -> Iterator[Trouble]:
    store = examination.store

    def newest(session: str) -> Manifest | None:
        return newest_readable(store, session)

    if session_state(manifest, newest) is State.PENDING:
        yield Trouble(
            Harm.LEFTOVER,
            f"{SESSIONS}/{manifest.session}",
            f"a split of {manifest.split_from} that did not finish; that session still has all",
            "split again; this one counts nowhere",
            manifest.session,
        )
    for other in related(manifest):
        if not store.manifests.revisions(other).numbers() and other not in examination.erased:
            examination.unread = True
            yield Trouble(
                Harm.DAMAGE,
                f"{SESSIONS}/{other}",
                f"the session that {manifest.session} was joined with or split from is missing",
                FROM_MIRROR,
                other,
            )
    for entry in manifest.recordings:
        fix = _fix(store, entry)
        for artefact in entry.artefacts():
            if what := _wrong(examination, artefact):
                yield Trouble(Harm.DAMAGE, artefact.key, what, fix, manifest.session, entry.hash)
        for file in entry.files:
            yield from _raw(examination, file, manifest.session, entry.hash)


def _fix(store: Store, entry: RecordingEntry) -> str:
    """What makes lost artefacts of a recording anew."""
    for file in entry.files:
        if not (file.copied and store.objects.exists(blob_key(file.sha256))) and not is_there(file.url):
            return f"{FROM_MIRROR}, or take {entry.name} in again from where it was"
    return MEND


def _wrong(examination: Examination, artefact: Artefact) -> str | None:
    objects = examination.store.objects
    if not objects.exists(artefact.key):
        return "the file is missing"
    if (size := objects.size(artefact.key)) != artefact.size:
        return f"{size} bytes instead of {artefact.size}"
    return examination.differs(artefact.key, artefact.sha256)


def _raw(examination: Examination, file: SourceFile, session: str, recording: str) -> Iterator[Trouble]:
    if file.copied:
        key = blob_key(file.sha256)
        if not examination.store.objects.exists(key):
            fix = MEND if is_there(file.url) else FROM_MIRROR
            yield Trouble(Harm.DAMAGE, key, f"the raw file {file.name} is missing", fix, session, recording)
        return
    path = Path(file.url)
    if not is_there(path):
        yield Trouble(
            Harm.DAMAGE,
            file.url,
            "the referenced raw file is gone",
            "put it back where it was, or take it in again from where it is now",
            session,
            recording,
        )
    elif path.stat().st_size != file.size or (not examination.quick and _changed(path, file.sha256)):
        yield Trouble(
            Harm.DAMAGE,
            file.url,
            "the referenced raw file changed, or cannot be read",
            "restore it as it was taken in",
            session,
            recording,
        )


def _changed(path: Path, sha256: str) -> bool:
    try:
        return hash_file(path) != sha256
    except UnreadableError:
        return True
