"""What the store lost of a recording is made anew when the recording is taken in again."""

from __future__ import annotations

import shutil

import pytest

from twinloop.core.session import Outcome
from twinloop.store.fsck import Harm, check_store
from twinloop.store.ingest import Status, ingest
from twinloop.store.mending import repair
from twinloop.store.queries import list_sessions
from twinloop.store.sessions import split_session
from twinloop.store.sources import IngestOptions
from twinloop.store.store import Store
from twinloop.testing.robot_tracks import CameraSpec
from twinloop.testing.synthetic import SessionSpec, record_session


@pytest.fixture(scope="module")
def take(tmp_path_factory):
    path = tmp_path_factory.mktemp("takes") / "a take.mcap"
    camera = CameraSpec("scene", 10.0, width=64, height=48)
    record_session(path, SessionSpec(seed=3, duration_s=8.0, episodes=2, cameras=(camera,)))
    return path


def contents(session):
    return {name: session.read(name) for name in session.streams}


def harm(store: Store) -> set[str]:
    return {t.key for t in check_store(Store.open(store.work)) if t.harm is not Harm.LEFTOVER}


@pytest.mark.parametrize("raw", ["copy", "reference"])
@pytest.mark.parametrize(
    "pattern",
    [
        "sessions/*/streams/*/*",
        "sessions/*/media/*/*",
        "sessions/*/reports/*/*",
        "blobs/*/*",
        "sessions/*/*/*/*",
    ],
)
def test_what_is_missing_or_cut_comes_back(store, take, pattern, raw):
    session = ingest(store, take, IngestOptions(raw=raw)).session
    before = store.session(session)
    kept, report = contents(before), before.report
    ids = [episode.id for episode in before.session.episodes]
    store.edit_episodes(ids[:1], outcome=Outcome.FAILURE, exclude="slipped")
    victims = sorted(path for path in store.work.glob(pattern) if path.is_file())
    assert bool(victims) == (pattern != "blobs/*/*" or raw == "copy")
    for number, path in enumerate(victims):
        if number % 2:
            path.write_bytes(path.read_bytes()[:-1])
        else:
            path.unlink()
    again = ingest(Store.open(store.work), take)
    assert (again.status, again.session, again.exit_code) == (Status.PRESENT, session, 0)
    assert ("made anew" in again.message) == bool(victims)
    mended = Store.open(store.work)
    assert harm(mended) == set()
    after = mended.session(session)
    assert contents(after) == kept
    assert after.report.findings == report.findings
    assert [episode.id for episode in after.session.episodes] == ids
    assert after.session.episodes[0].excluded == "slipped"
    assert len(list_sessions(mended.catalog)) == 1


def test_both_sides_of_a_split_are_mended(store, take):
    session = ingest(store, take).session
    episodes = store.session(session).session.episodes
    other = split_session(store, session, at_ns=(episodes[0].end_ns + episodes[1].start_ns) // 2).session
    kept = {id: contents(store.session(id)) for id in (session, other)}
    shutil.rmtree(store.work / "sessions" / session / "streams")
    assert ingest(Store.open(store.work), take).status is Status.PRESENT
    assert harm(store) == set()
    assert {id: contents(Store.open(store.work).session(id)) for id in kept} == kept


def test_what_fsck_says_to_do_is_what_helps(store, take, tmp_path):
    own = tmp_path / "own take.mcap"
    shutil.copy(take, own)
    ingest(store, own)
    own.unlink()
    victim = next(store.work.glob("sessions/*/streams/*/*"))
    whole = victim.read_bytes()
    victim.write_bytes(whole[:-1] + b"?")
    (trouble,) = check_store(Store.open(store.work))
    assert trouble.fix == "twinloop store fsck --repair"
    repair(Store.open(store.work))
    assert harm(store) == set()
    assert victim.read_bytes() == whole
