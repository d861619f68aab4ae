"""Erasing here and in every mirror, and finishing what was not finished."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.core.errors import TwinloopError
from twinloop.store.erase.carry import carry_out
from twinloop.store.erase.order import has_reached, is_done, orders, place
from twinloop.store.mirror.mirror import pass_on
from twinloop.store.mirror.remembered import mirrors
from twinloop.store.staging import workspace
from twinloop.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from twinloop.store.erase.order import Order


@dataclass(frozen=True, slots=True)
class Pending:
    """A mirror that an erasure has not reached, and why."""

    erasure: str
    mirror: str
    why: str


def erase(store: Store, order: Order, progress: Callable[[str], None] | None = None) -> tuple[Pending, ...]:
    """Carry an order out here and in all mirrors; those that could not be reached."""
    place(store.objects, order)
    return _everywhere(store, [order], progress, {store.url})


def resume(store: Store, progress: Callable[[str], None] | None = None) -> tuple[Pending, ...]:
    """Carry all orders out again: what was not finished is, and what came back goes.

    Raises:
        StoreError: an order is damaged.
    """
    return _everywhere(store, orders(store.objects), progress, {store.url})


def is_interrupted(store: Store, session: str) -> bool:
    """Whether an erasure of a session, whose id this is, or begins or ends so, was begun and not finished."""
    wanted = session.upper()
    return any(
        id.startswith(wanted) or id.endswith(wanted)
        for order in orders(store.objects)
        if not is_done(store.objects, order.id)
        for id in order.sessions
    )


def _everywhere(
    store: Store, todo: list[Order], progress: Callable[[str], None] | None, been: set[str]
) -> tuple[Pending, ...]:
    for order in todo:
        with workspace(store.work, "erase"):
            carry_out(store, order, progress)
    return tuple(_in_mirrors(store, todo, been))


def _in_mirrors(store: Store, todo: list[Order], been: set[str]) -> Iterator[Pending]:
    """Carry orders out in the mirrors of a store, and in theirs. `been`: URLs of stores that had their turn.

    Where stores are mirrors of each other, one may have had its turn without this store's note of it.
    """
    for mirror in mirrors(store.objects):
        if mirror.forgotten:
            continue
        left = [order for order in todo if not has_reached(store.objects, order.id, mirror.id)]
        if mirror.url in been and not left:
            continue
        first = mirror.url not in been
        been.add(mirror.url)
        try:
            other = Store.open(mirror.url)
            for order in left:
                pass_on(store, other, order)
        except (TwinloopError, OSError) as error:
            what = error.what if isinstance(error, TwinloopError) else str(error)
            yield from (Pending(order.id, mirror.url, what) for order in left)
        else:
            if first:
                yield from _in_mirrors(other, todo, been)
