"""Taking one recording in: hashed, kept, made into artefacts, checked, committed; whole or not at all.

The order is what makes it safe. The raw bytes are kept first; artefacts are made in staging and then moved
to names that nothing points to; the manifest's next revision, which names them by hash, is the commit.
A process that dies anywhere before leaves the store as it was, and the same command starts over.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from twinloop.core.errors import StoreError, TwinloopError, UnreachableError, UnreadableError
from twinloop.core.ids import new_ulid
from twinloop.core.recording import Problem
from twinloop.engine.progress import Meter, no_report
from twinloop.store.claims import claim
from twinloop.store.commit import commit_recording, follow, merge_facts, register_facts
from twinloop.store.disk import NO_ROOM, write_refused
from twinloop.store.making import Making, read_options
from twinloop.store.outcome import Outcome, Status
from twinloop.store.publish import choose_tag, publish, remove_orphans, withdraw
from twinloop.store.quarantine import lost_parts, quarantine_id
from twinloop.store.queries import resolve_session, sessions_with
from twinloop.store.raw_files import RawFiles, hash_files
from twinloop.store.raw_moves import is_better, point_to
from twinloop.store.refusal import Refusal, crash_message
from twinloop.store.repair import artefacts_lost, is_broken, renew, renewed, restore_raw
from twinloop.store.sources import IngestOptions, check_paths, options_for
from twinloop.store.staging import clean, workspace
from twinloop.store.streams import Layout
from twinloop.store.tombstones import ErasedError, erased_hashes, refuse_erased

if TYPE_CHECKING:
    from twinloop.core.recording import Recording
    from twinloop.engine.progress import Report
    from twinloop.store.manifest import Manifest, RecordingEntry
    from twinloop.store.store import Store

__all__ = ["Outcome", "Status", "ingest", "ingest_at"]


def ingest(
    store: Store,
    path: Path,
    options: IngestOptions | None = None,
    *,
    dry_run: bool = False,
    passing: bool = False,
    report: Report = no_report,
) -> Outcome:
    """Take in the recording at `path`. Never raises for what is wrong with it: the outcome tells.

    Taking in the same content again, or in two processes at once, makes one recording. `passing`: the path
    will not stay, so its bytes are copied whatever its `session.toml` says.
    """
    path = path.absolute()
    try:
        clean(store.work)
        options = options_for(path, options or IngestOptions())
        check_paths(options)
        if passing:
            options = replace(options, raw="copy")
        return _Intake(store, path, options, Meter(report)).run(dry_run)
    except ErasedError as error:
        return Outcome(str(path), Status.REFUSED, message=str(error), exit_code=error.exit_code)
    except (TwinloopError, UnreachableError) as error:
        return Outcome(str(path), Status.FAILED, message=str(error), exit_code=error.exit_code)
    except OSError as error:
        if error.errno in NO_ROOM:
            message = str(write_refused(error, store.work))
        else:
            message = f"the system refused: {error.strerror}\n  where:    {error.filename or path}"
        return Outcome(str(path), Status.FAILED, message=message, exit_code=3)


class _Intake:
    """One recording on its way in."""

    def __init__(self, store: Store, path: Path, options: IngestOptions, meter: Meter) -> None:
        self.store = store
        self.path = path
        self.options = options
        self.meter = meter
        self.making = Making(store.objects, path, options, meter)
        self.refusal = Refusal(store, path, options.raw, meter)
        self.raw: RawFiles | None = None

    def run(self, dry_run: bool) -> Outcome:
        from twinloop.formats.reader import open_recording

        if not self.path.exists():
            raise UnreadableError("there is no such file or folder", where=str(self.path))
        try:
            recording = open_recording(self.path, read_options(self.options))
        except UnreadableError as error:
            if dry_run:
                raise
            return self.refusal.whole(error)
        except (TwinloopError, OSError):
            raise
        except Exception as error:
            return self._crashed(error, dry_run)
        with recording:
            stated, _ = merge_facts(self.options.facts, recording.facts)
            self.options = self.making.options = replace(self.options, facts=stated)
            if dry_run:
                return self._plan(recording)
            try:
                return self._take_in(recording)
            except UnreadableError as error:
                return self.refusal.whole(error, self.raw)
            except (TwinloopError, OSError):
                raise
            except Exception as error:
                return self._crashed(error, dry_run)

    def _plan(self, recording: Recording) -> Outcome:
        mapping, _, spans = self.making.map_and_cut(recording)
        named = len(mapping.features)
        return Outcome(
            str(self.path),
            Status.PLANNED,
            format=recording.format,
            bytes=recording.size_bytes,
            streams=len(recording.streams),
            episodes=len(spans),
            message=f"{len(recording.streams)} streams, {named} features, cut: {mapping.episodes.by.value}",
        )

    def _take_in(self, recording: Recording) -> Outcome:
        with self.meter.stage("hashing", 0.15):
            raw = self.raw = hash_files(self.path, recording.files, self.meter)
        for file in raw.files:
            refuse_erased(self.store.objects, file.sha256, file.name)
        refuse_erased(self.store.objects, raw.hash, self.path.name)
        wanted = self.options.session and resolve_session(self.store.catalog, self.options.session)
        with workspace(self.store.work, raw.hash) as staging:
            if present := self._present(recording, raw):
                return present
            if sessions := sessions_with(self.store.catalog, raw.hash):
                return self._repair(recording, raw, sessions, staging)
            claimed = self._claim(raw, wanted)
            outcome = self._store(recording, raw, follow(self.store.manifests, claimed), staging)
        if wanted in (None, claimed) or outcome.message:
            return outcome
        join = f"twinloop session join {wanted} {claimed}"
        return replace(outcome, message=f"it was on its way into this session; to have both in one: {join}")

    def _claim(self, raw: RawFiles, wanted: str | None) -> str:
        """The session that it goes into; a new one if the session of an earlier attempt was erased."""
        objects, files = self.store.objects, [file.sha256 for file in raw.files]
        return claim(
            objects,
            raw.hash,
            wanted or new_ulid(),
            insist=wanted is not None,
            files=files,
            erased=erased_hashes(objects),
        )

    def _present(self, recording: Recording, raw: RawFiles) -> Outcome | None:
        """The outcome for content that the store has, if it has it whole. Its workspace is held."""
        self.store.catalog.sync()
        sessions = sessions_with(self.store.catalog, raw.hash)
        if not sessions:
            return None
        manifest = self.store.manifests.latest(sessions[0])
        assert manifest
        entry = manifest.recording(raw.hash)
        assert entry
        if is_broken(self.store.objects, entry):
            return None
        if not lost_parts(entry.notes):
            self.store.quarantine.resolve(quarantine_id(None, self.path), sessions[0])
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
            streams=len(entry.streams),
            episodes=len(entry.episodes),
            duration_s=entry.duration_s,
            findings=self._count(self.store, manifest, entry),
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
            self._claim(raw, sessions[0])  # a collector spares what a young claim names
            raw.keep(self.store.objects)
        for session in sessions:
            point_to(self.store.manifests, session, offered)
        self.store.catalog.sync()
        return (
            "; its raw files are in the store now" if self.options.raw == "copy" else "; found in a new place"
        )

    def _repair(self, recording: Recording, raw: RawFiles, sessions: list[str], staging: Path) -> Outcome:
        """Make anew what the store has lost of a recording."""
        store, session = self.store, sessions[0]
        manifest = store.manifests.latest(session)
        held = manifest and manifest.recording(raw.hash)
        assert held
        restore_raw(store.objects, held, raw)
        if artefacts_lost(store.objects, held):
            remove_orphans(store.objects, store.manifests, session, raw.hash)
            placed = raw if held.raw == "copy" else raw.referenced()
            tag = choose_tag(store.objects, session, raw.hash)
            (made,) = self.making.make(recording, placed, Layout(staging, session, tag)).recordings
            kept = {artefact.key for artefact in held.artefacts()}
            new = renewed(store.objects, held, made).artefacts()
            publish(store.objects, staging, (artefact for artefact in new if artefact.key not in kept))
            for each in sessions:
                renew(store.manifests, store.objects, each, made)
        outcome = self._present(recording, raw)
        if outcome is None:
            raise StoreError(
                "what the store lost of this recording could not be made anew",
                where=f"session {session}",
                fix="run `twinloop store fsck`",
            )
        return replace(outcome, message=f"{outcome.message}; what was lost of it is made anew")

    def _store(self, recording: Recording, raw: RawFiles, session: str, staging: Path) -> Outcome:
        store = self.store
        remove_orphans(store.objects, store.manifests, session, raw.hash)
        if self.options.raw == "copy":
            with self.meter.stage("copying", 0.05):
                raw.keep(store.objects)
        else:
            raw = raw.referenced()
        tag = choose_tag(store.objects, session, raw.hash)
        draft = self.making.make(recording, raw, Layout(staging, session, tag))
        (entry,), episodes = draft.recordings, draft.episodes
        lost = lost_parts(entry.notes)
        broken = lost or tuple(note for note in entry.notes if note.problem is Problem.TRUNCATED)
        if broken and not any(held.stream.count for held in entry.streams):
            raise UnreadableError(f"nothing of it could be read: {broken[0].message}", where=broken[0].where)
        try:
            publish(store.objects, staging, draft.artefacts())
            raw.check_unchanged()
            refuse_erased(store.objects, raw.hash, self.path.name)
            new = register_facts(store.registry, self.options.facts)
        except (TwinloopError, UnreachableError):
            withdraw(store.objects, draft.artefacts())
            raise
        try:
            manifest = commit_recording(store.manifests, session, entry, episodes, self.options.facts)
        except TwinloopError:
            remove_orphans(store.objects, store.manifests, session, raw.hash)
            raise
        if manifest.recording(raw.hash) != entry:  # another machine was first
            withdraw(store.objects, draft.artefacts())
            if present := self._present(recording, raw):
                return present
        if self.options.raw == "copy":
            raw.keep(store.objects)  # what a collector took for a leftover in the moment before the commit
        if lost:
            self.refusal.parts(recording, raw, manifest.session, lost)
        else:
            for id in (quarantine_id(raw.hash, self.path), quarantine_id(None, self.path)):
                store.quarantine.resolve(id, manifest.session)
        with suppress(StoreError, UnreachableError):  # the manifest is what counts; the catalog catches up
            store.catalog.sync()
        return Outcome(
            str(self.path),
            Status.STORED,
            session=manifest.session,
            recording=raw.hash,
            format=recording.format,
            bytes=raw.size,
            streams=len(entry.streams),
            episodes=len(episodes),
            duration_s=entry.duration_s,
            findings=self._count(store, manifest, entry),
            lost=lost,
            quarantine=quarantine_id(raw.hash, self.path) if lost else None,
            new=tuple(new),
            exit_code=3 if lost else 0,
        )

    @staticmethod
    def _count(store: Store, manifest: Manifest, entry: RecordingEntry) -> dict[str, int]:
        from twinloop.store.reports import recording_report

        held = manifest.recording(entry.hash) or entry
        findings = recording_report(store.objects, manifest, held).findings
        return dict(Counter(finding.severity.value for finding in findings))

    def _crashed(self, error: Exception, dry_run: bool) -> Outcome:
        if dry_run:
            return Outcome(str(self.path), Status.FAILED, message=crash_message(error), exit_code=4)
        return self.refusal.crashed(error, self.raw)


def ingest_at(
    url: str, options: IngestOptions, dry_run: bool, path: Path, report: Report = no_report
) -> Outcome:
    """`ingest` into the store at `url`, opened here: for processes of their own."""
    from twinloop.store.store import Store

    return ingest(Store.open(url), path, options, dry_run=dry_run, report=report)
