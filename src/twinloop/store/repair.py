"""What was lost or damaged of a recording that the store has, made anew when it is taken in again.

Presence and sizes decide, not content: what `fsck` finds changed is deleted first, by a person.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from twinloop.store.blobs import blob_key
from twinloop.store.objects import MissingObjectError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.store.manifest import Manifest, Manifests, RecordingEntry
    from twinloop.store.objects import Objects
    from twinloop.store.raw_files import RawFiles


def is_broken(objects: Objects, entry: RecordingEntry) -> bool:
    """Whether a file of a stored recording, made or raw, is missing or has another size."""
    return artefacts_lost(objects, entry) or any(_raw_lost(objects, entry))


def artefacts_lost(objects: Objects, entry: RecordingEntry) -> bool:
    """Whether a file that was made of it is missing or has another size."""
    wanted = {artefact.key: artefact.size for artefact in entry.artefacts()}
    sessions = {"/".join(key.split("/")[:2]) for key in wanted}
    there = {found for session in sessions for found in objects.listing(session)}
    return not wanted.items() <= there


def _raw_lost(objects: Objects, entry: RecordingEntry) -> Iterator[str]:
    """The keys of raw files whose copy is not whole."""
    for file in entry.files:
        if file.copied and not _is_there(objects, blob_key(file.sha256), file.size):
            yield blob_key(file.sha256)


def _is_there(objects: Objects, key: str, size: int) -> bool:
    try:
        return objects.size(key) == size
    except MissingObjectError:
        return False


def restore_raw(objects: Objects, entry: RecordingEntry, raw: RawFiles) -> None:
    """Copy the raw files at hand to where the store lacks them."""
    if lost := list(_raw_lost(objects, entry)):
        for key in lost:
            objects.delete(key)
        raw.keep(objects)


def renewed(objects: Objects, held: RecordingEntry, made: RecordingEntry) -> RecordingEntry:
    """The stored recording with artefacts made anew; what people see of it, episodes above all, stays.

    A report counts by episodes: the new one holds only if there are as many as before.
    """
    report = held.report
    if report and not _is_there(objects, report.key, report.size):
        report = made.report if len(made.episodes) == len(held.episodes) else None
    return replace(
        held,
        streams=made.streams,
        attachments=made.attachments,
        attached=made.attached,
        report=report,
        version=made.version,
    )


def renew(manifests: Manifests, objects: Objects, session: str, made: RecordingEntry) -> Manifest:
    """Let a session's recording of that hash have the artefacts of `made`."""

    def edit(current: Manifest) -> Manifest:
        recordings = tuple(
            renewed(objects, held, made) if held.hash == made.hash else held for held in current.recordings
        )
        return replace(current, recordings=recordings)

    return manifests.change(session, "lost artefacts made anew", edit)
