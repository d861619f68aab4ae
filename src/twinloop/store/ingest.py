"""Taking one recording in: hashed, kept, made into artefacts, checked, committed; whole or not at all.

The order is what makes it safe. The raw bytes are kept first; artefacts are made in staging and then moved
to names that nothing points to; the manifest's next revision, which names them by hash, is the commit.
A process that dies anywhere before leaves the store as it was, and the same command starts over.
"""

from __future__ import annotations

import traceback
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from twinloop import __version__
from twinloop.core.errors import StoreError, TwinloopError, UnreadableError, Where
from twinloop.core.finding import CheckReport, RuleNote
from twinloop.core.ids import new_ulid
from twinloop.core.recording import Problem, ReadNote
from twinloop.engine.progress import Meter, no_report
from twinloop.store.attached import keep_attachments
from twinloop.store.claims import claim
from twinloop.store.commit import commit_recording, follow, make_episodes, register_facts
from twinloop.store.display_order import find_order
from twinloop.store.manifest import Manifest, RecordingEntry
from twinloop.store.places import Places
from twinloop.store.publish import choose_tag, publish, remove_orphans
from twinloop.store.quarantine import Reason, lost_parts, quarantine_id
from twinloop.store.queries import resolve_session, sessions_with
from twinloop.store.raw_files import RawFiles, hash_files
from twinloop.store.raw_moves import is_better, point_to
from twinloop.store.reports import encode_report
from twinloop.store.source_media import adopt_segments
from twinloop.store.sources import IngestOptions, check_paths, options_for
from twinloop.store.staging import clean, workspace
from twinloop.store.stored import StoredSession
from twinloop.store.streams import Layout, RecordingWriter, UnmuxableError
from twinloop.store.tombstones import refuse_erased
from twinloop.store.writer import now, writer_name

if TYPE_CHECKING:
    from twinloop.core.mapping import Mapping
    from twinloop.core.recording import Recording
    from twinloop.core.session import Episode
    from twinloop.engine.progress import Report
    from twinloop.store.display_order import DisplayOrder
    from twinloop.store.manifest import Artefact, StreamEntry
    from twinloop.store.store import Store


