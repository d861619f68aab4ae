"""Joining and splitting sessions. Episodes keep their ids, artefacts stay where they are.

Each takes two commits, one a session; `liveness` says what holds between them.
"""

from __future__ import annotations

from dataclasses import fields, replace
from functools import partial
from typing import TYPE_CHECKING

from twinloop.core.errors import UsageError
from twinloop.core.ids import new_ulid
from twinloop.core.session import SessionFacts
from twinloop.store.commit import merge_facts

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from twinloop.core.session import Episode
    from twinloop.store.manifest import Manifest, RecordingEntry
    from twinloop.store.store import Store


def join_sessions(store: Store, into: str, others: Sequence[str]) -> Manifest:
    """Make the recordings and episodes of `others` part of the session `into` (full ids).

    Raises:
        UsageError: a session is joined with itself, or is not there.
    """
    manifest = _latest(store, into)
    for other in others:
        if other == into:
            raise UsageError(f"the session {into} cannot be joined with itself")
        _latest(store, other)
    for other in others:
        leaving = store.manifests.change(
            other, f"joined into {into}", lambda current: replace(current, merged_into=into)
        )
        manifest = store.manifests.change(into, f"joined {other}", partial(_absorb, leaving))
    store.catalog.sync()
    return manifest


def split_session(
    store: Store, session: str, *, recordings: Collection[str] = (), at_ns: int | None = None
) -> Manifest:
    """Move recordings (by hash), or all from a time on, to a new session; its manifest.

    Raises:
        UsageError: nothing, or everything, would be moved; or `at_ns` lies inside an episode.
    """
    current = _latest(store, session)
    kept, gone = _by_recordings(current, recordings) if at_ns is None else _by_time(current, at_ns)
    if not gone[0] or not kept[0]:
        raise UsageError(
            f"the split would leave {'nothing here' if gone[0] else 'nothing to move'}",
            where=f"session {session}",
            expected="some recordings on each side",
        )
    new = new_ulid()
    made = store.manifests.change(
        new,
        f"split from {session}",
        lambda empty: replace(
            empty,
            facts=current.facts,
            recordings=gone[0],
            episodes=tuple(replace(episode, index=number) for number, episode in enumerate(gone[1])),
            clock_models=current.clock_models,
            split_from=session,
        ),
    )

    def give_up(now: Manifest) -> Manifest:
        if now.revision != current.revision:
            raise UsageError(
                f"the session {session} changed meanwhile", fix="run the same command again; nothing was split"
            )
        return replace(now, recordings=kept[0], episodes=kept[1], split_into=(*now.split_into, new))

    store.manifests.change(session, f"split off {new}", give_up)
    store.catalog.sync()
    return made


def _latest(store: Store, session: str) -> Manifest:
    manifest = store.manifests.latest(session)
    if manifest is None:
        raise UsageError(f"there is no session {session}", fix="see `twinloop ls`")
    return manifest


def _absorb(other: Manifest, current: Manifest) -> Manifest | None:
    if other.session in current.absorbed:
        return None
    facts, own = merge_facts(current.facts, other.facts)
    known = {(entry.hash, entry.start_ns, entry.end_ns) for entry in current.recordings}
    recordings = [r for r in other.recordings if (r.hash, r.start_ns, r.end_ns) not in known]
    first = max((episode.index for episode in current.episodes), default=-1) + 1
    hashes = {entry.hash for entry in recordings}
    episodes = [episode for episode in other.episodes if episode.recording in hashes]
    return replace(
        current,
        facts=facts,
        recordings=_reunite((*current.recordings, *recordings)),
        episodes=(
            *current.episodes,
            *(
                replace(episode, index=first + number, facts=_overlay(own, episode.facts))
                for number, episode in enumerate(episodes)
            ),
        ),
        clock_models=tuple(dict.fromkeys((*current.clock_models, *other.clock_models))),
        absorbed=(*current.absorbed, other.session),
    )


