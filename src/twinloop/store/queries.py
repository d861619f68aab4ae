"""What is asked of the catalog: sessions, episodes, recordings, and ids from what a user types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import sqlalchemy as sa

from twinloop.core.errors import StoreError, UsageError
from twinloop.core.ids import ULID_LENGTH
from twinloop.store import catalog_tables as tables
from twinloop.store.liveness import State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Connection

    from twinloop.store.catalog import Catalog

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session as `twinloop ls` shows it. Counts of findings are by severity."""

    id: str
    taken_at: str
    task: str | None
    operator: str | None
    site: str | None
    robot: str | None
    start_ns: int | None
    end_ns: int | None
    bytes: int
    recordings: tuple[str, ...]
    formats: tuple[str, ...]
    episodes: int
    excluded: int
    errors: int
    warnings: int
    lost: bool


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """An episode with its edits applied."""

    id: str
    session: str
    number: int
    recording: str
    start_ns: int
    end_ns: int
    task: str | None
    operator: str | None
    instruction: str | None
    outcome: str
    excluded: str | None

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return (self.end_ns - self.start_ns) / 1e9


def list_sessions(
    catalog: Catalog,
    *,
    task: str | None = None,
    operator: str | None = None,
    site: str | None = None,
    robot: str | None = None,
    ids: Sequence[str] | None = None,
) -> list[SessionRow]:
    """Live sessions, oldest first."""
    s = tables.sessions
    query = sa.select(s).where(s.c.state == State.LIVE).order_by(s.c.id)
    for column, wanted in ((s.c.task, task), (s.c.operator, operator), (s.c.site, site), (s.c.robot, robot)):
        if wanted is not None:
            query = query.where(column == wanted)
    if ids is not None:
        query = query.where(s.c.id.in_(ids))
    with catalog.reading() as connection:
        rows = connection.execute(query).fetchall()
        recordings = _grouped(connection, sa.select(tables.recordings).order_by(tables.recordings.c.position))
        episodes = _counts(connection, tables.episodes)
        excluded = _counts(connection, tables.episodes, tables.episodes.c.excluded.is_not(None))
        errors = _counts(connection, tables.findings, tables.findings.c.severity == "error")
        warnings = _counts(connection, tables.findings, tables.findings.c.severity == "warning")
    return [
        SessionRow(
            id=row.id,
            taken_at=row.taken_at,
            task=row.task,
            operator=row.operator,
            site=row.site,
            robot=row.robot,
            start_ns=row.start_ns,
            end_ns=row.end_ns,
            bytes=row.bytes,
            recordings=tuple(recording.name for recording in recordings.get(row.id, ())),
            formats=tuple(dict.fromkeys(recording.format for recording in recordings.get(row.id, ()))),
            episodes=episodes.get(row.id, 0),
            excluded=excluded.get(row.id, 0),
            errors=errors.get(row.id, 0),
            warnings=warnings.get(row.id, 0),
            lost=any(recording.lost for recording in recordings.get(row.id, ())),
        )
        for row in rows
        if recordings.get(row.id)
    ]


def list_episodes(
    catalog: Catalog,
    *,
    session: str | None = None,
    task: str | None = None,
    outcome: str | None = None,
    excluded: bool | None = None,
    ids: Sequence[str] | None = None,
) -> list[EpisodeRow]:
    """Episodes of live sessions, by session and number. `excluded`: only those that are, or are not."""
    e = tables.episodes
    query = sa.select(e).order_by(e.c.session, e.c.number)
    for column, wanted in ((e.c.session, session), (e.c.task, task), (e.c.outcome, outcome)):
        if wanted is not None:
            query = query.where(column == wanted)
    if excluded is not None:
        query = query.where(e.c.excluded.is_not(None) if excluded else e.c.excluded.is_(None))
    if ids is not None:
        query = query.where(e.c.id.in_(ids))
    with catalog.reading() as connection:
        return [EpisodeRow(**row._mapping) for row in connection.execute(query)]


def sessions_with(catalog: Catalog, hash: str) -> list[str]:
    """The live sessions that hold the recording of this hash."""
    r = tables.recordings
    with catalog.reading() as connection:
        rows = connection.execute(
            sa.select(r.c.session).where(r.c.hash == hash).order_by(r.c.session).distinct()
        )
        return [row.session for row in rows]


