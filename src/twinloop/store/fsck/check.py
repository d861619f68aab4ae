"""The parts of a store, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.store.fsck.erasures import erasures
from twinloop.store.fsck.history import histories
from twinloop.store.fsck.memory import remembered
from twinloop.store.fsck.raw import raw_files
from twinloop.store.fsck.sessions import is_manifest, sessions
from twinloop.store.fsck.statements import statements
from twinloop.store.fsck.trouble import COLLECT, REBUILD, Examination, Harm, Trouble
from twinloop.store.manifest import SESSIONS
from twinloop.store.staging import leftovers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from twinloop.store.fsck.memory import Memory
    from twinloop.store.store import Store


def check_store(
    store: Store,
    *,
    quick: bool = False,
    progress: Callable[[str], None] | None = None,
    memory: Memory | None = None,
) -> Iterator[Trouble]:
    """Everything that is wrong with a store. `quick`: sizes and presence only, no content is hashed.

    `memory`: what the catalog knew before it was opened; looked up if it is not given.
    """
    examination = Examination(store, quick, progress or (lambda _: None), memory or remembered(store))
    sources_whole = True
    for part in (histories, sessions, statements, raw_files, erasures):
        for trouble in part(examination):
            sources_whole &= not (trouble.harm is Harm.DAMAGE and _makes_the_catalog(trouble.key))
            yield trouble
    for path in leftovers(store.work):
        yield Trouble(Harm.LEFTOVER, str(path.relative_to(store.work)), "work of a killed command", COLLECT)
    for table in store.catalog.stale() if sources_whole else ():  # else mending them makes it anew
        yield Trouble(Harm.STALE, "catalog", f"the table {table} is not what the store says", REBUILD)


def _makes_the_catalog(key: str) -> bool:
    """Whether the catalog is made of the document at a key."""
    area, *below = key.split("/")
    return area in ("journal", "registry") or (area == SESSIONS and (is_manifest(key) or "reports" in below))
