"""What a store took in over some time, how long it is, and how much of it can be used.

- recorded hours: of each recording, the span of its longest stream.
- usable: an episode that nobody excluded and that no finding of severity error is on: neither on the episode
  itself nor on a span of the recording that overlaps it, nor on the recording as a whole. Where the checks'
  report cannot be read, nothing is known to be usable.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import sqlalchemy as sa

from twinloop.core.errors import StoreError
from twinloop.core.finding import Severity
from twinloop.store.catalog import tables
from twinloop.store.queries import EpisodeRow, list_episodes
from twinloop.store.reports import recording_report

if TYPE_CHECKING:
    from collections.abc import Mapping

    from twinloop.core.finding import Finding
    from twinloop.store.store import Store

_NS_PER_H = 3600e9
_ORDER = {
    severity.value: rank for rank, severity in enumerate((Severity.ERROR, Severity.WARNING, Severity.INFO))
}


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
class Intake:
    """Recordings that were taken in.

    Attributes:
        hours: length by hash. bytes: of their raw files. places: session -> hashes of those that are in it.
    """

    hours: dict[str, float]
    bytes: int
    places: dict[str, set[str]]

    @property
    def recorded_h(self) -> float:
        """Hours of all recordings."""
        return sum(self.hours.values())


@dataclass(slots=True)
class Judged:
    """Episodes, those of them that can be used, and findings counted, the worst first.

    `unreadable`: session -> why the checks' report on something in it cannot be read.
    """

    episodes: list[EpisodeRow] = field(default_factory=list)
    usable: list[EpisodeRow] = field(default_factory=list)
    findings: tuple[Count, ...] = ()
    unreadable: dict[str, str] = field(default_factory=dict)


def recordings_between(store: Store, start: str, end: str) -> Intake:
    """What was taken in from one time on and before another (ISO 8601 in UTC, as the store writes them)."""
    r, s = tables.recordings, tables.streams
    in_time = (r.c.taken_at >= start) & (r.c.taken_at < end)
    with store.catalog.reading() as connection:
        rows = connection.execute(sa.select(r.c.session, r.c.hash, r.c.bytes).where(in_time)).fetchall()
        spans = connection.execute(
            sa.select(r.c.hash, sa.func.max(s.c.end_ns - s.c.start_ns).label("span"))
            .join(s, (s.c.session == r.c.session) & (s.c.recording == r.c.hash))
            .where(in_time)
            .group_by(r.c.hash)
        ).fetchall()
    span_ns = {row.hash: row.span or 0 for row in spans}
    sizes = {row.hash: row.bytes for row in rows}
    places: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        places[row.session].add(row.hash)
    hours = {hash: max(span_ns.get(hash, 0), 0) / _NS_PER_H for hash in sizes}
    return Intake(hours, sum(sizes.values()), dict(places))


def judge_episodes(store: Store, places: Mapping[str, set[str]]) -> Judged:
    """The episodes of recordings that are in these sessions."""
    judged = Judged()
    counts: Counter[tuple[str, str, str]] = Counter()
    recordings: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for session, hashes in sorted(places.items()):
        rows = list_episodes(store.catalog, session=session)
        for hash in sorted(hashes):
            episodes = [row for row in rows if row.recording == hash]
            judged.episodes += episodes
            try:
                findings = _findings(store, session, hash)
            except StoreError as error:
                judged.unreadable[session] = error.what
                continue
            for finding in findings:
                key = (finding.code, finding.name, finding.severity.value)
                counts[key] += 1
                recordings[key].add(hash)
            errors = [finding for finding in findings if finding.severity is Severity.ERROR]
            judged.usable += [
                episode
                for episode in episodes
                if episode.excluded is None and not any(_is_on(finding, episode) for finding in errors)
            ]
    found = [Count(*key, findings=number, recordings=len(recordings[key])) for key, number in counts.items()]
    found.sort(key=lambda count: (_ORDER[count.severity], -count.findings, count.code))
    judged.findings = tuple(found)
    return judged


def _findings(store: Store, session: str, hash: str) -> tuple[Finding, ...]:
    manifest = store.manifests.latest(session)
    entry = manifest.recording(hash) if manifest else None
    return recording_report(store.objects, manifest, entry).findings if manifest and entry else ()


def _is_on(finding: Finding, episode: EpisodeRow) -> bool:
    """Whether a finding speaks of an episode."""
    if finding.episode is not None:
        return finding.episode == episode.number
    if finding.start_ns is None:
        return True
    end_ns = finding.start_ns if finding.end_ns is None else finding.end_ns
    return finding.start_ns < episode.end_ns and end_ns >= episode.start_ns


def hours_of(episodes: Iterable[EpisodeRow]) -> float:
    """Hours of episodes, in all."""
    return sum(episode.duration_s for episode in episodes) / 3600


def hours_by(judged: Judged, fact: str) -> tuple[Hours, ...]:
    """Episodes and hours by ``operator`` or ``task``, the most hours first."""
    groups: dict[str | None, list[EpisodeRow]] = defaultdict(list)
    for episode in judged.episodes:
        groups[getattr(episode, fact)].append(episode)
    usable = {episode.id for episode in judged.usable}
    hours = [
        Hours(
            name,
            len(group),
            round(hours_of(group), 4),
            round(hours_of(episode for episode in group if episode.id in usable), 4),
        )
        for name, group in groups.items()
    ]
    return tuple(sorted(hours, key=lambda each: (-each.hours, each.name or "")))
