"""The catalog after an erasure: made anew, and the pages of its file that held what went written over."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from twinloop.store.store import Store


def forget(store: Store) -> None:
    """Make the catalog anew. SQLite keeps deleted rows in free pages and its log until it is told to let go."""
    store.catalog.rebuild()
    with store.catalog.reading() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("VACUUM")
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