def resolve_session(catalog: Catalog, text: str) -> str:
    """The id of the session that `text` means: an id, the start or end of one, or ``last``.

    A session that was joined into another means that other one.

    Raises:
        StoreError: there is none. UsageError: there are several.
    """
    s = tables.sessions
    with catalog.reading() as connection:
        if text == "last":
            row = connection.execute(
                sa.select(s.c.id).where(s.c.state == State.LIVE).order_by(s.c.taken_at.desc(), s.c.id.desc())
            ).first()
            if row is None:
                raise StoreError("the store holds no session yet", fix="twinloop ingest PATH")
            return str(row.id)
        query = sa.select(s.c.id, s.c.merged_into).where(s.c.state.not_in((State.PENDING, State.ERASED)))
        rows = connection.execute(query.where(_means(s.c.id, text))).fetchall()
        while len(rows) == 1 and rows[0].merged_into:
            rows = connection.execute(query.where(s.c.id == rows[0].merged_into)).fetchall()
    return _only([row.id for row in rows], "session", text, "twinloop ls")


def resolve_episode(catalog: Catalog, text: str) -> str:
    """The id of the episode that `text` means: an id, the start or end of one, or ``SESSION/NUMBER``.

    Raises:
        StoreError: there is none. UsageError: there are several.
    """
    e = tables.episodes
    session, slash, number = text.rpartition("/")
    if slash:
        if not number.isdecimal():
            raise UsageError(f"{text!r} names no episode", expected="SESSION/NUMBER, e.g. last/3")
        id = resolve_session(catalog, session)
        where = sa.and_(e.c.session == id, e.c.number == int(number))
    else:
        where = _means(e.c.id, text)
    with catalog.reading() as connection:
        rows = connection.execute(sa.select(e.c.id).where(where)).fetchall()
    return _only([row.id for row in rows], "episode", text, "twinloop episode ls")


def resolve_episodes(catalog: Catalog, texts: Sequence[str]) -> list[str]:
    """The ids that several texts mean; ``SESSION/3-7`` is a range and ``SESSION/*`` all of a session."""
    ids: list[str] = []
    for text in texts:
        session, slash, numbers = text.rpartition("/")
        first, dash, last = numbers.partition("-")
        if slash and numbers == "*":
            rows = list_episodes(catalog, session=resolve_session(catalog, session))
            ids += [row.id for row in rows]
        elif slash and dash and first.isdecimal() and last.isdecimal():
            ids += [
                resolve_episode(catalog, f"{session}/{number}") for number in range(int(first), int(last) + 1)
            ]
        else:
            ids.append(resolve_episode(catalog, text))
    return list(dict.fromkeys(ids))


def _means(column: sa.Column[str], text: str) -> sa.ColumnElement[bool]:
    wanted = text.upper()
    if len(wanted) == ULID_LENGTH:
        return column == wanted
    return sa.or_(column.startswith(wanted, autoescape=True), column.endswith(wanted, autoescape=True))


def _only(ids: list[str], noun: str, text: str, listing: str) -> str:
    if not ids:
        raise StoreError(f"there is no {noun} {text!r} in the store", fix=f"see `{listing}`")
    if len(ids) > 1:
        some = ", ".join(ids[:_SHOWN]) + (", ..." if len(ids) > _SHOWN else "")
        raise UsageError(f"{text!r} means {len(ids)} {noun}s", expected=f"one of: {some}")
    return ids[0]


def _grouped(connection: Connection, query: sa.Select) -> dict[str, list[sa.Row]]:  # type: ignore[type-arg]
    groups: dict[str, list[sa.Row]] = {}  # type: ignore[type-arg]
    for row in connection.execute(query):
        groups.setdefault(row.session, []).append(row)
    return groups


def _counts(
    connection: Connection, table: sa.Table, where: sa.ColumnElement[bool] | None = None
) -> dict[str, int]:
    query = sa.select(table.c.session, sa.func.count()).group_by(table.c.session)
    if where is not None:
        query = query.where(where)
    return {row[0]: row[1] for row in connection.execute(query)}
