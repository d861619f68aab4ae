"""What the catalog holds of a session: rows of its tables, made from manifest and reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.store.catalog import tables
from twinloop.store.edits import apply_edits
from twinloop.store.liveness import State
from twinloop.store.quarantine import is_lost

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import sqlalchemy as sa

    from twinloop.core.finding import Finding
    from twinloop.core.session import Episode, SessionFacts
    from twinloop.store.journal import Entry
    from twinloop.store.manifest import Manifest, RecordingEntry

Row = dict[str, object]


@dataclass(frozen=True, slots=True)
class StatedEpisodes:
    """The episodes of a session as its manifest states them, before edits."""

    session: str
    facts: SessionFacts
    episodes: tuple[Episode, ...]

    def rows(self, edits: Iterable[Entry]) -> list[Row]:
        """Rows of the episodes after edits, which may be about other episodes too; in order."""
        about: dict[str, list[Entry]] = {}
        for entry in edits:
            about.setdefault(entry.target, []).append(entry)
        return [self._row(apply_edits(stated, about.get(stated.id, ()))) for stated in self.episodes]

    def _row(self, episode: Episode) -> Row:
        return {
            "id": episode.id,
            "session": self.session,
            "number": episode.index,
            "recording": episode.recording,
            "start_ns": episode.start_ns,
            "end_ns": episode.end_ns,
            "task": episode.facts.task or self.facts.task,
            "operator": episode.facts.operator or self.facts.operator,
            "instruction": episode.instruction,
            "outcome": episode.outcome.value,
            "excluded": episode.excluded,
        }


@dataclass(frozen=True, slots=True)
class SessionRows:
    """All rows of a session but its episodes', which depend on the journal; a live one has more than one."""

    stated: StatedEpisodes
    rows: Mapping[sa.Table, Sequence[Row]]


def stated_episodes(manifest: Manifest) -> StatedEpisodes:
    """The episodes of a manifest."""
    return StatedEpisodes(manifest.session, manifest.facts, manifest.episodes)


def session_rows(
    manifest: Manifest, state: State, findings: Sequence[tuple[RecordingEntry, Finding]]
) -> SessionRows:
    """The rows of a session in this state, of which the checks said `findings`."""
    session = [_session_row(manifest, state)]
    if state is not State.LIVE:
        nothing = StatedEpisodes(manifest.session, manifest.facts, ())
        return SessionRows(nothing, {tables.sessions: session})
    return SessionRows(
        stated_episodes(manifest),
        {
            tables.sessions: session,
            tables.recordings: [
                _recording_row(manifest.session, position, recording)
                for position, recording in enumerate(manifest.recordings)
            ],
            tables.streams: _stream_rows(manifest),
            tables.findings: [
                _finding_row(manifest.session, position, recording, finding)
                for position, (recording, finding) in enumerate(findings)
            ],
        },
    )


def _session_row(manifest: Manifest, state: State) -> Row:
    facts = manifest.facts
    spans = [extent for recording in manifest.recordings if (extent := recording.extent)]
    return {
        "id": manifest.session,
        "revision": manifest.revision,
        "state": state.value,
        "merged_into": manifest.merged_into if state is State.MERGED else None,
        "taken_at": min((recording.taken_at for recording in manifest.recordings), default=manifest.at),
        "task": facts.task,
        "operator": facts.operator,
        "site": facts.site,
        "robot": facts.robot,
        "rig": facts.rig,
        "consent": facts.consent,
        "meta": dict(facts.meta),
        "start_ns": min((start for start, _ in spans), default=None),
        "end_ns": max((end for _, end in spans), default=None),
        "bytes": sum(recording.size for recording in manifest.recordings),
    }


def _recording_row(session: str, position: int, recording: RecordingEntry) -> Row:
    return {
        "session": session,
        "hash": recording.hash,
        "position": position,
        "name": recording.name,
        "format": recording.format,
        "raw": recording.raw,
        "bytes": recording.size,
        "taken_at": recording.taken_at,
        "lost": any(is_lost(note) for note in recording.notes),
    }


def _stream_rows(manifest: Manifest) -> list[Row]:
    held = [(recording, entry.stream) for recording in manifest.recordings for entry in recording.streams]
    return [
        {
            "session": manifest.session,
            "recording": recording.hash,
            "position": position,
            "name": stream.name,
            "kind": stream.kind.value,
            "role": stream.role.value if stream.role else None,
            "count": stream.count,
            "start_ns": stream.start_ns,
            "end_ns": stream.end_ns,
        }
        for position, (recording, stream) in enumerate(held)
    ]


def _finding_row(session: str, position: int, recording: RecordingEntry, finding: Finding) -> Row:
    return {
        "session": session,
        "position": position,
        "recording": recording.hash,
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "episode": finding.episode,
        "stream": finding.stream,
        "message": finding.message,
        "fingerprint": finding.fingerprint,
    }
