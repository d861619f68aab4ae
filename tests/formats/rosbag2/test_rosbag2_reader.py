"""ROS 2 bags as they should be: the same values as rosbags reads, wherever the definitions come from."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from ros2_bags import (
    CUSTOM,
    CUSTOM_TEXT,
    FINGER_TEXT,
    IMAGE,
    JOINTS,
    START_NS,
    by_rosbags,
    forget_definitions,
    split,
    write_bag,
)
from rosbags.rosbag2 import CompressionMode, StoragePlugin

from twinloop.core.kinds import Kind, StampSource
from twinloop.core.recording import Problem, Recording
from twinloop.formats.reader import ReadOptions, find_reader, open_recording


def assert_same(recording: Recording, expected: dict[str, list[tuple[int, object]]]) -> None:
    joints = recording.read(JOINTS)
    assert joints["log_ns"].to_pylist() == [t for t, _ in expected[JOINTS]]
    assert joints["position"].to_pylist() == [m.position.tolist() for _, m in expected[JOINTS]]
    assert joints["name"][0].as_py() == ["shoulder", "elbow"]
    images = [bytes(p) for batch in recording.scan([IMAGE]) for p in batch.payload or ()]
    assert images == [m.data.tobytes() for _, m in expected[IMAGE]]


@pytest.mark.parametrize("storage", [StoragePlugin.SQLITE3, StoragePlugin.MCAP])
@pytest.mark.parametrize("compression", [CompressionMode.NONE, CompressionMode.FILE, CompressionMode.MESSAGE])
def test_values_are_those_that_rosbags_reads(
    tmp_path: Path, storage: StoragePlugin, compression: CompressionMode
) -> None:
    if storage is StoragePlugin.MCAP and compression is CompressionMode.MESSAGE:
        pytest.skip("recorders compress MCAP's chunks or files, not messages")
    path = write_bag(tmp_path / "take", storage=storage, compression=compression)
    with open_recording(path) as recording:
        assert recording.format == "rosbag2"
        assert_same(recording, by_rosbags(path))
        assert recording.notes == []


def test_streams_are_known_when_opened(tmp_path: Path) -> None:
    with open_recording(write_bag(tmp_path / "take")) as recording:
        joints = recording.streams[JOINTS]
        assert (joints.kind, joints.count, joints.timeline) == (Kind.JOINTS, 400, "stamp_ns")
        assert joints.stamp_source is StampSource.DRIVER
        assert joints.start_ns == START_NS - 2_000_000
        assert joints.measured_rate_hz == pytest.approx(100)
        assert recording.streams[IMAGE].bytes > 40 * 24 * 32 * 3
        assert recording.metadata["rosbag2/storage_identifier"] == "sqlite3"
        assert {file.name for file in recording.files} == {"metadata.yaml", "take.db3"}


def test_a_file_alone_is_a_recording(tmp_path: Path) -> None:
    path = write_bag(tmp_path / "take")
    (path / "metadata.yaml").unlink()
    expected = by_rosbags(path / "take.db3")
    for opened in (path / "take.db3", path):
        with open_recording(opened) as recording:
            assert recording.streams[JOINTS].count == 400
            assert_same(recording, expected)
            assert recording.notes == []


def test_nothing_is_written_beside_the_source(tmp_path: Path) -> None:
    path = write_bag(tmp_path / "take")
    before = {file: file.stat().st_mtime_ns for file in path.iterdir()}
    with open_recording(path) as recording:
        recording.read(JOINTS)
        assert {file: file.stat().st_mtime_ns for file in path.iterdir()} == before


@pytest.mark.parametrize("metadata", [True, False])
def test_a_split_bag_is_one_recording(tmp_path: Path, metadata: bool) -> None:
    path = write_bag(tmp_path / "take")
    expected = by_rosbags(path)
    split(path, 3)
    if not metadata:
        (path / "metadata.yaml").unlink()
    with open_recording(path) as recording:
        assert len(recording.files) == 3 + metadata
        assert recording.streams[JOINTS].count == 400
        assert_same(recording, expected)
        assert recording.notes == []


def test_split_mcap_files_are_one_recording(tmp_path: Path) -> None:
    folder = tmp_path / "take"
    folder.mkdir()
    for part in range(2):
        one = write_bag(
            tmp_path / f"p{part}", seconds=1, start_ns=START_NS + part * 10**9, storage=StoragePlugin.MCAP
        )
        (one / f"p{part}.mcap").rename(folder / f"take_{part}.mcap")
    text = (tmp_path / "p0" / "metadata.yaml").read_text().replace("message_count: 100", "message_count: 200")
    text = text.replace("message_count: 10\n", "message_count: 20\n").replace(
        "message_count: 110", "message_count: 220"
    )
    (folder / "metadata.yaml").write_text(text.replace("  - p0.mcap", "  - take_0.mcap\n  - take_1.mcap"))
    with open_recording(folder) as recording:
        assert recording.streams[JOINTS].count == 200
        assert recording.read(JOINTS).num_rows == 200
        assert recording.notes == []


def test_a_span_of_time(tmp_path: Path) -> None:
    with open_recording(write_bag(tmp_path / "take")) as recording:
        start = START_NS + 1_000_000_000 - 2_000_000
        batches = list(recording.scan(start_ns=start, end_ns=start + 10**9, payload=False))
        rows = {n: sum(len(b) for b in batches if b.stream == n) for n in (JOINTS, IMAGE)}
        assert rows == {JOINTS: 100, IMAGE: 10}
        assert all(batch.payload is None for batch in batches)


def test_standard_types_are_read_without_definitions_and_it_is_said(tmp_path: Path) -> None:
    path = write_bag(tmp_path / "take")
    forget_definitions(path / "take.db3")
    with open_recording(path) as recording:
        assert_same(recording, by_rosbags(path))
        (note,) = recording.notes
        assert note.problem is Problem.SCHEMA
        assert "standard" in note.message
        assert "sensor_msgs/msg/JointState" in note.message


def test_other_types_need_a_folder_of_definitions(tmp_path: Path) -> None:
    path = write_bag(tmp_path / "take", custom=True, images=False)
    expected = by_rosbags(path)
    forget_definitions(path / "take.db3")
    with open_recording(path) as recording:
        assert recording.streams[CUSTOM].kind is Kind.RAW
        assert any("--types" in note.message and note.where.stream == CUSTOM for note in recording.notes)
        assert sum(len(b.payload or ()) for b in recording.scan([CUSTOM])) == 400
    messages = tmp_path / "ws/src/my_robot/msg"
    messages.mkdir(parents=True)
    (messages / "Grip.msg").write_text(CUSTOM_TEXT)
    (messages / "Finger.msg").write_text(FINGER_TEXT)
    with open_recording(path, ReadOptions(types_dir=tmp_path / "ws")) as recording:
        table = recording.read(CUSTOM)
        assert recording.streams[CUSTOM].kind is Kind.TABLE
        assert table["width"].to_pylist() == [m.width for _, m in expected[CUSTOM]]
        assert table["stamp_ns"][0].as_py() == START_NS - 2_000_000


def test_time_of_sending_where_the_bag_has_it(tmp_path: Path) -> None:
    path = write_bag(tmp_path / "take")
    with closing(sqlite3.connect(path / "take.db3")) as connection:
        connection.execute("ALTER TABLE messages ADD COLUMN send_timestamp INTEGER")
        connection.execute("UPDATE messages SET send_timestamp = timestamp - 1000")
        connection.commit()
    with open_recording(path) as recording:
        table = recording.read(JOINTS)
        assert np.all(np.asarray(table["log_ns"]) - np.asarray(table["publish_ns"]) == 1000)


def test_evo(test_data: Path) -> None:
    path = test_data / "evo-trajectories/test/data/tf_example"
    expected = by_rosbags(path)
    assert find_reader(path).name == "rosbag2"
    with open_recording(path) as recording:
        assert {n: s.count for n, s in recording.streams.items()} == {"/tf_static": 1, "/tf": 517}
        assert recording.streams["/tf"].kind is Kind.TRANSFORMS
        table = recording.read("/tf")
        transforms = [t for _, m in expected["/tf"] for t in m.transforms]
        assert table["child"].to_pylist() == [t.child_frame_id for t in transforms]
        moved = [
            [t.transform.translation.x, t.transform.translation.y, t.transform.translation.z]
            for t in transforms
        ]
        assert table["translation"].to_pylist() == moved
        assert recording.notes == []
