"""Recordings of one session in any order of time: images keep to their samples, parts find together again."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from twinloop.formats.video.decode import decode_images
from twinloop.store.fsck import check_store
from twinloop.store.ingest import Status, ingest
from twinloop.store.queries import list_sessions, sessions_with
from twinloop.store.sessions import join_sessions, split_session
from twinloop.store.sources import IngestOptions
from twinloop.testing.robot_tracks import CameraSpec
from twinloop.testing.synthetic import FOLLOWER, SessionSpec, record_session

pytestmark = pytest.mark.every_store(heavy=True)

SCENE = "/scene/image/compressed"
CAMERA = CameraSpec("scene", 10.0, width=64, height=48)
LATE = SessionSpec(seed=1, duration_s=2.0, cameras=(CAMERA,), imu_hz=0, leader_hz=0)


def pictures(session) -> dict[int, bytes]:
    """The bytes of the image at each time."""
    shown: dict[int, bytes] = {}
    segments = session.streams[SCENE].segments
    for batch in session.scan([SCENE]):
        segment = batch.columns.column("segment").to_numpy()
        pts = batch.columns.column("pts").to_numpy()
        times = batch.columns.column("stamp_ns").to_numpy()
        for number in np.unique(segment):
            mine = segment == number
            for place, image in decode_images(segments[number], pts[mine]):
                shown[int(times[mine][place])] = image.tobytes()
    return shown


def test_an_earlier_recording_that_joins_later_keeps_its_images(store, tmp_path):
    early = replace(LATE, seed=2, duration_s=3.0, start_ns=LATE.start_ns - 100 * 10**9)
    apart = {}
    for name, spec in (("late", LATE), ("early", early)):
        record_session(tmp_path / f"{name}.mcap", spec)
        ingest(store, tmp_path / f"{name}.mcap")
        apart |= pictures(store.session("last"))
    first, second = [row.id for row in list_sessions(store.catalog)]
    join_sessions(store, first, [second])
    with store.session(first) as joined:
        assert joined.streams[SCENE].count == len(apart)
        assert pictures(joined) == apart
        times = joined.read(SCENE, ["stamp_ns"]).column("stamp_ns").to_numpy()
        assert (np.diff(times) > 0).all()


@pytest.fixture
def long(store, tmp_path):
    """A session of one recording with three episodes, its raw file elsewhere; times between the episodes."""
    path = tmp_path / "long.mcap"
    record_session(path, replace(LATE, duration_s=12.0, episodes=3))
    session = ingest(store, path, IngestOptions(raw="reference")).session
    episodes = store.session(session).session.episodes
    cuts = [(a.end_ns + b.start_ns) // 2 for a, b in pairwise(episodes)]
    return path, session, cuts


def test_what_was_split_in_time_is_whole_again_when_joined(store, long):
    _, session, (at, _) = long
    before = store.session(session)
    times, images = before.read(FOLLOWER), pictures(before)
    made = split_session(store, session, at_ns=at)
    for id in (session, made.session):
        side = store.session(id)
        (row,) = list_sessions(store.catalog, ids=[id])
        stamps = side.read(FOLLOWER, ["stamp_ns"]).column("stamp_ns").to_numpy()
        assert row.start_ns <= stamps[0] <= stamps[-1] <= row.end_ns
        assert side.streams[FOLLOWER].start_ns <= stamps[0]
        assert stamps[-1] <= side.streams[FOLLOWER].end_ns
    join_sessions(store, session, [made.session])
    (entry,) = store.manifests.latest(session).recordings
    assert (entry.start_ns, entry.end_ns) == (None, None)
    after = store.session(session)
    assert after.read(FOLLOWER).equals(times)
    assert pictures(after) == images
    assert [episode.index for episode in after.session.episodes] == [0, 1, 2]
    assert after.report.findings == before.report.findings
    assert list(check_store(store)) == []


def test_parts_with_a_hole_between_them_are_one_session(store, long):
    path, session, (first, second) = long
    whole = store.session(session).read(FOLLOWER).num_rows
    middle = split_session(store, session, at_ns=first)
    end = split_session(store, middle.session, at_ns=second)
    join_sessions(store, session, [end.session])
    rows = {id: store.session(id).read(FOLLOWER).num_rows for id in (session, middle.session)}
    assert sum(rows.values()) == whole
    assert min(rows.values()) > 0
    assert len(store.manifests.latest(session).recordings) == 2
    assert sorted(sessions_with(store.catalog, end.recordings[0].hash)) == sorted([session, middle.session])
    assert list(check_store(store)) == []

    # Copying the raw file afterwards changes no part's limits, nor does another split in the hole.
    assert ingest(store, path).status is Status.PRESENT
    assert {id: store.session(id).read(FOLLOWER).num_rows for id in rows} == rows
    assert {r.raw for id in rows for r in store.manifests.latest(id).recordings} == {"copy"}
    again = split_session(store, session, at_ns=(first + second) // 2)
    assert (
        store.session(session).read(FOLLOWER).num_rows + store.session(again.session).read(FOLLOWER).num_rows
        == (rows[session])
    )
    join_sessions(store, middle.session, [session, again.session])
    (entry,) = store.manifests.latest(middle.session).recordings
    assert (entry.start_ns, entry.end_ns) == (None, None)
    assert store.session(middle.session).read(FOLLOWER).num_rows == whole
    assert list(check_store(store)) == []
