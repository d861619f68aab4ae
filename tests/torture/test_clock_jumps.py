"""A clock that jumps a year back or forth between two commands: nothing is lost, and later stays later."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from pathlib import Path

import pytest
from scenarios import AtOnce, record, whole

from twinloop.core.session import Outcome
from twinloop.store import gc, writer
from twinloop.store.claims import claim
from twinloop.store.gc import collect
from twinloop.store.ingest import ingest
from twinloop.store.outcome import Status
from twinloop.store.queries import list_episodes
from twinloop.store.store import Store
from twinloop.store.watch import diary
from twinloop.store.watch import watch as watching
from twinloop.store.watch.jobs import work
from twinloop.store.watch.sources import open_source

YEAR_S = 365 * 86_400
JUMPS = [-YEAR_S, YEAR_S]


class Clock:
    """The wall clock of this process, set wrong by so many seconds."""

    def __init__(self) -> None:
        self.off_s = 0
        self._time, self._time_ns = time.time, time.time_ns

    def time(self) -> float:
        return self._time() + self.off_s

    def time_ns(self) -> int:
        return self._time_ns() + self.off_s * 1_000_000_000


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    clock = Clock()

    class Moved(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:
            return datetime.now(tz) + timedelta(seconds=clock.off_s)

    monkeypatch.setattr(time, "time", clock.time)
    monkeypatch.setattr(time, "time_ns", clock.time_ns)
    for module in (writer, diary):
        monkeypatch.setattr(module, "datetime", Moved)
    return clock


@pytest.mark.parametrize("jump_s", JUMPS)
def test_taking_in_and_editing(jump_s: int, tmp_path: Path, clock: Clock) -> None:
    root = Store.create(tmp_path / "store").work
    assert ingest(Store.open(root), record(tmp_path / "a.mcap", 1)).status is Status.STORED
    (episode,) = list_episodes(Store.open(root).catalog)
    Store.open(root).edit_episodes([episode.id], instruction="before")
    clock.off_s = jump_s
    assert ingest(Store.open(root), tmp_path / "a.mcap").status is Status.PRESENT
    assert ingest(Store.open(root), record(tmp_path / "b.mcap", 2)).status is Status.STORED
    Store.open(root).edit_episodes([episode.id], instruction="after", outcome=Outcome.SUCCESS)
    clock.off_s = 0
    said = Store.open(root).edit_episodes([episode.id], outcome=Outcome.FAILURE)
    store = Store.open(root)
    (row,) = [row for row in list_episodes(store.catalog) if row.id == episode.id]
    assert (row.instruction, row.outcome) == ("after", "failure")
    store.undo(said[0].command)
    (row,) = [row for row in list_episodes(store.catalog) if row.id == episode.id]
    assert row.outcome == "success"
    whole(store, 2)


@pytest.mark.parametrize("jump_s", JUMPS)
def test_a_watch_and_its_digests(jump_s: int, tmp_path: Path, clock: Clock) -> None:
    root = Store.create(tmp_path / "store").work
    record(tmp_path / "in" / "a.mcap", 1)

    def watch() -> watching.Tally:
        store = Store.open(root)
        with ExitStack() as stack:
            source = open_source(str(tmp_path / "in"), store, 0.0, 3600.0, stack)
            options = watching.WatchOptions(once=True, interval_s=0.01)
            watch = watching.Watch(store, [source], options, diary.Diary(store))
            watch._workers = AtOnce(partial(work, store.url))
            return watch.run()

    assert watch().counts["stored"] == 1
    clock.off_s = jump_s
    record(tmp_path / "in" / "b.mcap", 2)
    assert watch().counts["stored"] == 1
    clock.off_s = 0
    record(tmp_path / "in" / "c.mcap", 3)
    tally = watch()
    assert tally.counts["stored"] == 1
    assert not tally.undigested
    assert watch().counts.total() == 0
    whole(Store.open(root), 3)


@pytest.mark.parametrize("jump_s", JUMPS)
def test_collecting_leftovers_takes_nothing_that_is_named(jump_s: int, tmp_path: Path, clock: Clock) -> None:
    root = Store.create(tmp_path / "store").work
    ingest(Store.open(root), record(tmp_path / "a.mcap", 1))
    clock.off_s = jump_s
    ingest(Store.open(root), record(tmp_path / "b.mcap", 2))
    collect(Store.open(root))
    clock.off_s = 0
    collect(Store.open(root))
    whole(Store.open(root), 2)


@pytest.mark.parametrize("jump_s", JUMPS)
def test_an_attempt_goes_on_into_the_session_that_it_began(jump_s: int, tmp_path: Path, clock: Clock) -> None:
    objects = Store.create(tmp_path / "store").objects
    first = claim(objects, "ab" * 32, "01J00000000000000000000001")
    clock.off_s = jump_s
    assert claim(objects, "ab" * 32, "01J00000000000000000000002") == first
    clock.off_s = 0
    assert claim(objects, "ab" * 32, "01J00000000000000000000003") == first


def test_all_of_the_clocks_are_moved(clock: Clock) -> None:
    clock.off_s = YEAR_S
    assert writer.now() > datetime.now(UTC).replace(year=datetime.now(UTC).year + 1).isoformat()[:4]
    assert gc.time.time() > clock._time() + YEAR_S - 60
