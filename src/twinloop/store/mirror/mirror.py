"""Copying a whole store to another place, so that it is a store at every moment.

The order makes it so. First the mirror is remembered, so that an erasure reaches even half a copy. Tombstones
go before any byte, so that nothing erased is copied. Then session by session: raw files and artefacts, then
the revisions that name them, in order. Then registry, journal and quarantine. Erasures are carried out at the
destination last, when it has the revisions that they made here. A run that dies is finished by the same
command: what is there already is not copied again.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from twinloop.core.errors import UsageError
from twinloop.store.claims import FOLDER as CLAIMS
from twinloop.store.erase.carry import carry_out
from twinloop.store.erase.order import (
    Worklist,
    add_worklist,
    has_reached,
    is_done,
    orders,
    place,
    reach,
    worklists,
)
from twinloop.store.losses import FOLDER as LOSSES
from twinloop.store.mirror.copying import Copying
from twinloop.store.mirror.divergence import refuse_diverged
from twinloop.store.mirror.remembered import mirror_id, remember
from twinloop.store.registry import FOLDER as REGISTRY
from twinloop.store.staging import workspace
from twinloop.store.store import Store
from twinloop.store.tombstones import FOLDER as TOMBSTONES
from twinloop.store.transfer import Throttle

if TYPE_CHECKING:
    from collections.abc import Callable

    from twinloop.store.erase.order import Order


@dataclass(frozen=True, slots=True)
class Mirrored:
    """What a run did: objects and bytes that were copied, objects that were there, what was held back."""

    url: str
    copied: int
    size: int
    there: int
    held: tuple[str, ...]


def mirror(
    source: Store,
    target: Store,
    *,
    rate: float | None = None,
    verify: bool = False,
    progress: Callable[[str, int], None] | None = None,
) -> Mirrored:
    """Copy a store to another. `rate`: bytes a second at most. `verify`: hash again what is there already.

    Raises:
        UsageError: they are the same, or one lies in the other.
        StoreError: the target is no copy of the source; or it refuses to be written.
    """
    _refuse_same(source, target)
    refuse_diverged(source, target)
    remember(source.objects, target.url, finished=False)
    with workspace(target.work, f"mirror-{mirror_id(source.url)}") as staging:
        copying = Copying(
            source, target, staging, Throttle(rate), verify, progress or (lambda _key, _size: None)
        )
        for order in orders(source.objects):
            place(target.objects, order)
        copying.documents(TOMBSTONES)
        copying.documents(LOSSES)
        copying.documents(CLAIMS)
        for session in source.manifests.sessions():
            copying.session(session)
        copying.documents(REGISTRY)
        copying.journal()
        copying.quarantine()
        for folder in ("snapshots", "receipts", "digests"):
            copying.documents(folder)
    for order in orders(source.objects):
        if not is_done(target.objects, order.id) or not has_reached(
            source.objects, order.id, mirror_id(target.url)
        ):
            pass_on(source, target, order)
    if not copying.held:
        remember(source.objects, target.url, finished=True)
    return Mirrored(target.url, copying.copied, copying.size, copying.there, tuple(copying.held))


def pass_on(source: Store, target: Store, order: Order) -> None:
    """Carry an erasure out in a mirror, which gets the revisions that it made of sessions which stay."""
    with workspace(target.work, f"mirror-{mirror_id(source.url)}") as staging:
        copying = Copying(source, target, staging, Throttle())
        for part in order.parts:
            copying.session(part.session)
    taken = tuple(dict.fromkeys(key for work in worklists(source.objects, order.id) for key in work.manifests))
    carry_out(target, order)
    if taken and not any(set(taken) <= set(work.manifests) for work in worklists(target.objects, order.id)):
        add_worklist(target.objects, order.id, Worklist(taken))
    reach(source.objects, order.id, mirror_id(target.url))


def _refuse_same(source: Store, target: Store) -> None:
    if source.url == target.url:
        raise UsageError("a store cannot be mirrored to itself", where=source.url)
    if "://" in source.url or "://" in target.url:
        return
    here, there = Path(source.url).resolve(), Path(target.url).resolve()
    if here == there or here.is_relative_to(there) or there.is_relative_to(here):
        raise UsageError("one store lies in the other", where=f"{here}, {there}", expected="two places")
