"""The catalog: a cache of manifests, registry and journal in SQL, for queries. It can be made anew any time.

Opening brings it up to date with what other processes and hosts committed. `rebuild` empties it and reads
everything again; the result is the same.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

import sqlalchemy as sa
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DatabaseError, OperationalError
from sqlalchemy.pool import StaticPool

from twinloop.core.errors import StoreError, TwinloopError
from twinloop.store import catalog_tables as tables
from twinloop.store.edits import apply_edits
from twinloop.store.journal import Entry, effective
from twinloop.store.liveness import State, related, session_state
from twinloop.store.quarantine import is_lost
from twinloop.store.registry import NOUNS
from twinloop.store.reports import recording_report

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from sqlalchemy.engine import Connection, Engine

    from twinloop.core.finding import Finding
    from twinloop.store.journal import Journal
    from twinloop.store.manifest import Manifest, Manifests, RecordingEntry
    from twinloop.store.objects import Objects
    from twinloop.store.registry import RegistryOfFacts

_BUSY_S = 60
_BATCH = 500


class Catalog:
    """The catalog of one store."""

    def __init__(
        self, url: str, objects: Objects, manifests: Manifests, journal: Journal, registry: RegistryOfFacts
    ) -> None:
        self._objects = objects
        self._manifests = manifests
        self._journal = journal
        self._registry = registry
        self._url = url
        self._engine = _connect(url)
        #: What could not be taken in because it is damaged: `fsck` says more.
        self.problems: list[TwinloopError] = []

    def open(self) -> None:
        """Make or migrate the schema and bring the content up to date.

        A SQLite catalog that is damaged is made anew; one that may not be written gives way to one in memory.
        """
        try:
            self._open()
        except OperationalError as error:
            if not _is_sqlite(self._url) or "locked" in str(error):
                raise _catalog_error(self._url, error) from error
            self._engine = _connect("sqlite://")
            self._open()
        except DatabaseError as error:
            if not _is_sqlite(self._url):
                raise _catalog_error(self._url, error) from error
            self._remove_file()
            self._open()

    def _open(self) -> None:
        with self._engine.begin() as connection:
            _lock(connection)
            if _schema(connection) != tables.SCHEMA:
                upgrade(connection)
            self._sync(connection)

    def _remove_file(self) -> None:
        from pathlib import Path

        self._engine.dispose()
        database = make_url(self._url).database or ""
        for suffix in ("", "-wal", "-shm"):
            Path(database + suffix).unlink(missing_ok=True)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection for queries."""
        with self._engine.connect() as connection:
            yield connection

    def sync(self) -> None:
        """Take in what was committed since the last time.

        Raises:
            StoreError: the catalog cannot be written (a full disk, a lost connection).
        """
        try:
            with self._engine.begin() as connection:
                _lock(connection)
                self._sync(connection)
        except DatabaseError as error:
            raise _catalog_error(self._url, error) from error

    def rebuild(self) -> None:
        """Empty the catalog and read everything again."""
        with self._engine.begin() as connection:
            _lock(connection)
            for table in tables.TABLES.sorted_tables:
                connection.execute(table.delete())
            self._sync(connection)

    def stale(self) -> list[str]:
        """What the catalog has wrong against a new one made in memory, for `fsck`; empty when equal."""
        self.sync()
        fresh = Catalog("sqlite://", self._objects, self._manifests, self._journal, self._registry)
        fresh.open()
        wrong = []
        with self.reading() as ours, fresh.reading() as theirs:
            for table in tables.TABLES.sorted_tables:
                query = sa.select(table).order_by(*table.primary_key.columns)
                if ours.execute(query).fetchall() != theirs.execute(query).fetchall():
                    wrong.append(table.name)
        return wrong

    def _latest(self, session: str) -> Manifest | None:
        try:
            return self._manifests.latest(session)
        except TwinloopError as error:
            self.problems.append(error)
            return None

    def _sync(self, connection: Connection) -> None:
        self.problems.clear()
        touched = self._read_journal(connection)
        changed = self._changed_sessions(connection)
        for batch_start in range(0, len(changed), _BATCH):
            self._replace_sessions(connection, changed[batch_start : batch_start + _BATCH])
        if touched:
            self._reapply_edits(connection, touched)
        self._read_registry(connection)

    def _changed_sessions(self, connection: Connection) -> list[str]:
        known = {row.id: row.revision for row in connection.execute(sa.select(tables.sessions))}
        present = self._manifests.latest_revisions()
        changed = {session for session, number in present.items() if known.get(session) != number}
        changed |= known.keys() - present.keys()
        neighbours = {
            other for session in changed if (manifest := self._latest(session)) for other in related(manifest)
        }
        return sorted(changed | neighbours)

    def _replace_sessions(self, connection: Connection, sessions: list[str]) -> None:
        for table in (tables.recordings, tables.streams, tables.episodes, tables.findings):
            connection.execute(table.delete().where(table.c.session.in_(sessions)))
        connection.execute(tables.sessions.delete().where(tables.sessions.c.id.in_(sessions)))
        for session in sessions:
            if manifest := self._latest(session):
                self._insert_session(connection, manifest)

    def _insert_session(self, connection: Connection, manifest: Manifest) -> None:
        state = session_state(manifest, self._latest)
        connection.execute(tables.sessions.insert(), _session_row(manifest, state))
        if state is not State.LIVE:
            return
        recordings: list[dict[str, object]] = []
        streams: list[dict[str, object]] = []
        findings: list[tuple[str, Finding]] = []
        for position, recording in enumerate(manifest.recordings):
            recordings.append(
                {
                    "session": manifest.session,
                    "hash": recording.hash,
                    "position": position,
                    "name": recording.name,
                    "format": recording.format,
                    "raw": recording.raw,
                    "bytes": recording.size,
                    "taken_at": recording.taken_at,
                    "lost": any(is_lost(note) for note in recording.notes),
                }
            )
            streams += [
                {
                    "session": manifest.session,
                    "recording": recording.hash,
                    "position": number,
                    "name": entry.stream.name,
                    "kind": entry.stream.kind.value,
                    "role": entry.stream.role.value if entry.stream.role else None,
                    "count": entry.stream.count,
                    "start_ns": entry.stream.start_ns,
                    "end_ns": entry.stream.end_ns,
                }
                for number, entry in enumerate(recording.streams, start=len(streams))
            ]
            findings += [(recording.hash, f) for f in self._findings(manifest, recording)]
        finding_rows = [
            {
                "session": manifest.session,
                "position": position,
                "recording": hash,
                "code": finding.code,
                "name": finding.name,
                "severity": finding.severity.value,
                "episode": finding.episode,
                "stream": finding.stream,
                "message": finding.message,
                "fingerprint": finding.fingerprint,
            }
            for position, (hash, finding) in enumerate(findings)
        ]
        _insert(connection, tables.recordings, recordings)
        _insert(connection, tables.streams, streams)
        _insert(connection, tables.findings, finding_rows)
        _insert(connection, tables.episodes, self._episode_rows(connection, manifest))

    def _findings(self, manifest: Manifest, recording: RecordingEntry) -> tuple[Finding, ...]:
        try:
            return recording_report(self._objects, manifest, recording).findings
        except TwinloopError as error:
            self.problems.append(error)
            return ()

    def _episode_rows(self, connection: Connection, manifest: Manifest) -> list[dict[str, object]]:
        entries = self.entries(connection, [episode.id for episode in manifest.episodes])
        by_episode: dict[str, list[Entry]] = {}
        for entry in entries:
            by_episode.setdefault(entry.target, []).append(entry)
        rows = []
        for stated in manifest.episodes:
            episode = apply_edits(stated, by_episode.get(stated.id, ()))
            rows.append(
                {
                    "id": episode.id,
                    "session": manifest.session,
                    "number": episode.index,
                    "recording": episode.recording,
                    "start_ns": episode.start_ns,
                    "end_ns": episode.end_ns,
                    "task": episode.facts.task or manifest.facts.task,
                    "operator": episode.facts.operator or manifest.facts.operator,
                    "instruction": episode.instruction,
                    "outcome": episode.outcome.value,
                    "excluded": episode.excluded,
                }
            )
        return rows

    def entries(self, connection: Connection, targets: list[str]) -> list[Entry]:
        """The journal entries about these episodes that hold, in order."""
        found: list[Entry] = []
        for start in range(0, len(targets), _BATCH):
            found += self._about(connection, targets[start : start + _BATCH])
        undos = self._undos(connection, found)
        return sorted(effective([*found, *undos]), key=lambda entry: entry.id)

    def _about(self, connection: Connection, targets: list[str]) -> list[Entry]:
        query = sa.select(tables.journal).where(tables.journal.c.target.in_(targets))
        return [_entry(row) for row in connection.execute(query.order_by(tables.journal.c.id))]

    def _undos(self, connection: Connection, entries: list[Entry]) -> list[Entry]:
        """The undos of these entries, the undos of those, and so on."""
        undos: list[Entry] = []
        while entries:
            named = list({name for entry in entries for name in (entry.id, entry.command) if name})
            entries = [
                entry
                for start in range(0, len(named), _BATCH)
                for entry in self._about(connection, named[start : start + _BATCH])
            ]
            undos += entries
        return undos

    def _read_journal(self, connection: Connection) -> set[str]:
        """Take in new journal entries; give the episodes that they are about, by way of undos too."""
        read = {row.key: row.read for row in connection.execute(sa.select(tables.journal_files))}
        new: dict[str, Entry] = {}
        for key, size in self._journal.sizes().items():
            if size == read.get(key, 0):
                continue
            part = self._journal.read(key, read.get(key, 0))
            new |= {entry.id: entry for entry in part.entries}
            connection.execute(tables.journal_files.delete().where(tables.journal_files.c.key == key))
            connection.execute(tables.journal_files.insert(), {"key": key, "read": part.end})
        ids = list(new)
        for start in range(0, len(ids), _BATCH):
            some = ids[start : start + _BATCH]
            query = sa.select(tables.journal.c.id).where(tables.journal.c.id.in_(some))
            for row in connection.execute(query):
                del new[row.id]
        _insert(connection, tables.journal, [_entry_row(entry) for entry in new.values()])
        return self._targets_behind(connection, list(new.values()))

    def _targets_behind(self, connection: Connection, entries: list[Entry]) -> set[str]:
        """The targets of entries, looking through undos to what they take back."""
        targets: set[str] = set()
        names = {entry.target for entry in entries}
        while names:
            targets |= names
            behind: set[str] = set()
            wanted = list(names)
            for start in range(0, len(wanted), _BATCH):
                some = wanted[start : start + _BATCH]
                query = sa.select(tables.journal.c.target).where(
                    sa.or_(tables.journal.c.id.in_(some), tables.journal.c.command.in_(some))
                )
                behind |= {row.target for row in connection.execute(query)}
            names = behind - targets
        return targets

    def _reapply_edits(self, connection: Connection, targets: set[str]) -> None:
        wanted = list(targets)
        sessions: set[str] = set()
        for start in range(0, len(wanted), _BATCH):
            some = wanted[start : start + _BATCH]
            query = sa.select(tables.episodes.c.session).where(tables.episodes.c.id.in_(some)).distinct()
            sessions |= {row.session for row in connection.execute(query)}
        for session in sessions:
            manifest = self._latest(session)
            if manifest is None:
                continue
            connection.execute(tables.episodes.delete().where(tables.episodes.c.session == session))
            _insert(connection, tables.episodes, self._episode_rows(connection, manifest))

    def _read_registry(self, connection: Connection) -> None:
        for noun in NOUNS:
            query = sa.select(tables.facts.c.id, tables.facts.c.revision).where(tables.facts.c.noun == noun)
            known = {row.id: row.revision for row in connection.execute(query)}
            for fact in self._registry.news(noun, known, self.problems):
                connection.execute(
                    tables.facts.delete().where(tables.facts.c.noun == noun, tables.facts.c.id == fact.id)
                )
                connection.execute(tables.facts.insert(), asdict(fact))


