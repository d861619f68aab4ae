"""Two at once: joins, splits, late recordings, staging, first writers."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace

import pytest

from twinloop.core.errors import StoreError, UsageError
from twinloop.store.claims import claim
from twinloop.store.commit import follow
from twinloop.store.fsck import check_store
from twinloop.store.ingest import Status, ingest
from twinloop.store.local_objects import LocalObjects
from twinloop.store.queries import list_sessions
from twinloop.store.sessions import join_sessions, split_session
from twinloop.store.sources import IngestOptions
from twinloop.store.staging import clean, leftovers, workspace
from twinloop.store.store import Store
from twinloop.testing.synthetic import SessionSpec, record_session


@pytest.fixture
def more(tmp_path):
    """Three more recordings."""
    paths = [tmp_path / f"more-{seed}.mcap" for seed in range(3)]
    for seed, path in enumerate(paths):
        record_session(path, SessionSpec(seed=20 + seed, duration_s=2.0, cameras=()))
    return paths


def in_process(work):
    child = os.fork()
    if not child:
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return child


def ended_well(*children):
    return all(os.waitpid(child, 0)[1] == 0 for child in children)


def test_four_recordings_join_one_session_at_once(store, recording, more):
    session = ingest(store, recording).session
    options = IngestOptions(session=session)

    def take_in(path):
        assert ingest(Store.open(store.work), path, options).status is Status.STORED

    assert ended_well(*[in_process(lambda path=path: take_in(path)) for path in more])
    with Store.open(store.work).session(session) as stored:
        assert len(stored.manifest.recordings) == 4
        assert [e.index for e in stored.session.episodes] == list(range(len(stored.session.episodes)))
    assert not list(check_store(Store.open(store.work)))


def test_a_recording_for_a_session_that_is_being_joined_follows_it(store, recording, more):
    first, second = ingest(store, recording).session, ingest(store, more[0]).session
    # The join stopped after its first commit: the second session is on its way into the first.
    store.manifests.change(second, "joined", lambda current: replace(current, merged_into=first))
    assert follow(store.manifests, second) == first
    late = ingest(store, more[1], IngestOptions(session=second))
    assert late.session == first
    joined = join_sessions(store, first, [second])
    assert len(joined.recordings) == 3
    assert [row.id for row in list_sessions(store.catalog)] == [first]
    assert ingest(store, more[2], IngestOptions(session=second)).session == first


def test_sessions_joined_into_each_other_are_told(store, recording, more):
    first, second = ingest(store, recording).session, ingest(store, more[0]).session
    store.manifests.change(second, "joined", lambda current: replace(current, merged_into=first))
    store.manifests.change(first, "joined", lambda current: replace(current, merged_into=second))
    with pytest.raises(StoreError, match="into each other"):
        follow(store.manifests, first)


def test_a_split_of_a_session_that_changed_splits_nothing(store, recording, more):
    session = ingest(store, recording).session
    ingest(store, more[0], IngestOptions(session=session))
    hashes = [entry.hash for entry in store.session(session).manifest.recordings]
    original = store.manifests.change

    def change_late(name, why, edit):
        if why.startswith("split off"):
            ingest(Store.open(store.work), more[1], IngestOptions(session=session))
        return original(name, why, edit)

    store.manifests.change = change_late
    with pytest.raises(UsageError, match="changed meanwhile"):
        split_session(store, session, recordings=[hashes[1][:10]])
    fresh = Store.open(store.work)
    assert [row.id for row in list_sessions(fresh.catalog)] == [session]
    assert len(fresh.session(session).manifest.recordings) == 3


def test_one_of_many_first_writers_wins(tmp_path):
    objects = LocalObjects(tmp_path)
    won = [objects.put("a/b.json", str(number).encode()) for number in range(3)]
    assert won == [True, False, False]
    assert objects.get("a/b.json") == b"0"

    def write(number):
        os._exit(7 if LocalObjects(tmp_path).put("a/c.json", b"x" * 10_000 + bytes([number])) else 0)

    children = [in_process(lambda n=n: write(n)) for n in range(5)]
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert sorted(codes) == [0, 0, 0, 0, 7]
    assert objects.get("a/c.json")[-1] == codes.index(7)


def test_a_claim_holds_until_someone_who_may_insists(tmp_path):
    objects = LocalObjects(tmp_path)
    assert claim(objects, "ab12", "S1") == "S1"
    assert claim(objects, "ab12", "S2") == "S1"
    assert claim(objects, "ab12", "S3", insist=True) == "S3"
    assert claim(objects, "ab12", "S4") == "S3"


def test_staging_of_the_living_stays_and_of_the_dead_goes(tmp_path):
    def hold_and_die():
        with workspace(tmp_path, "dead") as folder:
            (folder / "half").write_text("made")
            os.kill(os.getpid(), signal.SIGKILL)

    os.waitpid(in_process(hold_and_die), 0)
    (tmp_path / "staging" / "tmp-0123").write_text("half a file")
    with workspace(tmp_path, "living") as folder:
        (folder / "work").write_text("x")
        assert sorted(path.name for path in leftovers(tmp_path)) == ["dead", "tmp-0123"]
        clean(tmp_path)
        assert (folder / "work").read_text() == "x"
        assert not leftovers(tmp_path)
    assert not list((tmp_path / "staging").iterdir())


def test_a_workspace_is_waited_for(tmp_path):
    def hold():
        with workspace(tmp_path, "one") as folder:
            (folder / "mine").write_text("x")
            time.sleep(0.3)

    child = in_process(hold)
    while not (tmp_path / "staging" / "one" / "mine").exists():
        time.sleep(0.01)
    with workspace(tmp_path, "one") as folder:
        assert not list(folder.iterdir())
        assert os.waitpid(child, os.WNOHANG) != (0, 0) or ended_well(child)
