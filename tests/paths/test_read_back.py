"""Datasets that we wrote, opened again: what is taken over, and when it is not."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from journey import CLOCK, NUMBERS, SCENE, Workshop
from reading import folder_beside

from twinloop.core.clock import Clock, Epoch
from twinloop.core.errors import UnreadableError
from twinloop.core.kinds import StampSource
from twinloop.core.recording import Problem
from twinloop.deliver.exporter import EXPORTS
from twinloop.deliver.options import RowOptions
from twinloop.deliver.stored import stored_sources
from twinloop.formats.mapping.feature import read_feature
from twinloop.formats.reader import open_recording
from twinloop.store.ingest import ingest
from twinloop.store.sources import IngestOptions
from twinloop.store.store import Store

FORMATS = ("lerobot", "lerobot v2.1", "rlds", "robomimic", "aloha", "zarr")
ALONE = ("rlds", "robomimic", "aloha", "zarr")  # those that hold times themselves


@pytest.fixture(scope="module")
def workshop(tmp_path_factory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("back"))


def copied(workshop: Workshop, name: str, folder: Path, *, beside: bool = True) -> Path:
    """A dataset of its own to change."""
    made = workshop.write("mcap", name)
    path = folder / made.name
    (shutil.copytree if made.is_dir() else shutil.copy)(made, path)
    if not made.is_dir():
        shutil.copytree(folder_beside(made), folder_beside(path))
    for part in ("rows.parquet", "episodes.parquet", "facts.json") if not beside else ():
        (folder_beside(path) / part).unlink()
    return path


def times_of(recording, stream: str) -> np.ndarray:
    return np.concatenate([np.asarray(batch.columns.column("stamp_ns")) for batch in recording.scan([stream])])


@pytest.mark.parametrize("name", FORMATS)
def test_all_that_was_written_is_taken_over(workshop, name):
    with open_recording(workshop.write("mcap", name)) as recording:
        assert not recording.notes
        assert (recording.facts.task, recording.facts.operator, recording.facts.consent) == (
            "pick-cube",
            "ada",
            "C-7",
        )
        assert f"camera/{SCENE}" in recording.calibration
        features = {feature.name: feature for feature in recording.own_mapping.features}
        first = next(source for source in workshop.sources("mcap"))
        for feature in first.features():
            if feature.name in NUMBERS:
                samples = read_feature(recording, features[feature.name])
                assert features[feature.name].unit == "rad"
                assert samples.names == feature.names
                assert samples.times_ns.tolist() == workshop.truth.times_ns.tolist()
        stream = recording.streams[features[SCENE].stream]
        assert (stream.stamp_source, stream.stamp_clock) == (StampSource.DRIVER, Clock(Epoch.UNIX))
        assert times_of(recording, stream.name).tolist() == workshop.truth.times_ns.tolist()
        assert [e.outcome for e in recording.episodes] == ["success"] * 2
        assert [e.instruction for e in recording.episodes] == workshop.truth.instructions


@pytest.mark.parametrize("name", FORMATS)
def test_a_window_cuts_by_the_true_times(workshop, name):
    times = workshop.truth.times_ns
    start, end = int(times[5]), int(times[-3])
    with open_recording(workshop.write("mcap", name)) as recording:
        for stream in recording.streams:
            found = [
                np.asarray(batch.columns.column("stamp_ns"))
                for batch in recording.scan([stream], start_ns=start, end_ns=end)
            ]
            if recording.streams[stream].count:
                assert np.concatenate(found).tolist() == times[5:-3].tolist(), stream


@pytest.mark.parametrize("name", ALONE)
def test_times_and_outcomes_stand_in_the_dataset_itself(workshop, name, tmp_path):
    with open_recording(copied(workshop, name, tmp_path, beside=False)) as recording:
        assert recording.facts.consent is None and recording.own_mapping is None
        assert times_of(recording, SCENE).tolist() == workshop.truth.times_ns.tolist()
        assert [e.outcome for e in recording.episodes] == ["success"] * 2


@pytest.mark.parametrize("name", ["lerobot", "rlds"])
def test_what_is_of_other_episodes_is_not_taken_over(workshop, name, tmp_path):
    path = copied(workshop, name, tmp_path)
    rows = pq.read_table(folder_beside(path) / "rows.parquet")
    moved = rows.set_column(1, "episode_index", [[0] * 12 + [1] * 13])
    pq.write_table(moved, folder_beside(path) / "rows.parquet")
    with open_recording(path) as recording:
        assert [note.problem for note in recording.notes] == [Problem.COUNT]
        assert recording.facts.consent is None
        assert name == "rlds" or recording.streams["action"].stamp_source is StampSource.GRID


@pytest.mark.parametrize("part", ["rows.parquet", "episodes.parquet", "facts.json"])
def test_damage_beside_a_dataset_costs_what_stands_there(workshop, part, tmp_path):
    path = copied(workshop, "lerobot", tmp_path)
    file = folder_beside(path) / part
    whole = file.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", b"[1]" if part == "facts.json" else whole[:-4] + b"PAR0"):
        file.write_bytes(damaged)
        with open_recording(path) as recording:
            assert recording.notes or damaged == b"[1]"
            assert sum(len(batch) for batch in recording.scan(["action"])) == len(workshop.truth.times_ns)


def test_a_grid_comes_back_as_a_grid(workshop, tmp_path):
    store = Store.create(tmp_path / "store")
    ingest(store, copied(workshop, "lerobot", tmp_path, beside=False), IngestOptions())
    for name in ALONE:
        out = tmp_path / {"robomimic": "demos.hdf5"}.get(name, name)
        EXPORTS.get(name).export(stored_sources(store), out, RowOptions(CLOCK))
        with open_recording(out) as recording:
            stream = recording.streams["action"]
            assert (stream.stamp_source, stream.rate_hz) == (StampSource.GRID, 10.0), name


def test_a_folder_of_episodes_is_one_session(workshop, tmp_path):
    path = copied(workshop, "aloha", tmp_path)
    store = Store.create(tmp_path / "store")
    ingest(store, path, IngestOptions())
    (source,) = stored_sources(store)
    assert len(source.episodes) == 2
    file = path / "episode_1.hdf5"
    file.write_bytes(file.read_bytes()[:5000])
    with open_recording(path) as recording:
        assert len(recording.episodes) == 1
        assert Problem.CORRUPT in {note.problem for note in recording.notes}


def test_a_folder_of_several_layouts_is_refused(workshop, tmp_path):
    path = copied(workshop, "aloha", tmp_path)
    shutil.copy(workshop.write("mcap", "robomimic"), path / "episode_2.hdf5")
    with pytest.raises(UnreadableError, match="several layouts"):
        open_recording(path)


def test_a_zip_of_a_buffer_comes_back_whole(workshop, tmp_path):
    out = tmp_path / "buffer.zarr.zip"
    EXPORTS.get("zarr").export(workshop.sources("mcap"), out, RowOptions(CLOCK))
    with open_recording(out) as recording:
        assert not recording.notes
        assert times_of(recording, "action").tolist() == workshop.truth.times_ns.tolist()
        assert recording.facts.consent == "C-7"
