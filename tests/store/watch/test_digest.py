"""Digests count what came, cost what is stated, and are written once a day, whatever the clock does."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta

import pytest
from drops import tiny

from twinloop.core.errors import StoreError
from twinloop.core.session import SessionFacts
from twinloop.store.ingest import ingest
from twinloop.store.journal import Entry, encode_line
from twinloop.store.queries import list_episodes
from twinloop.store.sources import IngestOptions
from twinloop.store.store import Store
from twinloop.store.watch.costs import Rates, cost, rates_of
from twinloop.store.watch.diary import FOLDER, Diary, last_digest
from twinloop.store.watch.digest import day_of, make_digest, zone_of
from twinloop.store.watch.digest_text import digest_text
from twinloop.store.watch.log import log_key
from twinloop.testing.faults import DroppedSamples
from twinloop.testing.synthetic import FOLLOWER, SessionSpec, record_session

TODAY = datetime.now(UTC).date()


@pytest.fixture
def stocked(tmp_path) -> Store:
    """A store with two good episodes of 2 operators, one excluded, and one with an error."""
    store = Store.create(tmp_path / "store")
    whole = SessionSpec(seed=1, duration_s=12.0, episodes=2, cameras=())
    holed = SessionSpec(seed=2, duration_s=6.0, cameras=(), faults=(DroppedSamples(FOLLOWER, 2.0, 1.5),))
    for spec, operator in ((whole, "ada"), (holed, "bob")):
        path = tmp_path / f"{operator}.mcap"
        record_session(path, spec)
        ingest(store, path, IngestOptions(SessionFacts(operator=operator, task="pick")))
    return store


def test_hours_are_counted_once_and_errors_are_not_usable(stocked):
    episodes = list_episodes(stocked.catalog)
    before = make_digest(stocked, TODAY)
    assert (before.recordings, before.episodes) == (2, 3)
    assert 17 / 3600 < before.recorded_h < 19 / 3600
    errors = sum(count.findings for count in before.findings if count.severity == "error")
    assert errors >= 1
    assert before.usable_episodes == 2
    assert [hours.name for hours in before.operators] == ["ada", "bob"]
    assert before.operators[1].usable_h == 0
    assert [(hours.name, hours.episodes) for hours in before.tasks] == [("pick", 3)]
    ada = next(episode for episode in episodes if episode.operator == "ada")
    stocked.edit_episodes([ada.id], exclude="spilled")
    after = make_digest(stocked, TODAY)
    assert after.usable_episodes == 1
    assert after.usable_h < before.usable_h
    assert any(line.startswith("twinloop explain") for line in after.next)
    assert "usable" in digest_text(after)
    assert make_digest(stocked, TODAY - timedelta(days=1)).recordings == 0


def test_where_a_report_is_damaged_nothing_is_known_to_be_usable(stocked):
    for key in list(stocked.objects.walk("sessions")):
        if key.endswith("report.json"):
            stocked.objects.delete(key)
    digest = make_digest(stocked, TODAY)
    assert (digest.episodes, digest.usable_episodes) == (3, 0)
    assert len(digest.troubles) == 2


def test_costs_are_what_is_stated():
    rates = rates_of({"costs": {"operator_per_hour": 30, "storage_per_gb_month": 0.02, "currency": "EUR"}})
    found = cost(rates, recorded_h=4.0, usable_h=2.0, size=50_000_000_000)
    assert found.parts == {"operator_per_hour": 120.0, "storage_per_gb_month": 1.0}
    assert (found.total, found.per_usable_hour, found.currency) == (121.0, 60.5, "EUR")
    assert found.not_stated == ("robot_per_hour",)
    assert cost(rates, 4.0, 0.0, 0).per_usable_hour is None
    nothing = cost(Rates(), 4.0, 2.0, 10)
    assert (nothing.total, nothing.per_usable_hour) == (None, None)
    assert len(nothing.not_stated) == 3


@pytest.mark.parametrize(
    "costs", [3, {"robot_per_hour": "10"}, {"robot_per_hour": -1}, {"robots": 1}, {"currency": 3}]
)
def test_wrong_costs_are_told(costs):
    with pytest.raises(StoreError, match="cost"):
        rates_of({"costs": costs})


def test_days_are_those_of_the_time_zone():
    zone = zone_of({"digest": {"time_zone": "Asia/Tokyo"}})
    assert day_of("2026-03-01T16:00:00.000Z", zone) == date(2026, 3, 2)
    assert zone_of({}) is UTC
    with pytest.raises(StoreError, match="time_zone"):
        zone_of({"digest": {"time_zone": "Mars/Olympus"}})


def arrive(store: Store, at: datetime, name: str, kind: str = "quarantined") -> None:
    stamp = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    for number, said in enumerate(("arrived", kind)):
        entry = Entry(f"{number}", stamp, "ada@robot", said, name, {"state": "1", "message": "why\nmore"})
        store.objects.append(log_key("/drop"), encode_line(entry))


@pytest.mark.every_store
def test_a_day_is_written_when_it_is_over_and_after_downtime(store):
    clock = [datetime(2026, 3, 1, 23, 59, tzinfo=UTC)]
    diary = Diary(store, lambda: clock[0])
    arrive(store, clock[0], "a.mcap")
    assert diary.write_due() == []
    clock[0] += timedelta(minutes=2)
    assert diary.write_due() == ["2026-03-01"]
    assert diary.write_due() == []
    _, digest = last_digest(store.objects, date(2026, 3, 1))
    assert digest
    assert (digest.arrivals.arrived, digest.arrivals.quarantined) == (1, 1)
    assert digest.troubles[0].why == "why"
    assert sorted(store.objects.children(FOLDER)) == ["2026-03-01.json", "2026-03-01.md"]
    arrive(store, datetime(2026, 3, 4, 12, tzinfo=UTC), "b.mcap")
    late = Diary(store, lambda: datetime(2026, 3, 9, tzinfo=UTC))
    assert late.write_due() == ["2026-03-02", "2026-03-03", "2026-03-04"]


@pytest.mark.every_store
def test_a_clock_that_is_set_back_makes_a_revision(store):
    clock = [datetime(2026, 3, 1, 12, tzinfo=UTC)]
    arrive(store, clock[0], "a.mcap")
    diary = Diary(store, lambda: clock[0])
    clock[0] += timedelta(days=1)
    assert diary.write_due() == ["2026-03-01"]
    first = store.objects.get(f"{FOLDER}/2026-03-01.json")
    clock[0] -= timedelta(days=1)
    assert diary.write_due() == []
    arrive(store, clock[0], "b.mcap")
    clock[0] += timedelta(days=1)
    assert diary.write_due() == ["2026-03-01"]
    assert Diary(store, lambda: clock[0]).write_due() == []
    assert store.objects.get(f"{FOLDER}/2026-03-01.json") == first
    number, digest = last_digest(store.objects, date(2026, 3, 1))
    assert digest
    assert (number, digest.arrivals.arrived) == (2, 2)


def test_a_text_that_a_kill_kept_from_being_written_is_made(store):
    clock = [datetime(2026, 3, 2, 12, tzinfo=UTC)]
    arrive(store, clock[0] - timedelta(days=1), "a.mcap", "stored")
    Diary(store, lambda: clock[0]).write_due()
    text = store.objects.get(f"{FOLDER}/2026-03-01.md")
    store.objects.delete(f"{FOLDER}/2026-03-01.md")
    assert Diary(store, lambda: clock[0]).write_due() == []
    assert store.objects.get(f"{FOLDER}/2026-03-01.md") == text


def test_tiny_recordings_have_contents_of_their_own(tmp_path):
    contents = Counter()
    for seed in range(5):
        tiny(tmp_path / "a.mcap", seed)
        contents[(tmp_path / "a.mcap").read_bytes()] += 1
    assert len(contents) == 5
