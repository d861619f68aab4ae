"""Pushing a spool: recordings go to a store's inbox, and go from the spool when the store has them.

For each recording, in this order: hashed; its parts laid into the inbox; its envelope laid down; the receipt
awaited; its bytes hashed again and, if they are those of the receipt, removed. A process that dies anywhere
is followed by one that hashes, finds what is there, and goes on from it. What was sent is known by hash alone,
so a clock that jumps or a file that is touched changes nothing but the order.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from twinloop.core.errors import StoreError, TwinloopError, UnreachableError
from twinloop.store.blobs import ChangedError
from twinloop.store.inbox.parcel import clear_parts, lay_down, read_receipt
from twinloop.store.inbox.send import part_bytes, send_parts
from twinloop.store.outcome import Outcome, Status
from twinloop.store.push.spool import Packed, Spool
from twinloop.store.push.urgency import Urgency, urgency
from twinloop.store.transfer import Throttle

if TYPE_CHECKING:
    from twinloop.store.arrivals.folder import Arrival
    from twinloop.store.inbox.parcel import Receipt
    from twinloop.store.objects import Objects

#: How long one recording is sent before a more urgent one is looked for.
_TURN_S = 10.0
_RECEIPTS_A_ROUND = 64
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 60.0


@dataclass(frozen=True, slots=True)
class PushOptions:
    """How to push.

    Attributes:
        limit: bytes a second, on average; None: as fast as it goes. keep: never remove a local file.
        stay: go on when everything is sent (`--watch`). interval_s: between two looks at spool and receipts.
        take_in: called with the key of each envelope, to take the parcel in from here; gives what became of it.
    """

    limit: float | None = None
    keep: bool = False
    stay: bool = False
    interval_s: float = 5.0
    take_in: Callable[[str], Outcome | None] | None = None


@dataclass(slots=True)
class Tally:
    """Where pushing stands. Counts of recordings, by name where something is wrong with them.

    Attributes:
        sent, sent_bytes: by this process. confirmed: of which a receipt was seen. removed: from the spool.
        waiting: sent, and not confirmed yet. queued: to be sent. unfinished: still being recorded.
        refused, troubles: name -> why. current, current_left: what is being sent, bytes left of it.
        offline: why the store cannot be reached; empty while it can.
    """

    sent: int = 0
    sent_bytes: int = 0
    confirmed: int = 0
    removed: int = 0
    waiting: int = 0
    queued: int = 0
    unfinished: int = 0
    refused: dict[str, str] = field(default_factory=dict)
    troubles: dict[str, str] = field(default_factory=dict)
    current: str = ""
    current_left: int = 0
    offline: str = ""


@dataclass(slots=True)
class _Item:
    """A recording of the spool as this process knows it, in one state of its files."""

    arrival: Arrival
    urgency: Urgency
    packed: Packed | None = None
    parts: Iterator[tuple[int, int]] | None = None
    sent: bool = False
    over: bool = False  # nothing more to do with these bytes


class Push:
    """One spool on its way to one store.

    Args:
        connect: opens the inbox; called again after the link was lost.
        tell: gets the tally after every step. stopped: whether to end after the part at hand.
        pause: waits, for up to so many seconds.
    """

    def __init__(
        self,
        spool: Spool,
        connect: Callable[[], Objects],
        options: PushOptions,
        *,
        tell: Callable[[Tally], None] = lambda _: None,
        stopped: Callable[[], bool] = lambda: False,
        pause: Callable[[float], object] = time.sleep,
    ) -> None:
        self.tally = Tally()
        self._spool = spool
        self._connect = connect
        self._options = options
        self._tell = tell
        self._stopped = stopped
        self._pause = pause
        self._throttle = Throttle(options.limit)
        self._objects: Objects | None = None
        self._items: dict[str, _Item] = {}
        self._failures = 0
        self._asked = 0

    def run(self) -> Tally:
        """Push until everything is sent (or, with `stay`, until stopped).

        Raises:
            StoreError: another process pushes this spool.
        """
        with self._spool.hold():
            while not self._stopped():
                settling = self._look()
                try:
                    objects = self._objects = self._objects or self._connect()
                    self._ask_for_receipts(objects)
                    unsent = self._send_a_turn(objects)
                    self._failures, self.tally.offline = 0, ""
                except (StoreError, UnreachableError) as error:
                    self._back_off(error)
                    continue
                self._told()
                if unsent:
                    continue
                if not settling and not self._options.stay:
                    break
                self._pause(self._options.interval_s)
        return self.tally

    def _look(self) -> bool:
        """Bring the items up to date with the spool; whether something is still coming to rest."""
        look = self._spool.folder.look(self._is_over)
        for arrival in look.ready:
            known = self._items.get(arrival.name)
            if known is None or known.arrival.state != arrival.state:
                self._items[arrival.name] = _Item(arrival, urgency(arrival.path))
                self.tally.troubles.pop(arrival.name, None)
        there = {arrival.name for arrival in look.ready}
        self._items = {
            name: item
            for name, item in self._items.items()
            if name in there or (item.over and item.arrival.path.exists())
        }
        self.tally.unfinished = len(look.unfinished)
        return bool(look.settling)

    def _is_over(self, name: str, state: str) -> bool:
        item = self._items.get(name)
        return item is not None and item.over and item.arrival.state == state

    def _in_order(self) -> list[_Item]:
        """What is still to do, most urgent first, then oldest."""
        items = (item for item in self._items.values() if not item.over)
        return sorted(items, key=lambda i: (-i.urgency.level, i.arrival.modified_ns, i.arrival.name))

    def _send_a_turn(self, objects: Objects) -> bool:
        """Send the most urgent recording for a while; whether there is more to send."""
        unsent = [item for item in self._in_order() if not item.sent]
        if not unsent:
            return False
        item = unsent[0]
        try:
            packed = item.packed = item.packed or self._spool.pack(item.arrival, item.urgency)
            if receipt := read_receipt(objects, packed.parcel.hash):
                self._confirm(item, receipt)
            elif self._parts_sent(objects, item, packed):
                item.sent = True
                self._take_in(item, packed.parcel.key)
        except (StoreError, UnreachableError):
            item.parts = None
            raise
        except ChangedError:
            self._forget(objects, item)
        except (TwinloopError, OSError) as error:
            item.over = True
            self.tally.troubles[item.arrival.name] = str(error)
        return True

    def _forget(self, objects: Objects, item: _Item) -> None:
        """Give up on bytes that are not there any more; when the files rest again, they are hashed anew."""
        item.over = True
        if item.packed:
            for file in item.packed.parcel.files:
                clear_parts(objects, file.sha256)

    def _parts_sent(self, objects: Objects, item: _Item, packed: Packed) -> bool:
        """Send parts until the turn is over; whether all of the parcel, and its envelope, is there."""
        if objects.exists(packed.parcel.key):
            return True
        if item.parts is None:
            size = part_bytes(self._options.limit)
            item.parts = send_parts(objects, packed.parcel, packed.paths, size)
        self.tally.current = packed.parcel.name
        until = time.monotonic() + _TURN_S
        for count, left in item.parts:
            self._throttle.passed(count)
            self.tally.sent_bytes += count
            self.tally.current_left = left
            self._told()
            if time.monotonic() > until or self._stopped():
                return False
        packed.raw.check_unchanged()
        lay_down(objects, packed.parcel)
        self.tally.sent += 1
        self.tally.current = ""
        return True

    def _take_in(self, item: _Item, key: str) -> None:
        """Take a parcel in from here; one that cannot be, as on a full disk, waits in the inbox."""
        if not self._options.take_in:
            return
        outcome = self._options.take_in(key)
        if outcome and outcome.status is Status.FAILED:
            self.tally.troubles[item.arrival.name] = outcome.message

    def _ask_for_receipts(self, objects: Objects) -> None:
        """Look for the receipts of some of what was sent; all in turn, however many there are."""
        waiting = [item for item in self._in_order() if item.sent and item.packed]
        start = self._asked % len(waiting) if waiting else 0
        for item in (waiting[start:] + waiting[:start])[:_RECEIPTS_A_ROUND]:
            assert item.packed
            self._asked += 1
            if receipt := read_receipt(objects, item.packed.parcel.hash):
                self._confirm(item, receipt)
            elif not objects.exists(item.packed.parcel.key):
                item.sent, item.parts = False, None  # it did not arrive whole: once more

    def _confirm(self, item: _Item, receipt: Receipt) -> None:
        item.over = True
        self.tally.confirmed += 1
        if receipt.refused:
            self.tally.refused[item.arrival.name] = receipt.refused
        elif not self._options.keep:
            try:
                if self._spool.remove(item.arrival, receipt):
                    self.tally.removed += 1
                else:
                    self.tally.troubles[item.arrival.name] = (
                        "the receipt names none of its bytes; it stays here"
                    )
            except (TwinloopError, OSError) as error:
                self.tally.troubles[item.arrival.name] = str(error)

    def _back_off(self, error: StoreError | UnreachableError) -> None:
        """Wait for the link, longer each time, and never in step with other robots."""
        self.tally.offline = error.what
        self._objects = None
        self._told()
        longest = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2 ** min(self._failures, 10))
        self._failures += 1
        self._pause(longest * random.uniform(0.5, 1.0))

    def _told(self) -> None:
        todo = [item for item in self._items.values() if not item.over]
        self.tally.waiting = sum(item.sent for item in todo)
        self.tally.queued = len(todo) - self.tally.waiting
        self._tell(self.tally)
