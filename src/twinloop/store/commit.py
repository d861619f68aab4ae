"""The commit of one recording into its session."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from twinloop.core.errors import StoreError
from twinloop.core.ids import new_ulid
from twinloop.core.session import Episode, Outcome, SessionFacts
from twinloop.store.registry import NOUNS
from twinloop.store.tombstones import ErasedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from twinloop.core.recording import EpisodeSpan
    from twinloop.store.manifest import Manifest, Manifests, RecordingEntry
    from twinloop.store.registry import RegistryOfFacts


def make_episodes(spans: Sequence[EpisodeSpan], hash: str, outcome: Outcome | None) -> tuple[Episode, ...]:
    """Episodes with new ids, numbered from 0 in the recording's own order."""
    return tuple(
        Episode(
            id=new_ulid(),
            index=number,
            start_ns=span.start_ns,
            end_ns=span.end_ns,
            recording=hash,
            instruction=span.instruction,
            outcome=_outcome(span.outcome) or outcome or Outcome.UNKNOWN,
            attributes=_attributes(span),
        )
        for number, span in enumerate(spans)
    )


def _outcome(text: str | None) -> Outcome | None:
    try:
        return Outcome(text.lower()) if text else None
    except ValueError:
        return None


def _attributes(span: EpisodeSpan) -> dict[str, str]:
    """What the source says of an episode, an outcome of a name of its own among it."""
    own = {"source.outcome": span.outcome} if span.outcome and _outcome(span.outcome) is None else {}
    return {**span.attributes, **own}


def follow(manifests: Manifests, session: str) -> str:
    """The session itself, or the one that it was joined into, or is being joined into.

    Raises:
        StoreError: sessions are being joined into each other.
    """
    passed = {session}
    while (manifest := manifests.latest(session)) and manifest.merged_into:
        session = manifest.merged_into
        if session in passed:
            raise StoreError(
                f"the sessions {', '.join(sorted(passed))} are joined into each other",
                fix=f"twinloop session join {session} ID, for each of the others",
            )
        passed.add(session)
    return session


class _JoinedMeanwhileError(Exception):
    """The session was joined into another between looking and committing."""


def commit_recording(
    manifests: Manifests,
    session: str,
    entry: RecordingEntry,
    episodes: Sequence[Episode],
    facts: SessionFacts,
) -> Manifest:
    """Make a recording part of a session. If another process did so first, its work stands.

    The first recording's facts are the session's; what a later one states differently holds for its episodes.
    """

    def edit(current: Manifest) -> Manifest | None:
        if current.merged_into:
            raise _JoinedMeanwhileError
        if current.erased:
            raise ErasedError(
                f"the session {session} was erased meanwhile",
                expected="a session that is there",
                fix="take it in again, into a new session",
            )
        if current.recording(entry.hash):
            return None
        first = max((episode.index for episode in current.episodes), default=-1) + 1
        merged, own = merge_facts(current.facts, facts)
        added = (replace(episode, index=first + number, facts=own) for number, episode in enumerate(episodes))
        return replace(
            current,
            facts=merged,
            recordings=(*current.recordings, entry),
            episodes=(*current.episodes, *added),
        )

    while True:
        with suppress(_JoinedMeanwhileError):
            return manifests.change(follow(manifests, session), f"took in {entry.name}", edit)


def merge_facts(session: SessionFacts, stated: SessionFacts) -> tuple[SessionFacts, SessionFacts]:
    """(the session's facts, gaps filled with what is stated; what is stated differently)."""
    merged, own = {}, {}
    for field in fields(SessionFacts):
        if field.name == "meta":
            continue
        known, new = getattr(session, field.name), getattr(stated, field.name)
        merged[field.name] = known or new
        own[field.name] = new if known and new and known != new else None
    meta = {**stated.meta, **session.meta}
    own_meta = {key: value for key, value in stated.meta.items() if meta[key] != value}
    return SessionFacts(**merged, meta=meta), SessionFacts(**own, meta=own_meta)


def register_facts(registry: RegistryOfFacts, facts: SessionFacts) -> list[str]:
    """Make registry entries for names that have none yet; those names, as ``task pick``."""
    new = []
    for noun in NOUNS:
        name = getattr(facts, noun[:-1])
        if name and registry.ensure(noun, name):
            new.append(f"{noun[:-1]} {name}")
    return new
