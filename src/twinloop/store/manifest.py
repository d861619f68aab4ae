"""Manifests: what a session is and which artefacts it has, by key and hash.

``sessions/<id>/manifest-<n>.json``; the highest n holds. Creating the next one is the commit of whatever
changed, so a session changes whole or not at all, and its history stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import msgspec

from twinloop.core.clock import ClockModel
from twinloop.core.errors import StoreError
from twinloop.core.ids import is_ulid
from twinloop.core.mapping import Mapping as FeatureMapping
from twinloop.core.recording import Attachment, ReadNote
from twinloop.core.session import Episode, SessionFacts
from twinloop.core.stream import Stream
from twinloop.store.blobs import SourceFile
from twinloop.store.revisions import Revisions, numbers_among
from twinloop.store.sealed import seal, unseal
from twinloop.store.writer import now, writer_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from twinloop.store.objects import Objects

FORMAT = 1
_FIX = "run `twinloop store fsck`"
SESSIONS = "sessions"
PREFIX = "manifest-"


@dataclass(frozen=True, slots=True)
class Artefact:
    """A file that twinloop made: its key in the store, and its content's hash and size."""

    key: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class SegmentFacts:
    """What an export must know of a video segment: see `VideoSegment`, in the same order.

    Attributes:
        images, keyframes: counts. longest_gop: images from one keyframe to the next, at most.
        has_b_frames: whether images are stored out of their display order.
        parameters_sha256: of its parameter sets (SPS, PPS...); segments that agree join without re-encoding.
        reencoded: True where the images were encoded here with loss; False for the source's own packets.
    """

    images: int
    keyframes: int
    longest_gop: int
    has_b_frames: bool = False
    parameters_sha256: str = ""
    reencoded: bool = False


@dataclass(frozen=True, slots=True)
class StreamEntry:
    """A stream as the store holds it.

    Attributes:
        stream: as the source describes it, with measured count and span; its segments' files are places
            (keys of the store, or absolute paths of referenced raw files).
        declared: the count that the source's index gave.
        tables: Parquet files that follow each other. media: video files. pack: bulk bytes that are not video.
        image_stats: histograms of sampled images.
    """

    stream: Stream
    declared: int | None = None
    tables: tuple[Artefact, ...] = ()
    media: tuple[Artefact, ...] = ()
    pack: Artefact | None = None
    image_stats: Artefact | None = None
    segments: tuple[SegmentFacts, ...] = ()

    def artefacts(self) -> Iterator[Artefact]:
        """All files made for this stream."""
        yield from (*self.tables, *self.media)
        yield from (artefact for artefact in (self.pack, self.image_stats) if artefact)