class Status(StrEnum):
    """What became of a path."""

    STORED = "stored"
    PRESENT = "present"  # it had been taken in before
    PLANNED = "planned"  # a dry run
    QUARANTINED = "quarantined"  # nothing of it could be read
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one path.

    Attributes:
        session: where it is. recording: its hash. episodes: how many. findings: count by severity.
        lost: what of it could not be read; its raw bytes are in `quarantine`.
        message: why it failed, or what else to know. new: registry entries that were made for it.
        exit_code: what the command line ends with for this path alone.
    """

    path: str
    status: Status
    session: str | None = None
    recording: str | None = None
    format: str | None = None
    bytes: int = 0
    episodes: int = 0
    findings: dict[str, int] = field(default_factory=dict)
    lost: tuple[ReadNote, ...] = ()
    quarantine: str | None = None
    message: str = ""
    new: tuple[str, ...] = ()
    exit_code: int = 0


def ingest(
    store: Store,
    path: Path,
    options: IngestOptions | None = None,
    *,
    dry_run: bool = False,
    report: Report = no_report,
) -> Outcome:
    """Take in the recording at `path`. Never raises for what is wrong with it: the outcome tells.

    Taking in the same content again, or in two processes at once, makes one recording.
    """
    path = path.absolute()
    clean(store.root)
    try:
        options = options_for(path, options or IngestOptions())
        check_paths(options)
        return _Intake(store, path, options, Meter(report)).run(dry_run)
    except TwinloopError as error:
        return Outcome(str(path), Status.FAILED, message=str(error), exit_code=error.exit_code)
    except OSError as error:
        place = error.filename or path
        message = f"the system refused: {error.strerror}\n  where:    {place}"
        return Outcome(str(path), Status.FAILED, message=message, exit_code=3)


class _Intake:
    """One recording on its way in."""

    def __init__(self, store: Store, path: Path, options: IngestOptions, meter: Meter) -> None:
        self.store = store
        self.path = path
        self.options = options
        self.meter = meter

    def run(self, dry_run: bool) -> Outcome:
        try:
            recording = self._open()
        except UnreadableError as error:
            if dry_run:
                raise
            return self._quarantine_whole(error)
        except (TwinloopError, OSError):
            raise
        except Exception as error:
            return self._crashed(error, dry_run)
        with recording:
            if dry_run:
                return self._plan(recording)
            try:
                return self._take_in(recording)
            except UnreadableError as error:
                return self._quarantine_whole(error)
            except (TwinloopError, OSError):
                raise
            except Exception as error:
                return self._crashed(error, dry_run)

    def _open(self) -> Recording:
        from twinloop.formats.reader import ReadOptions, open_recording

        options = ReadOptions(
            types_dir=self.options.types_dir,
            mapping=self._given_mapping(),
            table_mapping=self.options.mapping if self._maps_a_table() else None,
        )
        return open_recording(self.path, options)

    def _given_mapping(self) -> Mapping | None:
        """The features that a mapping file states; None for none, or one that says how to read a table."""
        from twinloop.core.mapping import load_mapping

        if self.options.mapping is None or self._maps_a_table():
            return None
        return load_mapping(self.options.mapping)

    def _maps_a_table(self) -> bool:
        from twinloop.formats.table.sidecar import describes_table

        return self.options.mapping is not None and describes_table(self.options.mapping)

    def _plan(self, recording: Recording) -> Outcome:
        from twinloop.formats.mapping.episodes import cut_episodes

        mapping, _ = self._mapping(recording)
        spans = cut_episodes(recording, mapping)
        named = len(mapping.features)
        return Outcome(
            str(self.path),
            Status.PLANNED,
            format=recording.format,
            bytes=recording.size_bytes,
            episodes=len(spans),
            message=f"{len(recording.streams)} streams, {named} features, cut: {mapping.episodes.by.value}",
        )

    def _take_in(self, recording: Recording) -> Outcome:
        with self.meter.stage("hashing", 0.15):
            raw = hash_files(self.path, recording.files, self.meter)
        for file in raw.files:
            refuse_erased(self.store.objects, file.sha256, file.name)
        refuse_erased(self.store.objects, raw.hash, self.path.name)
        if present := self._present(recording, raw):
            return present
        wanted = self.options.session and resolve_session(self.store.catalog, self.options.session)
        with workspace(self.store.root, raw.hash) as staging:
            if present := self._present(recording, raw):
                return present
            session = follow(
                self.store.manifests,
                claim(self.store.objects, raw.hash, wanted or new_ulid(), insist=wanted is not None),
            )
            return self._store(recording, raw, session, staging)

    def _present(self, recording: Recording, raw: RawFiles) -> Outcome | None:
        """The outcome for content that the store has, if it has it."""
        self.store.catalog.sync()
        sessions = sessions_with(self.store.catalog, raw.hash)
        if not sessions:
            return None
        manifest = self.store.manifests.latest(sessions[0])
        assert manifest
        entry = manifest.recording(raw.hash)
        assert entry
        message = f"already in session {', '.join(sessions)}"
        message += self._hold_better(raw, sessions, entry)
        wanted = self.options.session
        if wanted and resolve_session(self.store.catalog, wanted) not in sessions:
            message += f"; to have both in one: twinloop session join {wanted} {sessions[0]}"
        lost = lost_parts(entry.notes)
        return Outcome(
            str(self.path),
            Status.PRESENT,
            session=sessions[0],
            recording=raw.hash,
            format=recording.format,
            bytes=raw.size,
            episodes=len(entry.episodes),
            lost=lost,
            quarantine=quarantine_id(raw.hash, self.path) if lost else None,
            message=message,
            exit_code=3 if lost else 0,
        )

    def _hold_better(self, raw: RawFiles, sessions: list[str], entry: RecordingEntry) -> str:
        """Copy, or find in their new place, the raw files of a recording that only refers to them."""
        offered = raw if self.options.raw == "copy" else raw.referenced()
        if not is_better(entry, offered):
            return ""
        if self.options.raw == "copy":
            with workspace(self.store.root, f"{raw.hash}-raw") as staging:
                raw.keep(self.store.objects, staging)
        for session in sessions:
            point_to(self.store.manifests, session, offered)
        self.store.catalog.sync()
        return (
            "; its raw files are in the store now" if self.options.raw == "copy" else "; found in a new place"
        )

    def _store(self, recording: Recording, raw: RawFiles, session: str, staging: Path) -> Outcome:
        store = self.store
        remove_orphans(store.objects, store.manifests, session, raw.hash)
        if self.options.raw == "copy":
            with self.meter.stage("copying", 0.05):
                raw.keep(store.objects, staging)
        else:
            raw = raw.referenced()
        tag = choose_tag(store.objects, session, raw.hash)
        draft, artefacts = self._make(recording, raw, Layout(staging, session, tag))
        entry, episodes = draft.recordings[0], draft.episodes
        publish(store.objects, staging, artefacts)
        raw.check_unchanged()
        new = register_facts(store.registry, self.options.facts)
        manifest = commit_recording(store.manifests, session, entry, episodes, self.options.facts)
        lost = lost_parts(entry.notes)
        if lost:
            self._quarantine_parts(recording, raw, manifest.session, lost)
        else:
            store.quarantine.resolve(quarantine_id(raw.hash, self.path), manifest.session)
        with suppress(StoreError):  # the manifest is what counts; the catalog catches up when it is next opened
            store.catalog.sync()
        return Outcome(
            str(self.path),
            Status.STORED,
            session=manifest.session,
            recording=raw.hash,
            format=recording.format,
            bytes=raw.size,
            episodes=len(episodes),
            findings=self._count(store, manifest, entry),
            lost=lost,
            quarantine=quarantine_id(raw.hash, self.path) if lost else None,
            new=tuple(new),
            exit_code=3 if lost else 0,
        )

    def _make(self, recording: Recording, raw: RawFiles, layout: Layout) -> tuple[Manifest, list[Artefact]]:
        """All artefacts in staging, and a manifest of this recording alone that names them."""
        with self.meter.stage("reading", 0.6):
            streams, notes = self._scan(recording, raw, layout)
        attachments, attached = keep_attachments(recording, raw, layout)
        entry = RecordingEntry(
            hash=raw.hash,
            name=self.path.name,
            format=recording.format,
            files=raw.files,
            raw=self.options.raw,
            taken_at=now(),
            by=writer_name(),
            version=__version__,
            streams=streams,
            metadata=recording.metadata,
            calibration=recording.calibration,
            attachments=attachments,
            attached=attached,
            notes=(*recording.notes, *notes),
        )
        draft = Manifest(layout.session, facts=self.options.facts, recordings=(entry,))
        staged = self._read_staged(draft, layout, recording)
        mapping, source = self._mapping(staged)
        episodes = self._episodes(staged, mapping, raw.hash)
        with self.meter.stage("checking", 0.2):
            report = self._check(staged, mapping, episodes, layout)
        entry = replace(
            entry,
            mapping=mapping,
            mapping_source=source,
            episodes=tuple(episode.id for episode in episodes),
            report=report,
        )
        draft = replace(draft, recordings=(entry,), episodes=episodes)
        return draft, list(draft.artefacts())

    def _read_staged(self, draft: Manifest, layout: Layout, recording: Recording) -> StoredSession:
        """The staged artefacts as a recording that passes for the source: its path, its own episodes."""
        staged = StoredSession(draft, (), self.store.objects, Places(self.store.objects, layout.staging))
        staged.path = self.path
        staged.episodes = recording.episodes
        return staged

    def _scan(
        self, recording: Recording, raw: RawFiles, layout: Layout
    ) -> tuple[tuple[StreamEntry, ...], list[ReadNote]]:
        packed: set[str] = set()
        orders: dict[str, DisplayOrder] = {}
        lossy = self.options.images == "h264"
        before = len(recording.notes)
        while True:
            writer = RecordingWriter(layout, packed=packed, lossy=lossy, orders=orders)
            try:
                notes = self._scan_once(recording, writer)
                entries = writer.close(list(recording.streams.values()))
            except UnmuxableError as error:
                # Once more: with the order of these packets, or, of a codec that does not mux, packed.
                if error.reordered and error.stream not in orders:
                    orders[error.stream] = find_order(recording, error.stream)
                else:
                    packed.add(error.stream)
                layout.clear()
                del recording.notes[before:]
                continue
            notes += writer.notes()
            return tuple(
                adopt_segments(entry, raw, layout) if entry.stream.segments and not entry.media else entry
                for entry in entries
            ), notes

    def _scan_once(self, recording: Recording, writer: RecordingWriter) -> list[ReadNote]:
        declared = sum(stream.count or 0 for stream in recording.streams.values())
        done = 0
        try:
            for batch in recording.scan():
                writer.append(recording.streams[batch.stream], batch)
                done += len(batch)
                if declared:
                    self.meter.at(done / declared)
        except UnreadableError as error:
            where = error.where if isinstance(error.where, Where) else Where(file=str(self.path))
            return [ReadNote(Problem.CORRUPT, error.what, where, lost=None)]
        return []

    def _mapping(self, recording: Recording) -> tuple[Mapping, str]:
        """The mapping to use and where it comes from: a file that was given, or a proposal."""
        from twinloop.formats.mapping.check import check_mapping
        from twinloop.formats.mapping.propose import propose

        given = self._given_mapping()
        if given is None:
            return propose(recording), "proposed"
        check_mapping(given, recording, self.options.mapping)
        return given, str(self.options.mapping)

    def _episodes(self, recording: Recording, mapping: Mapping, hash: str) -> tuple[Episode, ...]:
        from twinloop.formats.mapping.episodes import cut_episodes

        return make_episodes(cut_episodes(recording, mapping), hash, self.options.outcome)

    def _check(
        self, recording: StoredSession, mapping: Mapping, episodes: tuple[Episode, ...], layout: Layout
    ) -> Artefact:
        from twinloop.checks.run import check

        try:
            report = check(recording, mapping=mapping, episodes=episodes, session=layout.session)
        except Exception as error:
            # The checks never keep a recording out of the store: what they could not do is in the report.
            failed = (RuleNote("checks", f"{type(error).__name__}: {error}"),)
            report = CheckReport(str(self.path), layout.session, failed=failed)
        path = layout.folder("reports") / "report.json"
        path.write_bytes(encode_report(report))
        return layout.artefact(path)

    @staticmethod
    def _count(store: Store, manifest: Manifest, entry: RecordingEntry) -> dict[str, int]:
        from collections import Counter

        from twinloop.store.reports import recording_report

        held = manifest.recording(entry.hash) or entry
        findings = recording_report(store.objects, manifest, held).findings
        return dict(Counter(finding.severity.value for finding in findings))

    def _quarantine_whole(self, error: UnreadableError) -> Outcome:
        """Keep the bytes of what could not be read at all, with the reason."""
        raw = self._hash_unreadable()
        hash = raw.hash if raw and raw.size else None
        id = quarantine_id(hash, self.path)
        if raw and self.options.raw == "copy" and raw.size:
            with workspace(self.store.root, raw.hash) as staging:
                raw.keep(self.store.objects, staging)
        where = error.where if isinstance(error.where, Where) else Where(file=str(error.where or self.path))
        note = ReadNote(
            Problem.EMPTY if raw and not raw.size else Problem.CORRUPT, error.what, where, lost=None
        )
        self.store.quarantine.add(
            Reason(
                id=id,
                path=str(self.path),
                what=error.what,
                retry=self._retry(),
                hash=hash,
                files=raw.files if raw else (),
                notes=(note,),
            )
        )
        return Outcome(
            str(self.path),
            Status.QUARANTINED,
            recording=hash,
            bytes=raw.size if raw else 0,
            lost=(note,),
            quarantine=id,
            message=str(error),
            exit_code=3,
        )

    def _hash_unreadable(self) -> RawFiles | None:
        if not self.path.is_file():
            return None
        try:
            raw = hash_files(self.path, (self.path,), self.meter)
        except UnreadableError:
            return None
        refuse_erased(self.store.objects, raw.hash, self.path.name)
        return raw if self.options.raw == "copy" else raw.referenced()

    def _quarantine_parts(
        self, recording: Recording, raw: RawFiles, session: str, lost: tuple[ReadNote, ...]
    ) -> None:
        parts = "1 part" if len(lost) == 1 else f"{len(lost)} parts"
        self.store.quarantine.add(
            Reason(
                id=quarantine_id(raw.hash, self.path),
                path=str(self.path),
                what=f"{parts} of this {recording.format} recording could not be read",
                retry=self._retry(),
                hash=raw.hash,
                files=raw.files,
                notes=lost,
                session=session,
            )
        )

    def _crashed(self, error: Exception, dry_run: bool) -> Outcome:
        """A fault of ours: the file is kept in quarantine with the traceback, the others go on."""
        what = f"twinloop failed on it: {type(error).__name__}: {error}"
        if dry_run:
            return Outcome(str(self.path), Status.FAILED, message=what, exit_code=4)
        trace = "".join(traceback.format_exception(error))
        outcome = self._quarantine_whole(UnreadableError(f"{what}\n{trace}", where=str(self.path)))
        message = (
            f"{what}\n  where:    {self.path}\n  fix:      report it; the traceback is in {outcome.quarantine}"
        )
        return replace(outcome, message=message, exit_code=4)

    def _retry(self) -> str:
        return f"twinloop ingest --store {self.store.root} {self.path}"


def ingest_at(
    root: Path, options: IngestOptions, dry_run: bool, path: Path, report: Report = no_report
) -> Outcome:
    """`ingest` into the store at `root`, opened here: for processes of their own."""
    from twinloop.store.store import Store

    return ingest(Store.open(root), path, options, dry_run=dry_run, report=report)
