"""What a catalog took in step by step equals a new one: after joins, splits, undos of undos, losses."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from twinloop.core.session import Outcome
from twinloop.store.catalog import tables
from twinloop.store.ingest import Status, ingest
from twinloop.store.queries import list_episodes, list_sessions
from twinloop.store.sessions import join_sessions, split_session
from twinloop.store.sources import IngestOptions
from twinloop.store.store import Store
from twinloop.testing.file_faults import Truncated
from twinloop.testing.synthetic import SessionSpec, record_session

pytestmark = pytest.mark.usefixtures("catalog_url")


@pytest.fixture(scope="module")
def takes(tmp_path_factory):
    """Four recordings; the last one is cut short."""
    folder = tmp_path_factory.mktemp("takes")
    paths = [folder / f"take-{number}.mcap" for number in range(4)]
    for number, path in enumerate(paths):
        spec = SessionSpec(seed=30 + number, duration_s=2.0, episodes=2, cameras=(), imu_hz=0)
        record_session(path, spec)
    Truncated(0.7).damage(paths[3])
    return paths


def contents(catalog):
    with catalog.reading() as connection:
        return {
            table.name: [
                tuple(row) for row in connection.execute(sa.select(table).order_by(*table.primary_key.columns))
            ]
            for table in tables.TABLES.sorted_tables
        }


def live_through_much(store, takes):
    """Every kind of change that a catalog follows, each taken in at once."""
    first, second, third, cut = (ingest(store, take) for take in takes)
    assert cut.lost and cut.status is Status.STORED
    noise = takes[0].with_name("noise.mcap")
    noise.write_bytes(b"\x89MCAP0\r\n" + bytes(100))
    assert ingest(store, noise).status is Status.QUARANTINED
    ids = [row.id for row in list_episodes(store.catalog)]

    left_out = store.edit_episodes(ids[:3], exclude="blurred")[0].command
    back = store.undo(left_out)[0].command
    forth = store.undo(back)[0].command
    store.undo(forth)
    store.edit_episodes(ids[2:5], outcome=Outcome.FAILURE, instruction="pour\0the tea")
    store.undo(store.edit_episodes(ids[4:], outcome=Outcome.SUCCESS)[0].id)

    join_sessions(store, first.session, [second.session, third.session])
    hashes = [entry.hash for entry in store.session(first.session).manifest.recordings]
    apart = split_session(store, first.session, recordings=hashes[1:2])
    join_sessions(store, apart.session, [cut.session])
    store.edit_episodes([episode.id for episode in apart.episodes], exclude="split off")
    for goal in ("a", "b"):
        store.registry.state("tasks", "pick", {"goal": goal, "steps": [1, 2.5, None, "\0"]})
    store.registry.state("operators", "ada" * 2000, {})
    store.catalog.sync()


def test_a_catalog_of_many_changes_equals_a_new_one(store, takes):
    live_through_much(store, takes)
    seen = contents(store.catalog)
    assert store.catalog.stale() == []
    rows = list_episodes(store.catalog)
    assert len({row.id for row in rows}) == len(rows) > 5
    assert {row.excluded for row in rows} == {None, "split off"}
    assert len(list_sessions(store.catalog)) == 2

    store.catalog.rebuild()
    assert contents(store.catalog) == seen
    assert store.catalog.stale() == []
    other = Store.open(store.work)
    assert contents(other.catalog) == seen


def test_what_is_wrong_in_a_catalog_is_named(store, takes):
    ingest(store, takes[0])
    assert store.catalog.stale() == []
    with store.catalog._database.writing() as connection:
        connection.execute(tables.episodes.update().values(task="another"))
        connection.execute(tables.streams.delete())
    assert store.catalog.stale() == ["episodes", "streams"]
    store.catalog.rebuild()
    assert store.catalog.stale() == []


def test_a_registry_entry_and_a_session_that_go_go_from_the_catalog(store, takes):
    outcome = ingest(store, takes[0], IngestOptions())
    store.registry.state("tasks", "pick", {})
    store.catalog.sync()
    for key in ("registry/tasks/pick", f"sessions/{outcome.session}"):
        for each in list(store.objects.walk(key)):
            store.objects.delete(each)
    store.catalog.sync()
    assert not any(contents(store.catalog).values())
    assert store.catalog.stale() == []


def test_a_session_folder_that_was_copied_by_hand_is_told_and_counts_once(store, takes):
    import shutil

    session = ingest(store, takes[0]).session
    sessions = store.work / "sessions"
    shutil.copytree(sessions / session, sessions / "01ARZ3NDEKTSV4RRFFQ69G5FAV")
    fresh = Store.open(store.work)
    assert [row.id for row in list_sessions(fresh.catalog)] == [session]
    assert "is of session" in str(fresh.catalog.problems[0])
