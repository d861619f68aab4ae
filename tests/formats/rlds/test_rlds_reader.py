"""What the reader `rlds` makes of a dataset."""

from __future__ import annotations

import json
import zlib

import numpy as np
import pytest
from rlds_files import (
    FEATURES,
    STEP,
    TEXT,
    episode,
    example,
    group,
    image,
    kitchen,
    sequence,
    tensor,
    write_rlds,
)

from twinloop.core.errors import UnreadableError
from twinloop.core.kinds import Kind, Role, StampSource
from twinloop.core.recording import Problem
from twinloop.formats.reader import find_reader, open_recording


def test_an_episode_is_a_record(tmp_path):
    with open_recording(kitchen(tmp_path / "1.0.0")) as recording:
        spans = recording.episodes
        assert [s.instruction for s in spans[:2]] == ["put cup 0 in the sink", "put cup 1 in the sink"]
        assert [s.attributes["split"] for s in spans] == ["train"] * 4 + ["val"]
        assert spans[4].attributes["episode_metadata/file_path"] == "/raw/4.npy"
        state = recording.read("observation.state")
        stamps = state.column("stamp_ns").to_numpy()
        for number, span in enumerate(spans):
            mine = (stamps >= span.start_ns) & (stamps < span.end_ns)
            assert set(state.column("dim_0").to_numpy()[mine]) == {number}
            assert state.column("dim_1").to_numpy()[mine].tolist() == list(range(mine.sum()))
        assert recording.read("action").column("dim_0").to_pylist() == state.column("dim_1").to_pylist()


def test_pictures_are_the_bytes_of_the_file(tmp_path):
    with open_recording(kitchen(tmp_path / "1.0.0")) as recording:
        batch = next(recording.scan(["observation.images.wrist"]))
        assert [bytes(data) for data in batch.payload] == [image(n, "png") for n in range(4)]
        assert batch.columns.slice(0, 1).to_pylist()[0] | {"stamp_ns": 0} == {
            "stamp_ns": 0,
            "frame_id": "",
            "width": 48,
            "height": 32,
            "encoding": "png",
        }


def test_nothing_is_said_of_times_that_the_source_does_not_tell(tmp_path):
    with open_recording(kitchen(tmp_path / "1.0.0")) as recording:
        stream = recording.streams["action"]
        assert stream.stamp_source is StampSource.GRID
        assert stream.rate_hz is None
        assert stream.role is Role.ACTION
        assert not stream.units
        assert "as if a second apart" in stream.attributes["times"]


def test_a_declared_control_rate_is_the_grid(tmp_path):
    features = group(steps=sequence(STEP), episode_metadata=group(control_frequency=tensor("float32")))
    values = [{**episode(n, 5), "episode_metadata/control_frequency": np.array([5.0])} for n in range(2)]
    path = write_rlds(tmp_path / "1.0.0", {"train": [list(map(example, values))]}, features)
    with open_recording(path) as recording:
        assert recording.streams["action"].rate_hz == 5
        stamps = recording.read("action").column("stamp_ns").to_pylist()
        assert stamps[:6] == [0, 200_000_000, 400_000_000, 600_000_000, 800_000_000, 1_000_000_000]


def test_bookkeeping_keeps_its_types(tmp_path):
    with open_recording(kitchen(tmp_path / "1.0.0")) as recording:
        steps = recording.read("steps")
        assert steps.column("is_first").to_pylist()[:5] == [True, False, False, False, True]
        assert steps.column("reward").to_pylist()[:4] == [0, 0, 0, 1]


def test_lists_within_a_step_may_differ_in_length(tmp_path):
    boxes = sequence(tensor("float32", 2))
    features = group(steps=sequence(group(boxes=boxes, names=TEXT, blob=tensor("int16", 3, encoding="zlib"))))
    blobs = np.arange(9, dtype=np.int16).reshape(3, 3)
    values = {
        "steps/boxes/ragged_flat_values": np.arange(8, dtype=np.float32),
        "steps/boxes/ragged_row_lengths_0": np.array([1, 0, 3]),
        "steps/names": [b"a", b"", "\xfc".encode("latin-1")],
        "steps/blob": [zlib.compress(row.tobytes()) for row in blobs],
    }
    path = write_rlds(tmp_path / "1.0.0", {"train": [[example(values)]]}, features)
    with open_recording(path) as recording:
        assert recording.read("boxes").column("values").to_pylist() == [[0, 1], [], [2, 3, 4, 5, 6, 7]]
        assert recording.read("names").column("text").to_pylist() == ["a", "", "\ufffd"]
        assert recording.read("blob").column("dim_1").to_pylist() == [1, 4, 7]
        assert not recording.notes


