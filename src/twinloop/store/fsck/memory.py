"""What the catalog remembers of manifests that may be gone since. It forgets when it is next opened."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import sqlalchemy as sa

from twinloop.core.errors import TwinloopError
from twinloop.core.session import SessionFacts
from twinloop.store.catalog import tables
from twinloop.store.catalog.database import Database
from twinloop.store.registry import NOUNS

if TYPE_CHECKING:
    from twinloop.store.store import Store


@dataclass(frozen=True, slots=True)
class Memory:
    """Rows of the catalog as it was left.

    Attributes:
        revisions: session -> its newest revision. facts: session -> what was stated of it.
        names: hash of a recording -> its file's name. episodes: hash of a recording -> ids, in order.
    """

    revisions: dict[str, int] = field(default_factory=dict)
    facts: dict[str, SessionFacts] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    episodes: dict[str, tuple[str, ...]] = field(default_factory=dict)


def remembered(store: Store) -> Memory:
    """What the catalog remembers, before it is opened and brought up to date. Nothing if it cannot be read."""
    s, r, e = tables.sessions.c, tables.recordings.c, tables.episodes.c
    memory = Memory()
    try:
        with Database(*store.catalog_place()).reading() as connection:
            for row in connection.execute(sa.select(tables.sessions)):
                stated = {noun[:-1]: getattr(row, noun[:-1]) for noun in NOUNS}
                memory.revisions[row.id] = row.revision
                memory.facts[row.id] = SessionFacts(**stated, meta=dict(row.meta))
            for hash, name in connection.execute(sa.select(r.hash, r.name)):
                memory.names[hash] = name
            query = sa.select(e.recording, e.id).order_by(s.id, e.number)
            for hash, id in connection.execute(query.where(e.session == s.id)):
                memory.episodes[hash] = (*memory.episodes.get(hash, ()), id)
    except (TwinloopError, sa.exc.SQLAlchemyError):
        return Memory()
    return memory
