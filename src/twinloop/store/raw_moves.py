"""Raw files that were referenced, and now are copied into the store or lie elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from twinloop.store.places import is_there

if TYPE_CHECKING:
    from twinloop.store.manifest import Manifest, Manifests, RecordingEntry
    from twinloop.store.raw_files import RawFiles


def is_better(entry: RecordingEntry, raw: RawFiles) -> bool:
    """Whether the raw files at hand hold what a stored recording refers to better than where it looks now.

    They do if it only refers, and they are copied, or lie where files are that are gone from the old place.
    """
    if entry.raw != "reference":
        return False
    copied = all(file.copied for file in raw.files)
    return copied or any(not is_there(file.url) for file in entry.files)


def point_to(manifests: Manifests, session: str, raw: RawFiles) -> Manifest:
    """Let a session's recording of these raw files, and what points into them, find them where they are."""

    def edit(current: Manifest) -> Manifest | None:
        recordings = tuple(_moved(r, raw) if r.hash == raw.hash else r for r in current.recordings)
        return None if recordings == current.recordings else replace(current, recordings=recordings)

    return manifests.change(session, "raw files found elsewhere", edit)


def _moved(entry: RecordingEntry, raw: RawFiles) -> RecordingEntry:
    """The recording with its files, and all that points into them, where they are now."""
    moved = {new.sha256: new.place for new in raw.files}
    places = {old.place: moved[old.sha256] for old in entry.files if old.sha256 in moved}
    return replace(
        entry,
        files=raw.files,
        raw="copy" if all(file.copied for file in raw.files) else "reference",
        attachments=tuple(replace(a, file=places.get(a.file, a.file)) for a in entry.attachments),
        streams=tuple(
            replace(
                held,
                stream=replace(
                    held.stream,
                    segments=tuple(
                        replace(segment, file=places.get(segment.file, segment.file))
                        for segment in held.stream.segments
                    ),
                ),
            )
            for held in entry.streams
        ),
    )
