"""Artefacts come out of raw as they were, whatever the recording was and however it was taken in."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from care import troubles

from twinloop.store.fsck import Harm
from twinloop.store.ingest import Status, ingest
from twinloop.store.mending import repair
from twinloop.store.sources import IngestOptions, find_recordings
from twinloop.store.store import Store
from twinloop.testing.bag_writer import write_rosbag2
from twinloop.testing.robot_tracks import CameraSpec
from twinloop.testing.synthetic import SessionSpec, record_session, simulate

RAW_CAMERA = CameraSpec("scene", 5.0, width=48, height=32, encoding="raw")


def lose_all(store: Store) -> dict[Path, bytes]:
    """Remove every artefact; what they held."""
    lost = {path: path.read_bytes() for path in store.work.glob("sessions/*/*/*/*")}
    for path in lost:
        path.unlink()
    assert lost
    return lost


def mended(store: Store, lost: dict[Path, bytes]) -> None:
    assert repair(Store.open(store.url)).left == ()
    assert troubles(store) == []
    assert {path: path.read_bytes() for path in lost} == lost


def test_several_files_in_a_folder(store, tmp_path):
    bag = tmp_path / "a bag"
    tracks, _ = simulate(SessionSpec(duration_s=2.0, cameras=(), follower_hz=50.0))
    write_rosbag2(bag, tracks.values())
    assert ingest(store, bag).status is Status.STORED
    lost = lose_all(store)
    shutil.rmtree(bag)
    mended(store, lost)


def test_pictures_with_loss(store, tmp_path):
    path = tmp_path / "take.mcap"
    record_session(path, SessionSpec(duration_s=2.0, cameras=(RAW_CAMERA,), follower_hz=20.0))
    ingest(store, path, IngestOptions(images="h264"))
    lost = lose_all(store)
    path.unlink()
    assert repair(Store.open(store.url)).left == ()
    assert troubles(store) == []
    assert {p.name for p in lost} <= {p.name for p in store.work.glob("sessions/*/*/*/*")}


def test_a_recording_that_the_store_only_refers_to(store, tmp_path):
    path = tmp_path / "take.mcap"
    record_session(path, SessionSpec(duration_s=2.0, cameras=(), follower_hz=20.0))
    ingest(store, path, IngestOptions(raw="reference"))
    mended(store, lose_all(store))
    lose_all(store)
    path.rename(tmp_path / "moved.mcap")
    left = repair(Store.open(store.url)).left
    assert {trouble.harm for trouble in left} == {Harm.DAMAGE}
    assert any("taken in again" in t.fix or "take it in again" in t.fix for t in left)


@pytest.mark.parametrize("what", ["mapping given", "proposed"])
def test_a_mapping(store, tmp_path, what):
    path = tmp_path / "take.mcap"
    record_session(path, SessionSpec(duration_s=2.0, cameras=(), follower_hz=20.0))
    options = IngestOptions()
    if what == "mapping given":
        mapping = tmp_path / "own.toml"
        stated = {"name": "observation.state", "stream": "/follower/joint_states", "field": "position"}
        feature = "".join(f'{key} = "{value}"\n' for key, value in {**stated, "role": "observation"}.items())
        mapping.write_text(f"schema = 1\n[[features]]\n{feature}")
        options = IngestOptions(mapping=mapping)
    outcome = ingest(store, path, options)
    assert outcome.status is Status.STORED, outcome.message
    lost = lose_all(store)
    for file in (path, tmp_path / "own.toml"):
        file.unlink(missing_ok=True)
    mended(store, lost)


def test_damaged_raw_makes_nothing_anew(store, tmp_path):
    path = tmp_path / "take.mcap"
    record_session(path, SessionSpec(duration_s=2.0, cameras=(), follower_hz=20.0))
    ingest(store, path)
    lost = lose_all(store)
    path.unlink()
    (blob,) = store.work.glob("blobs/*/*")
    blob.write_bytes(blob.read_bytes()[:-1] + b"?")
    done = repair(Store.open(store.url))
    assert {t.key for t in done.left} == {p.relative_to(store.work).as_posix() for p in (*lost, blob)}
    assert done.mended == ()


@pytest.mark.parametrize("name", ["lerobot-v3-so101-SIM/local_dataset_ros2", "robot-localization-bags"])
def test_real_recordings(store, test_data, name):
    (recording, *_) = find_recordings([test_data / name]).recordings
    assert ingest(store, recording).session
    mended(store, lose_all(store))
