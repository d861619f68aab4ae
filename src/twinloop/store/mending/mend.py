"""Mending a store. Every step may die anywhere and be run again: what is mended is found whole then.

The order: documents (manifests, registry, reasons, claims, tombstones) come first, since they say what else
there must be; then raw files, then artefacts, which are made of them; the journal; the catalog last.
Damaged bytes are moved aside to ``quarantine/damaged/<their key>/<their hash>`` before anything takes their
name, and what is lost for good is put on record (`losses`), so nothing is deleted and nothing told twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.store.fsck.check import check_store
from twinloop.store.fsck.memory import remembered
from twinloop.store.fsck.trouble import RESUME, Harm
from twinloop.store.mending.artefacts import mend_artefacts
from twinloop.store.mending.documents import mend_documents
from twinloop.store.mending.histories import mend_histories
from twinloop.store.mending.journal import mend_journal
from twinloop.store.mending.raw import mend_raw
from twinloop.store.mending.supply import Supply
from twinloop.store.staging import workspace

if TYPE_CHECKING:
    from collections.abc import Callable

    from twinloop.store.fsck.memory import Memory
    from twinloop.store.fsck.trouble import Trouble
    from twinloop.store.store import Store


@dataclass(frozen=True, slots=True)
class Act:
    """One thing that was mended, and how."""

    key: str
    how: str


@dataclass(frozen=True, slots=True)
class Repair:
    """What was mended, and what is wrong still."""

    mended: tuple[Act, ...]
    left: tuple[Trouble, ...]


def repair(store: Store, given: str | None = None, progress: Callable[[str], None] | None = None) -> Repair:
    """Mend what can be. `given`: a mirror, or a folder of originals, to take lost bytes from.

    Raises:
        UsageError: there is nothing at `given`.
    """
    memory = remembered(store)
    acts: list[Act] = []
    with workspace(store.work, "repair") as staging:
        supply = Supply(store, staging, given)
        damage = _damage(store, progress, memory)
        acts += [Act(*done) for done in mend_documents(supply, damage)]
        if histories := [Act(*done) for done in mend_histories(supply, damage, memory)]:
            acts += histories
            damage = _damage(store, progress, remembered(store))  # what the manifests name was not known before
        acts += [Act(*done) for done in mend_raw(supply, damage)]
        acts += [Act(*done) for done in mend_artefacts(supply, damage)]
        acts += [Act(*done) for done in mend_journal(supply)]
    store.catalog.rebuild()
    return Repair(tuple(acts), tuple(check_store(store, progress=progress, memory=remembered(store))))


def _damage(store: Store, progress: Callable[[str], None] | None, memory: Memory) -> list[Trouble]:
    """What is damaged and can be mended here; an erasure is finished by its own command."""
    found = check_store(store, progress=progress, memory=memory)
    return [trouble for trouble in found if trouble.harm is Harm.DAMAGE and trouble.fix != RESUME]
