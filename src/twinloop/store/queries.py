"""What is asked of the catalog: sessions, episodes, recordings, and ids from what a user types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import sqlalchemy as sa

from twinloop.core.errors import StoreError, UsageError
from twinloop.core.ids import ULID_LENGTH
from twinloop.store.catalog import tables
from twinloop.store.liveness import State

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy.engine import Connection

    from twinloop.store.catalog.catalog import Catalog

_SHOWN = 5
_PAGE = 1000


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


class EpisodeRow(msgspec.Struct, frozen=True):
    """An episode with its edits applied. A struct because listings make very many."""

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
    limit: int | None = None,
) -> list[SessionRow]:
    """Live sessions, oldest first. `limit`: only so many, the newest."""
    s = tables.sessions
    query = sa.select(s).where(s.c.state == State.LIVE, _has_recordings())
    for column, wanted in ((s.c.task, task), (s.c.operator, operator), (s.c.site, site), (s.c.robot, robot)):
        if wanted is not None:
            query = query.where(column == wanted)
    if ids is not None:
        query = query.where(s.c.id.in_(ids))
    with catalog.reading() as connection:
        newest_first = query.order_by(s.c.taken_at.desc(), s.c.id.desc())
        rows = connection.execute(newest_first.limit(limit)).fetchall()[::-1]
        return [
            row
            for start in range(0, len(rows), _PAGE)
            for row in _with_counts(connection, rows[start : start + _PAGE])
        ]


def _has_recordings() -> sa.ColumnElement[bool]:
    return sa.exists().where(tables.recordings.c.session == tables.sessions.c.id)


def _with_counts(connection: Connection, rows: Sequence[sa.Row]) -> Iterator[SessionRow]:  # type: ignore[type-arg]
    """Sessions with what their recordings, episodes and findings come to."""
    ids = [row.id for row in rows]
    e, f, r = tables.episodes.c, tables.findings.c, tables.recordings
    recordings: dict[str, list[sa.Row]] = {}  # type: ignore[type-arg]
    of_sessions = sa.select(r).where(r.c.session.in_(ids)).order_by(r.c.session, r.c.position)
    for recording in connection.execute(of_sessions):
        recordings.setdefault(recording.session, []).append(recording)
    episodes = _counts(connection, e.session, ids, sa.func.count(), sa.func.count(e.excluded))
    errors, warnings = (sa.func.count(sa.case((f.severity == name, 1))) for name in ("error", "warning"))
    findings = _counts(connection, f.session, ids, errors, warnings)
    for row in rows:
        made_of = recordings.get(row.id, ())
        yield SessionRow(
            id=row.id,
            taken_at=row.taken_at,
            task=row.task,
            operator=row.operator,
            site=row.site,
            robot=row.robot,
            start_ns=row.start_ns,
            end_ns=row.end_ns,
            bytes=row.bytes,
            recordings=tuple(recording.name for recording in made_of),
            formats=tuple(dict.fromkeys(recording.format for recording in made_of)),
            episodes=episodes.get(row.id, (0, 0))[0],
            excluded=episodes.get(row.id, (0, 0))[1],
            errors=findings.get(row.id, (0, 0))[0],
            warnings=findings.get(row.id, (0, 0))[1],
            lost=any(recording.lost for recording in made_of),
        )


def _counts(
    connection: Connection,
    session: sa.ColumnElement[str],
    ids: Sequence[str],
    *counts: sa.ColumnElement[int],
) -> dict[str, tuple[int, int]]:
    query = sa.select(session, *counts).where(session.in_(ids)).group_by(session)
    return {row[0]: (row[1], row[2]) for row in connection.execute(query)}


def list_episodes(
    catalog: Catalog,
    *,
    session: str | None = None,
    task: str | None = None,
    outcome: str | None = None,
    excluded: bool | None = None,
    ids: Sequence[str] | None = None,
    limit: int | None = None,
) -> list[EpisodeRow]:
    """Episodes of live sessions, by session and number.

    Args:
        excluded: only those that are left out, or only those that are not.
        limit: only so many, the last ones.
    """
    query = _episodes(session=session, task=task, outcome=outcome, excluded=excluded, ids=ids)
    if limit is None:
        return list(_paged(catalog, query))
    newest_first = query.order_by(*(column.desc() for column in _ORDER)).limit(limit)
    with catalog.reading() as connection:
        return _episode_rows(connection, newest_first)[::-1]


def each_episode(
    catalog: Catalog,
    *,
    session: str | None = None,
    task: str | None = None,
    outcome: str | None = None,
    excluded: bool | None = None,
) -> Iterator[EpisodeRow]:
    """As `list_episodes`, but one after the other: in memory is one page, and no query waits for the reader."""
    return _paged(catalog, _episodes(session=session, task=task, outcome=outcome, excluded=excluded))


_ORDER = (tables.episodes.c.session, tables.episodes.c.number, tables.episodes.c.id)


def _episodes(
    *,
    session: str | None,
    task: str | None,
    outcome: str | None,
    excluded: bool | None,
    ids: Sequence[str] | None = None,
) -> sa.Select:
    e = tables.episodes
    query = sa.select(*(e.c[name] for name in EpisodeRow.__struct_fields__))
    for column, wanted in ((e.c.session, session), (e.c.task, task), (e.c.outcome, outcome)):
        if wanted is not None:
            query = query.where(column == wanted)
    if excluded is not None:
        query = query.where(e.c.excluded.is_not(None) if excluded else e.c.excluded.is_(None))
    if ids is not None:
        query = query.where(e.c.id.in_(ids))
    return query


def _episode_rows(connection: Connection, query: sa.Select) -> list[EpisodeRow]:  # type: ignore[type-arg]
    return [EpisodeRow(*row) for row in connection.execute(query)]


def _paged(catalog: Catalog, query: sa.Select) -> Iterator[EpisodeRow]:
    """The rows of a query page by page, each page from where the last one ended."""
    query = query.order_by(*_ORDER).limit(_PAGE)
    last: EpisodeRow | None = None
    while True:
        page = query
        if last:
            page = query.where(sa.tuple_(*_ORDER) > sa.tuple_(last.session, last.number, last.id))
        with catalog.reading() as connection:
            rows = _episode_rows(connection, page)
        yield from rows
        if len(rows) < _PAGE:
            return
        last = rows[-1]


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
