"""What the reader `zarr` makes of a store."""

from __future__ import annotations

import json

import numpy as np
import pytest
import zarr
from zarr_files import write_store, zipped

from twinloop.core.clock import Epoch
from twinloop.core.errors import UnreadableError
from twinloop.core.kinds import StampSource
from twinloop.core.recording import Problem
from twinloop.formats.reader import open_recording


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("packed", [False, True])
def test_rows_are_cut_by_episode_ends(tmp_path, version, packed):
    path = write_store(tmp_path / "x.zarr", version=version)
    path = zipped(path, tmp_path / "x.zarr.zip") if packed else path
    with open_recording(path) as recording:
        position = recording.read("observation.robot0_eef_pos")
        stamps = position.column("stamp_ns").to_numpy()
        for number, span in enumerate(recording.episodes):
            mine = (stamps >= span.start_ns) & (stamps < span.end_ns)
            assert set(position.column("dim_0").to_numpy()[mine]) == {number}
        pictures = [bytes(p) for b in recording.scan(["observation.images.camera0_rgb"]) for p in b.payload]
        assert [p[0] for p in pictures[:6]] == [0, 1, 2, 3, 4, 0]
        assert recording.streams["action"].stamp_source is StampSource.GRID
        assert recording.streams["action"].rate_hz is None


def test_times_that_never_fall_are_stamps(tmp_path):
    with open_recording(write_store(tmp_path / "x.zarr", timestamps=True)) as recording:
        stream = recording.streams["action"]
        assert (stream.stamp_source, stream.stamp_clock.epoch) == (StampSource.DRIVER, Epoch.UNIX)
        assert recording.episodes[1].start_ns == 1_700_000_100 * 10**9


def test_times_that_begin_anew_are_a_stream_and_no_stamps(tmp_path):
    path = write_store(tmp_path / "x.zarr")
    zarr.open_group(path)["data"].create_array("timestamp", data=np.tile(np.arange(10.0), 2))
    with open_recording(path) as recording:
        assert recording.streams["action"].stamp_source is StampSource.GRID
        assert recording.read("observation.timestamp").column("value").to_pylist()[10] == 0


def test_an_array_whose_codec_is_not_there_is_noted(tmp_path):
    path = write_store(tmp_path / "x.zarr")
    described = path / "data/camera0_rgb/.zarray"
    metadata = json.loads(described.read_text()) | {"compressor": {"id": "imagecodecs_jpegxl", "level": 99}}
    described.write_text(json.dumps(metadata))
    with open_recording(path) as recording:
        assert "observation.images.camera0_rgb" not in recording.streams
        assert recording.read("action").num_rows == 20
        (note,) = recording.notes
        assert note.problem is Problem.UNDECODABLE
        assert "imagecodecs" in note.message


def test_a_damaged_chunk_costs_its_own_rows(tmp_path):
    path = write_store(tmp_path / "x.zarr")
    chunk = path / "data/action/1.0"
    chunk.write_bytes(chunk.read_bytes()[:20])
    with open_recording(path) as recording:
        assert recording.read("action").num_rows == 12
        assert [(n.problem, n.lost, n.where.row) for n in recording.notes] == [(Problem.CORRUPT, 8, 8)]


def test_links_out_of_the_store_are_refused(tmp_path):
    path = write_store(tmp_path / "x.zarr")
    chunk = path / "data/action/0.0"
    (tmp_path / "secret").write_bytes(chunk.read_bytes())
    chunk.unlink()
    chunk.symlink_to(tmp_path / "secret")
    with open_recording(path) as recording:
        assert "action" not in recording.streams
        assert "is a link" in recording.notes[0].message


def test_a_shape_without_chunks_is_refused(tmp_path):
    path = write_store(tmp_path / "x.zarr")
    described = path / "data/action/.zarray"
    described.write_text(json.dumps(json.loads(described.read_text()) | {"shape": [10**13, 7]}))
    with open_recording(path) as recording:
        assert "action" not in recording.streams
        assert "chunks are there" in recording.notes[0].message


def test_rows_beyond_the_last_episode_are_one_more(tmp_path):
    path = write_store(tmp_path / "x.zarr")
    zarr.open_group(path)["meta/episode_ends"][2] = 18
    with open_recording(path) as recording:
        assert len(recording.episodes) == 4
        assert "belong to no episode" in recording.notes[0].message


def test_without_ends_it_is_no_dataset(tmp_path):
    path = write_store(tmp_path / "x.zarr")
    (path / "meta/episode_ends/.zarray").write_text("{")
    with pytest.raises(UnreadableError, match="episode_ends"):
        open_recording(path)


@pytest.mark.parametrize("format", [2, 3])
def test_a_buffer_without_a_row_has_no_episode(tmp_path, format):
    group = zarr.open_group(tmp_path / "x.zarr", mode="w", zarr_format=format)
    group.create_group("meta").create_array("episode_ends", data=np.zeros(0, np.int64), chunks=(1,))
    group.create_group("data").create_array("action", data=np.zeros((0, 7)), chunks=(1, 7))
    with open_recording(tmp_path / "x.zarr") as recording:
        assert recording.streams["action"].count == 0
        assert (recording.episodes, list(recording.notes)) == ((), [])