@dataclass(frozen=True, slots=True)
class RecordingEntry:
    """A recording as the store holds it.

    Attributes:
        hash: what it is known by (`blobs.recording_hash`). name: of its file or folder. format: the reader's.
        files: its raw files. raw: ``copy`` or ``reference``. taken_at, by, version: when, who, which twinloop.
        episodes: ids of the episodes cut out of it, in its own order; the report counts by this order.
        attachments: their `file` is a place. report: what the checks said.
        start_ns, end_ns: the part of it that belongs to this session (None: no limit), after a split.
        options: what it was read with beyond its files, so that it can be read again: see `making.py`.
    """

    hash: str
    name: str
    format: str
    files: tuple[SourceFile, ...]
    raw: str
    taken_at: str
    by: str
    version: str
    streams: tuple[StreamEntry, ...] = ()
    episodes: tuple[str, ...] = ()
    mapping: FeatureMapping = FeatureMapping()
    mapping_source: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    calibration: Mapping[str, object] = field(default_factory=dict)
    attachments: tuple[Attachment, ...] = ()
    attached: tuple[Artefact, ...] = ()
    notes: tuple[ReadNote, ...] = ()
    report: Artefact | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Bytes of its raw files."""
        return sum(file.size for file in self.files)

    @property
    def duration_s(self) -> float | None:
        """From the first to the last sample of its longest stream; None where no stream has times."""
        spans = [
            held.stream.end_ns - held.stream.start_ns
            for held in self.streams
            if held.stream.start_ns is not None
            and held.stream.end_ns is not None
            and (held.stream.start_ns, held.stream.end_ns) != (0, 0)  # of samples that have no time
        ]
        return max(spans) / 1e9 if spans else None

    @property
    def extent(self) -> tuple[int, int] | None:
        """First and last time of its samples, cut to the part that belongs here; None without samples."""
        times = [(s.stream.start_ns, s.stream.end_ns) for s in self.streams]
        start = min((first for first, _ in times if first is not None), default=None)
        end = max((last for _, last in times if last is not None), default=None)
        if start is None or end is None:
            return None
        if self.start_ns is not None:
            start = max(start, self.start_ns)
        if self.end_ns is not None:
            end = min(end, self.end_ns - 1)
        return start, end

    def artefacts(self) -> Iterator[Artefact]:
        """All files that were made of it."""
        for stream in self.streams:
            yield from stream.artefacts()
        yield from self.attached
        if self.report:
            yield self.report


@dataclass(frozen=True, slots=True)
class Manifest:
    """One revision of a session.

    `merged_into` and `split_into` are intents that hold once the other session's manifest agrees
    (`absorbed`, `split_from`): see `sessions.py`. `erased` is the id of the erasure that took all of it.
    """

    session: str
    revision: int = 0
    why: str = ""
    at: str = ""
    by: str = ""
    facts: SessionFacts = SessionFacts()
    recordings: tuple[RecordingEntry, ...] = ()
    episodes: tuple[Episode, ...] = ()
    clock_models: tuple[ClockModel, ...] = ()
    merged_into: str | None = None
    absorbed: tuple[str, ...] = ()
    split_from: str | None = None
    split_into: tuple[str, ...] = ()
    erased: str | None = None
    format: int = FORMAT

    def recording(self, hash: str) -> RecordingEntry | None:
        """The recording of that hash, if it is here."""
        return next((recording for recording in self.recordings if recording.hash == hash), None)

    def artefacts(self) -> Iterator[Artefact]:
        """All files that it names."""
        for recording in self.recordings:
            yield from recording.artefacts()


class Manifests:
    """The manifests of all sessions."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def revisions(self, session: str) -> Revisions:
        """The revisions of one session's manifest."""
        return Revisions(self._objects, f"{SESSIONS}/{session}", PREFIX)

    def sessions(self) -> list[str]:
        """Ids of all sessions that have a folder, whether or not a manifest is in it."""
        return [name for name in self._objects.children(SESSIONS) if is_ulid(name)]

    def latest_revisions(self) -> dict[str, int]:
        """The last revision of every session that has one, in one look."""
        found = self._objects.folders(SESSIONS)
        return {
            session: numbers[-1]
            for session, names in found.items()
            if is_ulid(session) and (numbers := numbers_among(names, PREFIX))
        }

    def get(self, session: str, revision: int) -> Manifest:
        """One revision.

        Raises:
            StoreError: it is not there, damaged, or of a later format.
        """
        revisions = self.revisions(session)
        return decode_manifest(revisions.get(revision), revisions.key(revision))

    def latest(self, session: str) -> Manifest | None:
        """The revision that holds; None for a session that was never committed."""
        number = self.revisions(session).latest()
        return self.get(session, number) if number else None

    def commit(self, manifest: Manifest, why: str) -> Manifest | None:
        """Make `manifest` the revision after its own number. None: another writer was first."""
        following = replace(manifest, revision=manifest.revision + 1, why=why, at=now(), by=writer_name())
        data = encode_manifest(following)
        return following if self.revisions(manifest.session).commit(following.revision, data) else None

    def change(self, session: str, why: str, edit: Callable[[Manifest], Manifest | None]) -> Manifest:
        """Commit `edit` of what holds now, looking again whenever another writer was first.

        `edit` gives None when there is nothing to change.
        """
        while True:
            current = self.latest(session) or Manifest(session)
            wanted = edit(current)
            if wanted is None:
                return current
            if committed := self.commit(replace(wanted, revision=current.revision), why):
                return committed


def encode_manifest(manifest: Manifest) -> bytes:
    """A manifest as indented JSON."""
    return seal(manifest)


def decode_manifest(data: bytes, key: str) -> Manifest:
    """The manifest that `encode_manifest` wrote; `key` is for the error."""
    try:
        number = msgspec.json.decode(data, type=_FormatOnly).format
    except msgspec.MsgspecError as error:
        raise StoreError(f"a manifest does not parse: {error}", where=key, fix=_FIX) from None
    if number > FORMAT:
        raise StoreError(
            f"a manifest has format {number}", where=key, expected=f"at most {FORMAT}", fix="update twinloop"
        )
    try:
        return unseal(data, Manifest)
    except msgspec.MsgspecError as error:
        raise StoreError(f"a manifest is damaged: {error}", where=key, fix=_FIX) from None


class _FormatOnly(msgspec.Struct):
    format: int