def _reunite(recordings: tuple[RecordingEntry, ...]) -> tuple[RecordingEntry, ...]:
    """The recordings, parts of one that a split had taken apart made one where they meet."""
    united: list[RecordingEntry] = []
    for entry in recordings:
        while meeting := next((other for other in united if _meet(other, entry)), None):
            united.remove(meeting)
            first, last = (meeting, entry) if meeting.end_ns == entry.start_ns else (entry, meeting)
            entry = replace(entry, start_ns=first.start_ns, end_ns=last.end_ns)
        united.append(entry)
    return tuple(united)


def _meet(one: RecordingEntry, other: RecordingEntry) -> bool:
    """Whether two parts of the same recording end and begin at the same time."""
    ends = {one.end_ns, other.end_ns} & {one.start_ns, other.start_ns} - {None}
    return bool(ends) and replace(one, start_ns=None, end_ns=None) == replace(other, start_ns=None, end_ns=None)


def _overlay(under: SessionFacts, over: SessionFacts) -> SessionFacts:
    """`over`, its gaps filled from `under`."""
    stated = {
        field.name: getattr(over, field.name) or getattr(under, field.name)
        for field in fields(SessionFacts)
        if field.name != "meta"
    }
    return SessionFacts(**stated, meta={**under.meta, **over.meta})


def _of_recordings(manifest: Manifest, wanted: Collection[str]) -> set[str]:
    """The hashes that the starts of hashes in `wanted` mean."""
    moved = set()
    for text in wanted:
        found = {entry.hash for entry in manifest.recordings if entry.hash.startswith(text.lower())}
        if len(found) != 1:
            raise UsageError(
                f"{text!r} means {len(found)} recordings of the session {manifest.session}",
                expected="the start of one of: " + ", ".join(r.hash[:12] for r in manifest.recordings),
            )
        moved |= found
    return moved


_Part = tuple[tuple["RecordingEntry", ...], tuple["Episode", ...]]


def _by_recordings(manifest: Manifest, wanted: Collection[str]) -> tuple[_Part, _Part]:
    """What stays and what goes when the recordings of these hashes leave."""
    moved = _of_recordings(manifest, wanted)
    stay = tuple(entry for entry in manifest.recordings if entry.hash not in moved)
    go = tuple(entry for entry in manifest.recordings if entry.hash in moved)
    return _with_episodes(manifest, stay, go, [e for e in manifest.episodes if e.recording in moved])


def _by_time(manifest: Manifest, at_ns: int) -> tuple[_Part, _Part]:
    """What stays and what goes when all from a time on leaves.

    Raises:
        UsageError: the time lies inside an episode.
    """
    for episode in manifest.episodes:
        if episode.start_ns < at_ns < episode.end_ns:
            raise UsageError(
                f"the time lies inside episode {episode.index}",
                where=f"session {manifest.session}",
                expected=f"a time up to {episode.start_ns} ns or from {episode.end_ns} ns on",
            )
    stay, go = [], []
    for entry in manifest.recordings:
        extent = entry.extent
        if extent is None or extent[1] < at_ns:
            stay.append(entry)
        elif extent[0] >= at_ns:
            go.append(entry)
        else:
            stay.append(replace(entry, end_ns=at_ns))
            go.append(replace(entry, start_ns=at_ns))
    going = [episode for episode in manifest.episodes if episode.start_ns >= at_ns]
    return _with_episodes(manifest, tuple(stay), tuple(go), going)


def _with_episodes(
    manifest: Manifest,
    stay: tuple[RecordingEntry, ...],
    go: tuple[RecordingEntry, ...],
    going: Sequence[Episode],
) -> tuple[_Part, _Part]:
    gone = {episode.id for episode in going}
    staying = tuple(episode for episode in manifest.episodes if episode.id not in gone)
    return (stay, staying), (go, tuple(going))
