"""The digest of one day: what arrived, what of it can be used, what it cost, what to look at.

A day is one of the store's time zone (`[digest] time_zone` in store.toml; UTC if it is not stated). What
arrived is counted from the watches' journals; hours, findings, people and tasks from what the store took in
on that day, by whatever way.
What counts as recorded and as usable: `twinloop.store.watch.usable`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from twinloop.core.errors import StoreError
from twinloop.core.finding import Severity
from twinloop.store.watch.costs import Cost, cost, rates_of
from twinloop.store.watch.log import FINAL, Said, all_entries
from twinloop.store.watch.usable import (
    Count,
    Hours,
    Judged,
    hours_by,
    hours_of,
    judge_episodes,
    recordings_between,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from twinloop.store.journal import Entry
    from twinloop.store.store import Store

FORMAT = 1
_MOST_LISTED = 50


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
    intake = recordings_between(store, _midnight(day, zone), _midnight(day + timedelta(days=1), zone))
    judged = judge_episodes(store, intake.places)
    troubles += tuple(Trouble(session, why) for session, why in judged.unreadable.items())
    usable_h = hours_of(judged.usable)
    return Digest(
        date=day.isoformat(),
        time_zone=str(zone),
        arrivals=arrivals,
        troubles=troubles[:_MOST_LISTED],
        recordings=len(intake.hours),
        bytes=intake.bytes,
        recorded_h=round(intake.recorded_h, 4),
        episodes=len(judged.episodes),
        episode_h=round(hours_of(judged.episodes), 4),
        usable_episodes=len(judged.usable),
        usable_h=round(usable_h, 4),
        cost=cost(rates, intake.recorded_h, usable_h, intake.bytes),
        findings=judged.findings[:_MOST_LISTED],
        operators=hours_by(judged, "operator"),
        tasks=hours_by(judged, "task"),
        next=tuple(_next(troubles, judged)),
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
    # Notes, licences and the like come last: they are kept, and no recordings.
    troubles.sort(key=lambda trouble: (trouble.why.startswith("no known format"), trouble.name))
    return Arrivals(arrived=len(arrived), **{name: counts[name] for name in counts}), tuple(troubles)


def _first_line(message: object) -> str:
    return str(message or "").partition("\n")[0]


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _midnight(day: date, zone: tzinfo) -> str:
    """When a day begins, as the store writes times."""
    begins = datetime.combine(day, time(), zone).astimezone(UTC)
    return begins.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _next(troubles: tuple[Trouble, ...], judged: Judged) -> Iterator[str]:
    """What to look at, the most pressing first."""
    for count in judged.findings[:1]:
        if count.severity == Severity.ERROR.value:
            yield f"twinloop explain {count.code}: {count.findings} in {count.recordings} recordings"
    usable = {episode.id for episode in judged.usable}
    lost = Counter(e.session for e in judged.episodes if e.id not in usable and e.excluded is None)
    for session, number in lost.most_common(1):
        yield f"twinloop report {session} -o report.html: {number} of its episodes cannot be used"
    for trouble in troubles[:1]:
        where = f"quarantine/{trouble.quarantine}" if trouble.quarantine else trouble.name
        yield f"{where}: {trouble.why or 'not taken in'} ({len(troubles)} such in all)"