def upgrade(connection: Connection) -> None:
    """Bring the schema behind a connection to the last migration."""
    from pathlib import Path

    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def local_catalog_url(root: Path) -> str:
    """The URL of the SQLite catalog beside a local store."""
    return f"sqlite:///{root / 'catalog.sqlite'}"


def _connect(url: str) -> Engine:
    if not _is_sqlite(url):
        return sa.create_engine(url)
    if make_url(url).database in (None, ""):
        return sa.create_engine(url, poolclass=StaticPool)
    engine = sa.create_engine(url, connect_args={"timeout": _BUSY_S})

    @sa.event.listens_for(engine, "connect")
    def _tune(connection: object, _: object) -> None:
        cursor = connection.cursor()  # type: ignore[attr-defined]
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=NORMAL")
        cursor.close()

    return engine


def _is_sqlite(url: str) -> bool:
    return make_url(url).get_backend_name() == "sqlite"


def _lock(connection: Connection) -> None:
    """Let one writer at a time sync, so that none works from what another is about to change."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    elif connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7239015517)")


def _schema(connection: Connection) -> str | None:
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    return connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()


def _catalog_error(url: str, error: Exception) -> StoreError:
    return StoreError(
        f"the catalog cannot be used: {str(error).splitlines()[0]}",
        where=make_url(url).render_as_string(hide_password=True),
        fix="check `catalog` in store.toml; `twinloop store rebuild` makes a SQLite catalog anew",
    )


def _session_row(manifest: Manifest, state: State) -> dict[str, object]:
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


def _insert(connection: Connection, table: sa.Table, rows: Sequence[Mapping[str, object]]) -> None:
    if rows:
        connection.execute(table.insert(), [dict(row) for row in rows])


def _entry_row(entry: Entry) -> dict[str, object]:
    return {**asdict(entry), "data": dict(entry.data)}


def _entry(row: sa.Row) -> Entry:  # type: ignore[type-arg]
    return Entry(row.id, row.at, row.by, row.kind, row.target, row.data, row.command)
