"""Episodes edited and edits taken back; sessions joined and split."""

from __future__ import annotations

import pytest

from twinloop.core.errors import UsageError
from twinloop.core.session import Outcome
from twinloop.store.fsck import check_store
from twinloop.store.ingest import ingest
from twinloop.store.queries import list_episodes, list_sessions, resolve_episodes
from twinloop.store.sessions import join_sessions, split_session
from twinloop.store.store import Store
from twinloop.testing.synthetic import SessionSpec, record_session

pytestmark = pytest.mark.every_store


@pytest.fixture
def two(store, recording, tmp_path) -> tuple[Store, str, str]:
    other = tmp_path / "other.mcap"
    record_session(other, SessionSpec(seed=6, duration_s=8.0, episodes=2, cameras=()))
    return store, ingest(store, recording).session, ingest(store, other).session


def only(store: Store, session: str, number: int = 0):
    return store.session(session).session.episodes[number]


def test_an_exclusion_is_taken_back_and_brought_back(two):
    store, session, _ = two
    ids = resolve_episodes(store.catalog, [f"{session}/0"])
    first = store.edit_episodes(ids, exclude="slipped", outcome=Outcome.FAILURE)
    assert only(store, session).excluded == "slipped"
    assert only(store, session).outcome is Outcome.FAILURE
    undone = store.undo(first[0].command)
    assert only(store, session).excluded is None
    assert only(store, session).outcome is Outcome.UNKNOWN
    store.undo(undone[0].command)
    assert only(store, session).excluded == "slipped"
    (row,) = list_episodes(store.catalog, excluded=True)
    assert row.excluded == "slipped"


def test_ranges_and_stars_name_episodes(two):
    store, _, session = two
    assert len(resolve_episodes(store.catalog, [f"{session}/*"])) == 2
    assert len(resolve_episodes(store.catalog, [f"{session}/0-1", f"{session}/1"])) == 2


def test_joined_sessions_keep_episode_ids_and_edits(two):
    store, first, second = two
    ids = [episode.id for episode in store.session(second).session.episodes]
    store.edit_episodes(ids[:1], instruction="stack")
    manifest = join_sessions(store, first, [second])
    assert [episode.id for episode in manifest.episodes][1:] == ids
    assert [episode.index for episode in manifest.episodes] == [0, 1, 2]
    assert only(store, first, 1).instruction == "stack"
    assert [row.id for row in list_sessions(store.catalog)] == [first]
    assert store.session(second).session.id == first
    assert list(check_store(store)) == []


def test_a_join_that_stopped_halfway_changes_nothing_and_can_be_finished(two):
    from dataclasses import replace

    store, first, second = two
    store.manifests.change(second, "half a join", lambda m: replace(m, merged_into=first))
    store.catalog.sync()
    assert len(list_sessions(store.catalog)) == 2
    join_sessions(store, first, [second])
    assert len(list_sessions(store.catalog)) == 1


def test_a_recording_is_split_off_again(two):
    store, first, second = two
    join_sessions(store, first, [second])
    joined = store.manifests.latest(first)
    made = split_session(store, first, recordings=[joined.recordings[1].hash[:10]])
    assert len(made.episodes) == 2
    assert len(store.session(first).session.episodes) == 1
    assert len(list_sessions(store.catalog)) == 2
    assert list(check_store(store)) == []


def test_a_split_in_time_gives_each_side_its_samples(two):
    store, _, session = two
    whole = store.session(session)
    name = next(iter(whole.streams))
    rows = whole.streams[name].count
    episodes = whole.session.episodes
    at = (episodes[0].end_ns + episodes[1].start_ns) // 2
    made = split_session(store, session, at_ns=at)
    before, after = store.session(session), store.session(made.session)
    counts = [sum(len(b) for b in side.scan([name])) for side in (before, after)]
    assert sum(counts) == rows
    assert min(counts) > 0
    assert [len(side.session.episodes) for side in (before, after)] == [1, 1]


def test_a_split_through_an_episode_is_refused(two):
    store, _, session = two
    episode = only(store, session)
    with pytest.raises(UsageError, match="inside episode 0"):
        split_session(store, session, at_ns=episode.start_ns + 1_000_000)
    with pytest.raises(UsageError, match="nothing"):
        split_session(store, session, at_ns=0)