def test_values_of_the_episode_that_are_many_are_a_stream(tmp_path):
    features = group(steps=sequence(STEP), embedding=tensor("float32", 100))
    values = [{**episode(n, 3), "embedding": np.full(100, n, np.float32)} for n in range(2)]
    path = write_rlds(tmp_path / "1.0.0", {"train": [list(map(example, values))]}, features)
    with open_recording(path) as recording:
        table = recording.read("embedding")
        assert table.num_rows == 2
        assert table.column("dim_99").to_pylist() == [0, 1]
        assert table.column("stamp_ns").to_pylist() == [s.start_ns for s in recording.episodes]


def test_a_key_that_some_records_lack_is_noted(tmp_path):
    short = {key: value for key, value in episode(1, 4).items() if "action" not in key}
    path = write_rlds(tmp_path / "1.0.0", {"train": [[example(episode(0, 3)), example(short)]]})
    with open_recording(path) as recording:
        assert recording.streams["action"].count == 3
        assert recording.read("action").num_rows == 3
        assert [(n.problem, n.where.stream) for n in recording.notes] == [(Problem.COUNT, "action")]


def test_a_list_of_the_wrong_length_is_noted_and_others_are_read(tmp_path):
    wrong = episode(0, 4)
    wrong["steps/observation/state"] = wrong["steps/observation/state"][:-1]
    path = write_rlds(tmp_path / "1.0.0", {"train": [[example(wrong)]]})
    with open_recording(path) as recording:
        assert recording.read("observation.state").num_rows == 0
        assert recording.read("action").num_rows == 4
        note = recording.notes[0]
        assert (note.problem, note.where.stream, note.lost) == (Problem.UNDECODABLE, "observation.state", 4)
        assert "27 values, not 4 times 7" in note.message


def test_a_damaged_record_costs_its_own_steps(tmp_path):
    path = kitchen(tmp_path / "1.0.0")
    file = path / "kitchen-train.tfrecord-00000-of-00002"
    data = bytearray(file.read_bytes())
    data[len(data) // 3] ^= 1
    file.write_bytes(data)
    with open_recording(path) as recording:
        assert recording.read("action").num_rows == 25 - recording.notes[0].lost
        assert "does not fit its checksum" in recording.notes[0].message
        assert recording.notes[0].where.file == str(file)


def test_missing_files_and_counts_are_noted(tmp_path):
    path = kitchen(tmp_path / "1.0.0")
    (path / "kitchen-train.tfrecord-00001-of-00002").unlink()
    info = json.loads((path / "dataset_info.json").read_text())
    info["splits"][1]["shardLengths"] = ["2"]
    (path / "dataset_info.json").write_text(json.dumps(info))
    with open_recording(path) as recording:
        assert [n.problem for n in recording.notes] == [Problem.MISSING_FILE, Problem.COUNT]
        assert recording.notes[0].lost == 2
        assert len(recording.episodes) == 3


def test_one_file_and_the_dataset_above_open_too(tmp_path):
    version = kitchen(tmp_path / "kitchen" / "1.0.0")
    with open_recording(version / "kitchen-val.tfrecord-00000-of-00001") as recording:
        assert recording.streams["action"].count == 7
        assert not recording.notes
    with open_recording(tmp_path / "kitchen") as recording:
        assert recording.streams["action"].count == 25


def test_without_features_nobody_can_tell(tmp_path):
    version = kitchen(tmp_path / "1.0.0")
    (version / "features.json").unlink()
    file = version / "kitchen-val.tfrecord-00000-of-00001"
    assert find_reader(file).name == "rlds"
    with pytest.raises(UnreadableError, match=r"features\.json is missing"):
        open_recording(file)


def test_a_dataset_of_other_things_is_not_claimed(tmp_path):
    path = write_rlds(
        tmp_path / "1.0.0", {"train": [[example({"label": np.array([1])})]]}, group(label=tensor("int64"))
    )
    with pytest.raises(UnreadableError, match="no known format"):
        open_recording(path)


def test_kinds_follow_the_features(tmp_path):
    with open_recording(kitchen(tmp_path / "1.0.0")) as recording:
        assert recording.streams["observation.state"].kind is Kind.TABLE
        assert recording.metadata["splits/train"] == "2, 2"
        assert FEATURES["featuresDict"]


def test_real_episodes_of_a_widowx(test_data):
    root = test_data / "rlds-bridge-octo/tests/debug_dataset/bridge_dataset"
    if not root.is_dir():
        pytest.skip("rlds-bridge-octo is not there")
    with open_recording(root) as recording:
        assert len(recording.episodes) == 25
        rows = dict.fromkeys(recording.streams, 0)
        for batch in recording.scan():
            rows[batch.stream] += len(batch)
            if batch.payload is not None:
                assert all(bytes(data[:2]) == b"\xff\xd8" for data in batch.payload)
        assert set(rows.values()) == {250}
        assert recording.episodes[24].instruction == "put carrot on plate"
        assert [n.problem for n in recording.notes] == [Problem.MISSING_FILE]  # its split val
        assert "split val" in recording.notes[0].message
