"""Eight processes write to one store whose catalog lies in PostgreSQL: all is there, nothing twice."""

from __future__ import annotations

import os
import traceback

from twinloop.core.session import Outcome
from twinloop.store.ingest import Status, ingest
from twinloop.store.queries import list_episodes, list_sessions
from twinloop.store.sources import IngestOptions
from twinloop.store.store import Store
from twinloop.testing.synthetic import SessionSpec, record_session

WRITERS = 8


def in_process(work):
    child = os.fork()
    if not child:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child


def test_eight_writers_at_once(postgres_catalog, store, tmp_path):
    shared = tmp_path / "shared.mcap"
    paths = [tmp_path / f"take-{number}.mcap" for number in range(WRITERS)]
    for number, path in enumerate((*paths, shared)):
        spec = SessionSpec(seed=40 + number, duration_s=2.0, episodes=1, cameras=(), imu_hz=0, leader_hz=0)
        record_session(path, spec)

    ingest(Store.create(tmp_path / "warm-up"), shared)  # what it imports, the children need not

    def write(path):
        mine = Store.open(store.work)
        done = ingest(mine, path)
        assert done.status is Status.STORED, done
        assert ingest(mine, shared).session
        options = IngestOptions(raw="copy", session=done.session)
        assert ingest(Store.open(store.work), path, options).status is Status.PRESENT
        for outcome in (Outcome.FAILURE, Outcome.SUCCESS):
            mine.edit_episodes(
                [row.id for row in list_episodes(mine.catalog, session=done.session)], outcome=outcome
            )
        mine.undo(mine.edit_episodes([row.id for row in list_episodes(mine.catalog)], exclude="all")[0].command)
        mine.registry.state("tasks", "pick", {"by": path.name})
        mine.catalog.sync()
        assert {row.outcome for row in list_episodes(mine.catalog, session=done.session)} == {"success"}

    children = [in_process(lambda path=path: write(path)) for path in paths]
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * WRITERS

    store.catalog.sync()
    listed = list_sessions(store.catalog)
    names = [name for row in listed for name in row.recordings]
    assert sorted(names) == sorted([path.name for path in paths] + ["shared.mcap"])
    rows = list_episodes(store.catalog)
    assert len({row.id for row in rows}) == len(rows) == WRITERS + 1
    assert {row.excluded for row in rows} == {None}
    assert [row.outcome for row in rows].count("success") == WRITERS
    assert store.registry.get("tasks", "pick").revision == WRITERS
    assert store.catalog.stale() == []
    assert Store.open(store.work).catalog.problems == []
