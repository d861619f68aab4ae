"""The digest of one day: what arrived, what of it can be used, what it cost, what to look at.

A day is one of the store's time zone (`[digest] time_zone` in store.toml; UTC if it is not stated). What
arrived is counted from the watches' journals; hours, findings, people and tasks from what the store took in
on that day, by whatever way.

- recorded hours: of each recording, the span of its longest stream.
- usable hours: of episodes that nobody excluded and that no finding of severity error is on: neither on the
  episode itself nor on a span of the recording that overlaps it, nor on the recording as a whole.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import sqlalchemy as sa

from twinloop.core.errors import StoreError
from twinloop.core.finding import Severity
from twinloop.store import catalog_tables as tables
from twinloop.store.queries import EpisodeRow, list_episodes
from twinloop.store.reports import recording_report
from twinloop.store.watch.costs import Cost, cost, rates_of
from twinloop.store.watch.log import FINAL, Said, all_entries

if TYPE_CHECKING:
    from collections.abc import Mapping

    from twinloop.core.finding import Finding
    from twinloop.store.journal import Entry
    from twinloop.store.store import Store

FORMAT = 1
_MOST_LISTED = 50
_NS_PER_H = 3600e9


@dataclass(frozen=True, slots=True)
class Hours:
    """Episodes of one operator or task, and their hours. `name`: None where none is stated."""

    name: str | None
    episodes: int
    hours: float
    usable_h: float


@dataclass(frozen=True, slots=True)
class Count:
    """A kind of finding: how often, in how many recordings."""

    code: str
    name: str
    severity: str
    findings: int
    recordings: int


@dataclass(frozen=True, slots=True)
class Trouble:
    """An arrival that is not in the store, or not whole: what, why, and its quarantine's id."""

    name: str
    why: str
    quarantine: str | None = None


@dataclass(frozen=True, slots=True)
class Arrivals:
    """What arrived at the watched sources, counted by name and state, and what had become of it by the end."""

    arrived: int = 0
    stored: int = 0
    present: int = 0
    quarantined: int = 0
    refused: int = 0
    given_up: int = 0
    open: int = 0


@dataclass(frozen=True, slots=True)
class Digest:
    """One day of a store. Numbers as the module says; lists hold at most 50 entries, counts all."""

    date: str
    time_zone: str
    arrivals: Arrivals
    troubles: tuple[Trouble, ...]
    recordings: int
    bytes: int
    recorded_h: float
    episodes: int
    episode_h: float
    usable_episodes: int
    usable_h: float
    cost: Cost
    findings: tuple[Count, ...]
    operators: tuple[Hours, ...]
    tasks: tuple[Hours, ...]
    next: tuple[str, ...] = field(default=())
    format: int = FORMAT


def zone_of(settings: Mapping[str, object]) -> tzinfo:
    """The time zone whose days a store's digests are of.

    Raises:
        StoreError: the settings name none that this machine knows.
    """
    table = settings.get("digest", {})
    name = table.get("time_zone", "UTC") if isinstance(table, dict) else table
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(str(name))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise StoreError(
            f"[digest] time_zone is {name!r}, which this machine does not know",
            where="store.toml",
            expected='a name of the IANA database: "Europe/Berlin"',
            fix="pip install tzdata, if the name is right",
        ) from None


def day_of(at: str, zone: tzinfo) -> date:
    """The day on which a time that a journal holds lies."""
    return datetime.fromisoformat(at).astimezone(zone).date()


def entries_of(store: Store, day: date, zone: tzinfo) -> list[Entry]:
    """What the watches' journals say of a day."""
    return [entry for entry in all_entries(store.objects) if day_of(entry.at, zone) == day]


def make_digest(store: Store, day: date, entries: Iterable[Entry] | None = None) -> Digest:
    """The digest of a day, as far as it is over. `entries`: of that day, if they were read already.

    Raises:
        StoreError: the store's settings are wrong, or it cannot be read.
    """
    zone = zone_of(store.settings)
    rates = rates_of(store.settings)
    arrivals, troubles = arrivals_of(entries_of(store, day, zone) if entries is None else entries)
    store.catalog.sync()
    recordings = _recordings(store, day, zone)
    lengths = {hash: length for hash, (_, length) in recordings.of_hash.items()}
    size = sum(size for size, _ in recordings.of_hash.values())
    episodes, findings = _judged(store, recordings.places)
    usable = [episode for episode, is_usable in episodes if is_usable]
    recorded_h, usable_h = sum(lengths.values()), _hours(usable)
    return Digest(
        date=day.isoformat(),
        time_zone=str(zone),
        arrivals=arrivals,
        troubles=troubles[:_MOST_LISTED],
        recordings=len(lengths),
        bytes=size,
        recorded_h=round(recorded_h, 4),
        episodes=len(episodes),
        episode_h=round(_hours(episode for episode, _ in episodes), 4),
        usable_episodes=len(usable),
        usable_h=round(usable_h, 4),
        cost=cost(rates, recorded_h, usable_h, size),
        findings=findings[:_MOST_LISTED],
        operators=_by(episodes, "operator"),
        tasks=_by(episodes, "task"),
        next=tuple(_next(troubles, findings, episodes)),
    )


