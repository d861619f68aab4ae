"""The digests of a store's days, each written once the day is over.

``digests/<date>.json`` and ``.md``. The JSON is created first and is what counts; the text is made from it.
A day to which something came after its digest was written (a clock was set back) gets another revision,
``<date>.2.json``, never another content under the same name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

from twinloop.core.errors import StoreError
from twinloop.store.watch.costs import rates_of
from twinloop.store.watch.digest import Digest, arrivals_of, day_of, make_digest, zone_of
from twinloop.store.watch.digest_text import digest_text
from twinloop.store.watch.log import all_entries

if TYPE_CHECKING:
    from twinloop.store.journal import Entry
    from twinloop.store.objects import Objects
    from twinloop.store.store import Store

FOLDER = "digests"
_NAME = re.compile(r"(\d{4}-\d{2}-\d{2})(?:\.(\d+))?\.json")
#: Days back from today that are looked at again, and that get a digest even if nothing arrived on them
#: between others on which something did.
_WINDOW_DAYS = 31


class Diary:
    """Writes digests for a store. `clock`: the time, for tests.

    Raises:
        StoreError: the store's settings state a wrong time zone or wrong rates.
    """

    def __init__(self, store: Store, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._store = store
        self._clock = clock
        self._zone = zone_of(store.settings)
        rates_of(store.settings)  # so that wrong rates are told when a watch starts, not at midnight
        self._written_on: date | None = None

    @property
    def today(self) -> date:
        """The day that it is in the store's time zone."""
        return self._clock().astimezone(self._zone).date()

    def write_due(self) -> list[str]:
        """Write what is due of days that are over, if the day has changed since the last time; their dates.

        Raises:
            StoreError: the store cannot be read or written; it stays due.
        """
        today = self.today
        if today == self._written_on:
            return []
        written = [day for day, entries in self._over(today).items() if self._write(day, entries)]
        self._written_on = today
        return [day.isoformat() for day in written]

    def _over(self, today: date) -> dict[date, list[Entry]]:
        """The days before today that may need a digest, in order, each with what the journals say of it."""
        written = {
            match[1] for name in self._store.objects.children(FOLDER) if (match := _NAME.fullmatch(name))
        }
        window = today - timedelta(days=_WINDOW_DAYS)
        days: dict[date, list[Entry]] = {}
        for entry in all_entries(self._store.objects):
            day = day_of(entry.at, self._zone)
            if day < today and (day >= window or day.isoformat() not in written):
                days.setdefault(day, []).append(entry)
        if days:
            first = max(min(days), window)
            gaps = [first + timedelta(days=number) for number in range((max(days) - first).days)]
            days |= {day: [] for day in gaps if day not in days}
        return dict(sorted(days.items()))

    def _write(self, day: date, entries: list[Entry]) -> bool:
        """Write a day's digest unless the last one knows of the same arrivals."""
        objects = self._store.objects
        while True:
            number, last = last_digest(objects, day)
            if last is not None and last.arrivals == arrivals_of(entries)[0]:
                objects.put(_key(day, number, "md"), digest_text(last).encode())  # in case it died in between
                return False
            digest = make_digest(self._store, day, entries)
            data = msgspec.json.format(msgspec.json.encode(digest), indent=1) + b"\n"
            if objects.put(_key(day, number + 1, "json"), data):
                objects.put(_key(day, number + 1, "md"), digest_text(digest).encode())
                return True


def last_digest(objects: Objects, day: date) -> tuple[int, Digest | None]:
    """The last revision of a day's digest and its number; 0 and None if there is none.

    Raises:
        StoreError: it is damaged.
    """
    numbers = [
        int(match[2] or 1)
        for name in objects.children(FOLDER)
        if (match := _NAME.fullmatch(name)) and match[1] == day.isoformat()
    ]
    if not numbers:
        return 0, None
    key = _key(day, max(numbers), "json")
    try:
        return max(numbers), msgspec.json.decode(objects.get(key), type=Digest)
    except msgspec.MsgspecError as error:
        raise StoreError(f"a digest is damaged: {error}", where=key) from None


def _key(day: date, number: int, suffix: str) -> str:
    return f"{FOLDER}/{day.isoformat()}{'' if number == 1 else f'.{number}'}.{suffix}"
