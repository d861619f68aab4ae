"""The catalog: a cache of manifests, registry and journal in SQL, for queries. It can be made anew any time.

Opening brings it up to date with what other processes and hosts committed. `rebuild` empties it and reads
everything again; the result is the same. The store is read without a transaction; what was found is written
in a short one, unless another process was faster: then it is looked again, with the others waiting.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import sqlalchemy as sa

from twinloop.core.errors import StoreError, TwinloopError
from twinloop.store.catalog import tables
from twinloop.store.catalog.database import ConflictError, Database, LostConnectionError
from twinloop.store.catalog.rows import session_rows, stated_episodes
from twinloop.store.erase.order import done_ids
from twinloop.store.journal import Entry, effective
from twinloop.store.liveness import related, session_state
from twinloop.store.objects import encode_name
from twinloop.store.reports import recording_report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from sqlalchemy.engine import Connection

    from twinloop.core.finding import Finding
    from twinloop.store.catalog.rows import Row, SessionRows, StatedEpisodes
    from twinloop.store.journal import Journal
    from twinloop.store.manifest import Manifest, Manifests, RecordingEntry
    from twinloop.store.objects import Objects
    from twinloop.store.registry import Fact, RegistryOfFacts

_BATCH = 500
_TRIES = 5


@dataclass(frozen=True, slots=True)
class Known:
    """How far the catalog has read: revisions of sessions and facts, bytes of journal files."""

    sessions: dict[str, int] = field(default_factory=dict)
    facts: dict[tuple[str, str], int] = field(default_factory=dict)
    journal: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class News:
    """What the store holds that the catalog does not: `gone` and `gone_facts` are to be taken out of it.

    `edited` are the episodes of sessions that did not change themselves, but were spoken of in the journal.
    """

    gone: set[str] = field(default_factory=set)
    sessions: list[SessionRows] = field(default_factory=list)
    edited: list[StatedEpisodes] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    journal: dict[str, int] = field(default_factory=dict)
    gone_facts: set[tuple[str, str]] = field(default_factory=set)
    facts: list[Fact] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.gone or self.sessions or self.journal or self.gone_facts or self.facts)


class Catalog:
    """The catalog of one store, in the database at `url`; in PostgreSQL, in a schema of the store's own."""

    def __init__(
        self,
        url: str,
        objects: Objects,
        manifests: Manifests,
        journal: Journal,
        registry: RegistryOfFacts,
        *,
        schema: str = "",
    ) -> None:
        self._objects = objects
        self._manifests = manifests
        self._journal = journal
        self._registry = registry
        self._database = Database(url, schema)
        #: What could not be taken in because it is damaged: `fsck` says more.
        self.problems: list[TwinloopError] = []

    def open(self) -> None:
        """Make or migrate the schema and bring the content up to date.

        A SQLite catalog that is damaged is made anew; one that may not be written gives way to one in memory.

        Raises:
            StoreError: the database cannot be used, or a later version of twinloop made the catalog.
        """
        try:
            self._open()
        except StoreError as error:
            if not self._database.give_way(error):
                raise
            self._open()

    def _open(self) -> None:
        self._database.prepare()
        self.sync()

    def reading(self) -> AbstractContextManager[Connection]:
        """A connection for queries."""
        return self._database.reading()

    def sync(self) -> None:
        """Take in what was committed since the last time. A connection that is lost is made anew, once.

        After an erasure that this catalog has not seen, everything is read again: what went from a journal
        may stand in any row.

        Raises:
            StoreError: the catalog cannot be written (a full disk, a lost connection).
        """
        try:
            self._sync()
        except LostConnectionError:
            self._sync()

    def rebuild(self, *, ending: str | None = None) -> None:
        """Empty the catalog and read everything again. `ending`: the id of an erasure that ends with this."""
        self.problems.clear()
        erasures = done_ids(self._objects) | ({ending} if ending else set())
        news = self._news(Known())
        with self._database.writing() as connection:
            for table in tables.TABLES.sorted_tables:
                connection.execute(table.delete())
            self._write(connection, news)
        self._database.let_go()
        with self._database.writing() as connection:
            connection.execute(tables.erasures.delete())
            _insert(connection, tables.erasures, ({"id": id} for id in sorted(erasures)))
        self._catch_up()

    def stale(self) -> list[str]:
        """What the catalog has wrong against a new one made in memory, for `fsck`; empty when equal."""
        self.sync()
        fresh = Catalog("sqlite://", self._objects, self._manifests, self._journal, self._registry)
        fresh.open()
        with self.reading() as ours, fresh.reading() as theirs:
            return [
                table.name
                for table in tables.TABLES.sorted_tables
                if not _equal(_content(ours, table), _content(theirs, table))
            ]

    def entries(self, connection: Connection, targets: Sequence[str]) -> list[Entry]:
        """The journal entries about these episodes that hold, in order."""
        found = list(self._about(connection, targets))
        undos = self._undos(connection, found)
        return sorted(effective([*found, *undos]), key=lambda entry: entry.id)

    def _about(self, connection: Connection, targets: Sequence[str]) -> Iterator[Entry]:
        for some in _batches(targets):
            query = sa.select(tables.journal).where(tables.journal.c.target.in_(some))
            for row in connection.execute(query):
                yield Entry(row.id, row.at, row.by, row.kind, row.target, row.data, row.command)

    def _undos(self, connection: Connection, entries: list[Entry]) -> list[Entry]:
        """The undos of these entries, the undos of those, and so on."""
        undos: list[Entry] = []
        while entries:
            named = {name for entry in entries for name in (entry.id, entry.command) if name}
            entries = list(self._about(connection, list(named)))
            undos += entries
        return undos

    def _sync(self) -> None:
        with self.reading() as connection:
            seen = set(connection.execute(sa.select(tables.erasures.c.id)).scalars())
        if done_ids(self._objects) <= seen:
            self._catch_up()
        else:
            self.rebuild()

    def _catch_up(self) -> None:
        with suppress(ConflictError):
            if self._caught_up(self._database.writing):
                return
        for _ in range(_TRIES):
            with suppress(ConflictError), self._database.turn() as transaction:
                if self._caught_up(transaction):
                    return
        raise StoreError(
            "the catalog did not come up to date: the store changed each time that it was read",
            where=self._database.place,
            fix="run the same command again; `twinloop store fsck` tells if the store contradicts itself",
        )

    def _caught_up(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> bool:
        """Read the store, and write what is new unless another process wrote meanwhile: False then.

        Raises:
            ConflictError: the store changed while it was being read.
        """
        self.problems.clear()
        with self.reading() as connection:
            known = _known(connection)
        news = self._news(known)
        if not news:
            return True
        with transaction() as connection:
            if unchanged := _known(connection) == known:
                self._write(connection, news)
        return unchanged

    def _news(self, known: Known) -> News:
        """What the store holds beyond what is known. Reads the store; no transaction is open."""
        news = News()
        self._read_journal(known, news)
        self._read_registry(known, news)
        changed = self._changed_sessions(known)
        news.gone |= changed  # those that are not known too: rows of theirs may have stayed behind
        self._read_sessions(changed, news)
        for session in self._spoken_of(news.entries) - changed - news.gone:
            if manifest := self._latest(session):
                news.edited.append(stated_episodes(manifest))
        return news

    def _changed_sessions(self, known: Known) -> set[str]:
        present = self._manifests.latest_revisions()
        changed = {session for session, number in present.items() if known.sessions.get(session) != number}
        return changed | (known.sessions.keys() - present.keys())

    def _read_sessions(self, changed: set[str], news: News) -> None:
        """The rows of changed sessions, and of those whose state may depend on them."""
        neighbours: set[str] = set()
        for session in sorted(changed):
            if manifest := self._latest(session):
                news.sessions.append(self._rows(manifest))
                neighbours |= related(manifest)
        for session in sorted(neighbours - changed):
            if manifest := self._latest(session):
                news.gone.add(session)
                news.sessions.append(self._rows(manifest))

    def _latest(self, session: str) -> Manifest | None:
        try:
            manifest = self._manifests.latest(session)
            if manifest and manifest.session != session:
                raise StoreError(
                    f"the manifest of session {session} is of session {manifest.session}",
                    fix="run `twinloop store fsck`",
                )
        except TwinloopError as error:
            self.problems.append(error)
            return None
        return manifest

    def _rows(self, manifest: Manifest) -> SessionRows:
        state = session_state(manifest, self._latest)
        findings = [
            (recording, finding)
            for recording in manifest.recordings
            for finding in self._findings(manifest, recording)
        ]
        return session_rows(manifest, state, findings)

    def _findings(self, manifest: Manifest, recording: RecordingEntry) -> tuple[Finding, ...]:
        try:
            return recording_report(self._objects, manifest, recording).findings
        except TwinloopError as error:
            self.problems.append(error)
            return ()

    def _read_journal(self, known: Known, news: News) -> None:
        found: dict[str, Entry] = {}
        for key, size in self._journal.sizes().items():
            begin = known.journal.get(key, 0)
            if size != begin:
                part = self._journal.read(key, begin)
                found |= {entry.id: entry for entry in part.entries}
                if part.end != begin:
                    news.journal[key] = part.end
        news.entries = list(found.values())

    def _spoken_of(self, entries: Sequence[Entry]) -> set[str]:
        """The sessions with episodes that entries are about, looking through undos to what they take back."""
        targets: set[str] = set()
        names = {entry.target for entry in entries}
        sessions: set[str] = set()
        with self.reading() as connection:
            while names:
                targets |= names
                behind = {entry.target for entry in entries if {entry.id, entry.command} & names}
                for some in _batches(list(names)):
                    query = sa.select(tables.journal.c.target).where(
                        sa.or_(tables.journal.c.id.in_(some), tables.journal.c.command.in_(some))
                    )
                    behind |= {row.target for row in connection.execute(query)}
                names = behind - targets
            for some in _batches(list(targets)):
                query = sa.select(tables.episodes.c.session).where(tables.episodes.c.id.in_(some)).distinct()
                sessions |= {row.session for row in connection.execute(query)}
        return sessions

    def _read_registry(self, known: Known, news: News) -> None:
        present = self._registry.latest_revisions()
        news.gone_facts = known.facts.keys() - present.keys()
        for (noun, name), number in present.items():
            if known.facts.get((noun, name)) != number:
                try:
                    news.facts.append(self._registry.read(noun, name, number))
                except TwinloopError as error:
                    self.problems.append(error)

    def _write(self, connection: Connection, news: News) -> None:
        for key, end in news.journal.items():
            _replace(connection, tables.journal_files, {"key": key}, {"read": end})
        _insert(connection, tables.journal, map(asdict, _unheard(connection, news.entries)))
        for noun, name in news.gone_facts:
            _delete(connection, tables.facts, {"noun": noun, "name": name})
        for fact in news.facts:
            place: Row = {"noun": fact.noun, "name": encode_name(fact.id)}
            _replace(connection, tables.facts, place, asdict(fact))
        for some in _batches(sorted(news.gone)):
            for table in (tables.recordings, tables.streams, tables.episodes, tables.findings):
                connection.execute(table.delete().where(table.c.session.in_(some)))
            connection.execute(tables.sessions.delete().where(tables.sessions.c.id.in_(some)))
        for sessions in _batches(news.sessions):
            for table in (tables.sessions, tables.recordings, tables.streams, tables.findings):
                _insert(connection, table, (row for rows in sessions for row in rows.rows.get(table, ())))
            self._write_episodes(connection, [rows.stated for rows in sessions])
        for edited in _batches(news.edited):
            names = [stated.session for stated in edited]
            connection.execute(tables.episodes.delete().where(tables.episodes.c.session.in_(names)))
            self._write_episodes(connection, edited)

    def _write_episodes(self, connection: Connection, stated: Sequence[StatedEpisodes]) -> None:
        edits = self.entries(connection, [episode.id for each in stated for episode in each.episodes])
        _insert(connection, tables.episodes, (row for each in stated for row in each.rows(edits)))


def _known(connection: Connection) -> Known:
    s, f, j = tables.sessions.c, tables.facts.c, tables.journal_files.c
    return Known(
        {row.id: row.revision for row in connection.execute(sa.select(s.id, s.revision))},
        {
            (row.noun, row.name): row.revision
            for row in connection.execute(sa.select(f.noun, f.name, f.revision))
        },
        {row.key: row.read for row in connection.execute(sa.select(j.key, j.read))},
    )


def _unheard(connection: Connection, entries: Sequence[Entry]) -> list[Entry]:
    """The entries that the catalog does not have: a copied journal says the same again."""
    heard: set[str] = set()
    for some in _batches([entry.id for entry in entries]):
        query = sa.select(tables.journal.c.id).where(tables.journal.c.id.in_(some))
        heard |= {row.id for row in connection.execute(query)}
    return [entry for entry in entries if entry.id not in heard]


def _content(connection: Connection, table: sa.Table) -> Iterator[sa.Row]:  # type: ignore[type-arg]
    query = sa.select(table).order_by(*table.primary_key.columns)
    return iter(connection.execution_options(yield_per=_BATCH).execute(query))


def _equal(ours: Iterator[object], theirs: Iterator[object]) -> bool:
    end = object()
    while (row := next(ours, end)) == next(theirs, end):
        if row is end:
            return True
    return False


def _batches(items: Sequence) -> Iterator[Sequence]:  # type: ignore[type-arg]
    return (items[start : start + _BATCH] for start in range(0, len(items), _BATCH))


def _insert(connection: Connection, table: sa.Table, rows: Iterable[Row]) -> None:
    if found := list(rows):
        connection.execute(table.insert(), found)


def _delete(connection: Connection, table: sa.Table, key: Row) -> None:
    connection.execute(table.delete().where(*(table.c[name] == value for name, value in key.items())))


def _replace(connection: Connection, table: sa.Table, key: Row, row: Row) -> None:
    _delete(connection, table, key)
    connection.execute(table.insert(), {**key, **row})