def arrivals_of(entries: Iterable[Entry]) -> tuple[Arrivals, tuple[Trouble, ...]]:
    """Counts of a day's entries, and what went wrong with which arrival; the last word on each counts."""
    last: dict[tuple[str, str], Entry] = {}
    arrived = set()
    for entry in entries:
        key = (entry.target, str(entry.data.get("state", "")))
        if entry.kind == Said.ARRIVED:
            arrived.add(key)
        if entry.kind != Said.SOURCE:
            last[key] = entry
    counts = Counter(entry.kind if entry.kind in FINAL else "open" for entry in last.values())
    bad = (Said.QUARANTINED, Said.REFUSED, Said.GIVEN_UP, Said.FAILED, Said.DIED)
    troubles = [
        Trouble(entry.target, _first_line(entry.data.get("message")), _text(entry.data.get("quarantine")))
        for entry in last.values()
        if entry.kind in bad or entry.data.get("quarantine")
    ]
    troubles.sort(key=lambda trouble: trouble.name)
    return Arrivals(arrived=len(arrived), **{name: counts[name] for name in counts}), tuple(troubles)


def _first_line(message: object) -> str:
    return str(message or "").partition("\n")[0]


def _text(value: object) -> str | None:
    return None if value is None else str(value)


@dataclass(frozen=True, slots=True)
class _Recordings:
    """A day's recordings: bytes and hours of each hash, and in which sessions they are."""

    of_hash: dict[str, tuple[int, float]]
    places: dict[str, set[str]]


def _recordings(store: Store, day: date, zone: tzinfo) -> _Recordings:
    start, end = (
        datetime.combine(each, time(), zone)
        .astimezone(UTC)
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z")
        for each in (day, day + timedelta(days=1))
    )
    r, s = tables.recordings, tables.streams
    with store.catalog.reading() as connection:
        rows = connection.execute(
            sa.select(r.c.session, r.c.hash, r.c.bytes).where(r.c.taken_at >= start, r.c.taken_at < end)
        ).fetchall()
        spans = connection.execute(
            sa.select(r.c.hash, sa.func.max(s.c.end_ns - s.c.start_ns).label("span"))
            .join(s, (s.c.session == r.c.session) & (s.c.recording == r.c.hash))
            .where(r.c.taken_at >= start, r.c.taken_at < end)
            .group_by(r.c.hash)
        ).fetchall()
    hours = {row.hash: max(row.span or 0, 0) / _NS_PER_H for row in spans}
    places: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        places[row.session].add(row.hash)
    return _Recordings({row.hash: (row.bytes, hours.get(row.hash, 0.0)) for row in rows}, places)


def _judged(
    store: Store, places: Mapping[str, set[str]]
) -> tuple[list[tuple[EpisodeRow, bool]], tuple[Count, ...]]:
    """The episodes of a day's recordings, each with whether it is usable, and their findings counted."""
    episodes: list[tuple[EpisodeRow, bool]] = []
    counts: Counter[tuple[str, str, str]] = Counter()
    recordings: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for session, hashes in sorted(places.items()):
        manifest = store.manifests.latest(session)
        if manifest is None:
            continue
        rows = list_episodes(store.catalog, session=session)
        for hash in sorted(hashes):
            entry = manifest.recording(hash)
            found = recording_report(store.objects, manifest, entry).findings if entry else ()
            for finding in found:
                key = (finding.code, finding.name, finding.severity.value)
                counts[key] += 1
                recordings[key].add(hash)
            errors = [finding for finding in found if finding.severity is Severity.ERROR]
            episodes += [
                (row, row.excluded is None and not any(_is_on(finding, row) for finding in errors))
                for row in rows
                if row.recording == hash
            ]
    order = {
        severity.value: rank for rank, severity in enumerate((Severity.ERROR, Severity.WARNING, Severity.INFO))
    }
    findings = [Count(*key, findings=number, recordings=len(recordings[key])) for key, number in counts.items()]
    findings.sort(key=lambda count: (order[count.severity], -count.findings, count.code))
    return episodes, tuple(findings)


def _is_on(finding: Finding, episode: EpisodeRow) -> bool:
    """Whether a finding speaks of an episode."""
    if finding.episode is not None:
        return finding.episode == episode.number
    if finding.start_ns is None:
        return True
    end_ns = finding.start_ns if finding.end_ns is None else finding.end_ns
    return finding.start_ns < episode.end_ns and end_ns >= episode.start_ns


def _hours(episodes: Iterable[EpisodeRow]) -> float:
    return sum(episode.duration_s for episode in episodes) / 3600


def _by(episodes: list[tuple[EpisodeRow, bool]], fact: str) -> tuple[Hours, ...]:
    """Episodes and hours by operator or task, the most hours first."""
    groups: dict[str | None, list[tuple[EpisodeRow, bool]]] = defaultdict(list)
    for episode, is_usable in episodes:
        groups[getattr(episode, fact)].append((episode, is_usable))
    hours = [
        Hours(
            name,
            len(group),
            round(_hours(episode for episode, _ in group), 4),
            round(_hours(episode for episode, is_usable in group if is_usable), 4),
        )
        for name, group in groups.items()
    ]
    return tuple(sorted(hours, key=lambda each: (-each.hours, each.name or "")))


def _next(
    troubles: tuple[Trouble, ...], findings: tuple[Count, ...], episodes: list[tuple[EpisodeRow, bool]]
) -> Iterable[str]:
    """What to look at, the most pressing first."""
    for count in findings[:1]:
        if count.severity == Severity.ERROR.value:
            yield f"twinloop explain {count.code}: {count.findings} in {count.recordings} recordings"
    lost = Counter(episode.session for episode, is_usable in episodes if not is_usable and not episode.excluded)
    for session, number in lost.most_common(1):
        yield f"twinloop report {session} -o report.html: {number} of its episodes cannot be used"
    for trouble in troubles[:1]:
        where = f"quarantine/{trouble.quarantine}" if trouble.quarantine else trouble.name
        yield f"{where}: {trouble.why or 'not taken in'} ({len(troubles)} such in all)"
