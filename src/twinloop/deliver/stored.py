"""Sessions of a store as what an export takes in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.errors import StoreError
from twinloop.deliver.source import ExportSource
from twinloop.store.queries import list_episodes, list_sessions, resolve_episodes, resolve_session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from twinloop.store.store import Store


def stored_sources(store: Store, ids: Sequence[str] = ()) -> list[ExportSource]:
    """The sessions and episodes that `ids` mean (none: all of the store), oldest session first.

    An id is a session's, or an episode's as ``SESSION/3``, ``SESSION/3-7``.

    Raises:
        StoreError: an id means nothing, or the store is empty.
    """
    wanted = _wanted(store, ids)
    if not wanted:
        raise StoreError("the store holds no session yet", where=store.url, fix="twinloop ingest PATH")
    return [_source(store, session, episodes) for session, episodes in sorted(wanted.items())]


def _wanted(store: Store, ids: Sequence[str]) -> dict[str, set[str] | None]:
    """Session -> ids of its episodes, None for all of them."""
    if not ids:
        return {row.id: None for row in list_sessions(store.catalog)}
    wanted: dict[str, set[str] | None] = {}
    for text in ids:
        if "/" not in text:
            wanted[resolve_session(store.catalog, text)] = None
            continue
        for row in list_episodes(store.catalog, ids=resolve_episodes(store.catalog, [text])):
            chosen = wanted.setdefault(row.session, set())
            if chosen is not None:
                chosen.add(row.id)
    return wanted


def _source(store: Store, session: str, episodes: set[str] | None) -> ExportSource:
    stored = store.session(session)
    return ExportSource(
        session=stored.session.id,
        recording=stored,
        mapping=stored.mapping,
        episodes=tuple(e for e in stored.session.episodes if episodes is None or e.id in episodes),
        facts=stored.session.facts,
        models=stored.session.clock_models,
        recordings=stored.session.recordings,
        image_stats=stored.image_stats,
    )
