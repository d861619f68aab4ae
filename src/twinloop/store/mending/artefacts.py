"""Lost artefacts: brought from a mirror, or made anew from the raw files as when they were taken in."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from twinloop.core.errors import StoreError, TwinloopError
from twinloop.engine.progress import Meter, no_report
from twinloop.store.blobs import blob_key
from twinloop.store.disk import lacks_room
from twinloop.store.fsck.sessions import newest_readable
from twinloop.store.making import Making, read_options
from twinloop.store.publish import choose_tag, publish
from twinloop.store.raw_files import RawFiles, hash_files
from twinloop.store.repair import renew, renewed
from twinloop.store.sources import IngestOptions
from twinloop.store.streams import Layout
from twinloop.store.transfer import move_aside

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from twinloop.core.recording import Recording
    from twinloop.store.fsck.trouble import Trouble
    from twinloop.store.manifest import Artefact, RecordingEntry
    from twinloop.store.mending.supply import Supply


def mend_artefacts(supply: Supply, damage: Sequence[Trouble]) -> Iterator[tuple[str, str]]:
    """(key, how) of each artefact that is whole again.

    Raises:
        StoreError, OSError: the disk is full.
    """
    broken: dict[str, dict[str, str]] = {}  # hash of a recording -> key of an artefact -> a session that has it
    for trouble in damage:
        if trouble.recording and trouble.key.startswith("sessions/"):
            broken.setdefault(trouble.recording, {})[trouble.key] = trouble.session
    for keys in broken.values():
        entry = _entry(supply, next(iter(keys.values())), keys)
        lost = [artefact for artefact in entry.artefacts() if artefact.key in keys]
        for artefact in list(lost):
            if supply.replace(artefact.key, artefact.sha256):
                assert supply.mirror
                yield artefact.key, f"restored from {supply.mirror.url}"
                lost.remove(artefact)
        if lost:
            try:
                how = _make_anew(supply, entry, next(iter(keys.values())), lost)
            except (TwinloopError, OSError) as error:
                if lacks_room(error):
                    raise
                continue  # the store is as it was, and what is wrong with it is said again
            for artefact in lost:
                yield artefact.key, how


def _entry(supply: Supply, session: str, keys: dict[str, str]) -> RecordingEntry:
    """The recording that the artefacts are of."""
    manifest = newest_readable(supply.store, session)
    assert manifest
    return next(
        entry for entry in manifest.recordings if any(artefact.key in keys for artefact in entry.artefacts())
    )


def _make_anew(supply: Supply, held: RecordingEntry, session: str, lost: Sequence[Artefact]) -> str:
    """Make a recording's artefacts anew. What comes out as it was takes its old place, and no more is changed.

    What comes out differently (another version of twinloop made it) is named by a new revision.

    Raises:
        TwinloopError: the raw files are damaged or gone, or cannot be read as they were.
    """
    store, staging = supply.store, supply.staging / "anew"
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir()
    with _source(supply, held) as (recording, raw, options):
        tag = choose_tag(store.objects, session, held.hash)
        making = Making(store.objects, _path_of(held), options, Meter(no_report), mapping=held.mapping)
        draft = making.make(recording, raw, Layout(staging, session, tag))
    (made,) = draft.recordings
    by_hash = {artefact.sha256: artefact for artefact in made.artefacts()}
    if all(artefact.sha256 in by_hash for artefact in lost):
        for artefact in lost:
            move_aside(store.objects, artefact.key, supply.staging)
            copy = supply.staging / "again"
            shutil.copyfile(staging / by_hash[artefact.sha256].key, copy)
            store.objects.put_file(artefact.key, copy)
        return "made anew from raw, the same to the last byte"
    for artefact in lost:
        move_aside(store.objects, artefact.key, supply.staging)
    kept = {artefact.key for artefact in held.artefacts()}
    new = renewed(store.objects, held, made).artefacts()
    publish(store.objects, staging, (artefact for artefact in new if artefact.key not in kept))
    for each in _sessions_with(supply, held.hash):
        renew(store.manifests, store.objects, each, made)
    return "made anew from raw; a new revision of the manifest names it"


def _sessions_with(supply: Supply, hash: str) -> list[str]:
    manifests = supply.store.manifests
    return [id for id in manifests.sessions() if (m := newest_readable(supply.store, id)) and m.recording(hash)]


def _path_of(entry: RecordingEntry) -> Path:
    """Where the recording lay when it was taken in: reports name it."""
    first = entry.files[0]
    root = Path(first.url.removesuffix(first.name))
    return root if root.name == entry.name and not _is_single(entry) else root / entry.name


def _is_single(entry: RecordingEntry) -> bool:
    """Whether it was named by one of its files, not by their folder."""
    return any(file.name == entry.name for file in entry.files)


@contextmanager
def _source(supply: Supply, entry: RecordingEntry) -> Iterator[tuple[Recording, RawFiles, IngestOptions]]:
    """A recording's raw files under their own names, opened as they were when they were taken in.

    Raises:
        StoreError: a raw file is not whole. UnreadableError: they cannot be read.
    """
    from twinloop.formats.reader import open_recording

    folder = supply.staging / "source"
    shutil.rmtree(folder, ignore_errors=True)
    try:
        path = _path_of(entry) if entry.raw == "reference" else _lay_out(supply, entry, folder)
        options = _options(entry, supply.staging)
        proposed = entry.mapping_source == "proposed" or entry.mapping_source.startswith("none ")
        read = replace(read_options(options), mapping=None if proposed else entry.mapping)
        with open_recording(path, read) as recording:
            raw = hash_files(path, recording.files, Meter(no_report))
            if raw.hash != entry.hash:
                raise StoreError(f"{entry.name} is not what was taken in", where=str(path))
            yield recording, raw.referenced() if entry.raw == "reference" else raw, options
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _lay_out(supply: Supply, entry: RecordingEntry, folder: Path) -> Path:
    """Copy a recording's blobs into a folder, under the names that the files had; where the recording is.

    The copies are its own: some readers open files in ways that may change them.
    """
    top = folder if _is_single(entry) else folder / entry.name
    for file in entry.files:
        path = top / file.name
        if not path.resolve().is_relative_to(folder.resolve()):
            raise StoreError(f"the name {file.name!r} leads out of its recording")
        path.parent.mkdir(parents=True, exist_ok=True)
        with supply.store.objects.open(blob_key(file.sha256)) as reader, path.open("wb") as writer:
            shutil.copyfileobj(reader, writer, 1 << 20)
    return folder / entry.name


def _options(entry: RecordingEntry, staging: Path) -> IngestOptions:
    """The options that it was taken in with, as far as they bear on what is made of it."""
    stated = entry.options
    lossy = any(facts.reencoded for held in entry.streams for facts in held.segments)
    table = staging / "table.toml" if "table" in stated else None
    if table:
        table.write_text(stated["table"])
    types = Path(stated["types"]) if "types" in stated else None
    return IngestOptions(
        mapping=table,
        types_dir=types,
        raw=entry.raw,
        images=stated.get("images", "h264" if lossy else "lossless"),
    )
