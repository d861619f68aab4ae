"""ROS 1 bags as they should be: the same values as rosbags reads, and only the bytes that are needed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ros1_bags import IMAGE, IMU, JOINTS, START_NS, by_rosbags, write_bag

from twinloop.core.errors import UnknownNameError, UnreadableError
from twinloop.core.kinds import Kind, StampSource
from twinloop.formats.reader import FORMATS, find_reader, open_recording
from twinloop.formats.rosbag1.records import BagFile


@pytest.mark.parametrize("compression", ["none", "lz4", "bz2"])
def test_values_are_those_that_rosbags_reads(tmp_path: Path, compression: str) -> None:
    path = write_bag(tmp_path / "take.bag", compression=compression)
    expected = by_rosbags(path)
    with open_recording(path) as recording:
        joints = recording.read(JOINTS)
        assert joints["log_ns"].to_pylist() == [t for t, _ in expected[JOINTS]]
        assert joints["position"].to_pylist() == [m.position.tolist() for _, m in expected[JOINTS]]
        assert joints["seq"].to_pylist() == [m.header.seq for _, m in expected[JOINTS]]
        stamps = [m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for _, m in expected[JOINTS]]
        assert joints["stamp_ns"].to_pylist() == stamps
        rates = np.array(recording.read(IMU)["angular_velocity"].to_pylist())
        assert np.array_equal(
            rates,
            [[m.angular_velocity.x, m.angular_velocity.y, m.angular_velocity.z] for _, m in expected[IMU]],
        )
        images = [bytes(p) for b in recording.scan([IMAGE]) for p in b.payload or ()]
        assert images == [m.data.tobytes() for _, m in expected[IMAGE]]
        assert recording.notes == []


def test_streams_are_known_from_the_index(tmp_path: Path) -> None:
    with open_recording(write_bag(tmp_path / "take.bag", latching=1)) as recording:
        joints = recording.streams[JOINTS]
        assert (joints.kind, joints.count, joints.timeline) == (Kind.JOINTS, 400, "stamp_ns")
        assert joints.stamp_source is StampSource.DRIVER
        assert joints.start_ns == START_NS - 2_000_000
        assert joints.end_ns == START_NS - 2_000_000 + 399 * 10_000_000
        assert joints.attributes["callerid"] == "/arm_0"
        assert joints.attributes["latching"] == "1"
        assert joints.type_name == "sensor_msgs/JointState"
        assert recording.streams[IMAGE].measured_rate_hz == pytest.approx(10)
        assert recording.format == "rosbag1"


def test_several_publishers_are_one_stream_in_the_order_of_recording(tmp_path: Path) -> None:
    with open_recording(write_bag(tmp_path / "take.bag", publishers=3)) as recording:
        assert recording.streams[JOINTS].count == 400
        assert recording.streams[JOINTS].attributes["callerid"] == "/arm_0, /arm_1, /arm_2"
        assert np.all(np.diff(np.asarray(recording.read(JOINTS)["seq"])) == 1)


def test_a_span_of_time_and_no_payload(tmp_path: Path) -> None:
    with open_recording(write_bag(tmp_path / "take.bag")) as recording:
        start = START_NS + 1_000_000_000 - 2_000_000
        batches = list(recording.scan([JOINTS, IMAGE], start_ns=start, end_ns=start + 10**9, payload=False))
        rows = {n: sum(len(b) for b in batches if b.stream == n) for n in (JOINTS, IMAGE)}
        assert rows == {JOINTS: 100, IMAGE: 10}
        assert all(batch.payload is None for batch in batches)


def test_a_small_stream_beside_images_costs_its_own_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_bag(tmp_path / "take.bag", seconds=20, chunk_bytes=1 << 18)
    read = 0
    plain = BagFile.read_into

    def counted(self: BagFile, target: memoryview, pos: int) -> int:
        nonlocal read
        read += len(target)
        return plain(self, target, pos)

    monkeypatch.setattr(BagFile, "read_into", counted)
    with open_recording(path) as recording:
        monkeypatch.setattr("twinloop.formats.rosbag1.chunk._READ_THROUGH", 64)
        read = 0
        assert recording.read(IMU).num_rows == 1000
        assert 0 < read < path.stat().st_size / 2


def test_streams_that_are_not_there_are_refused(tmp_path: Path) -> None:
    with open_recording(write_bag(tmp_path / "take.bag")) as recording, pytest.raises(UnknownNameError):
        recording.scan(["/nothing"])


def test_a_split_bag_is_one_recording(tmp_path: Path) -> None:
    for part in range(3):
        write_bag(tmp_path / f"run_{part}.bag", seconds=1, start_ns=START_NS + part * 10**9)
    assert find_reader(tmp_path).name == "rosbag1"
    with open_recording(tmp_path) as recording:
        assert recording.streams[JOINTS].count == 300
        assert recording.streams[JOINTS].end_ns == START_NS - 2_000_000 + 299 * 10_000_000
        assert len(recording.files) == 3
        assert np.all(np.diff(np.asarray(recording.read(JOINTS)["log_ns"])) == 10_000_000)


def test_takes_in_one_folder_are_not_one_recording(tmp_path: Path) -> None:
    for part in range(2):
        write_bag(tmp_path / f"take_{part}.bag", seconds=1, start_ns=START_NS + part * 120 * 10**9)
    assert not FORMATS.get("rosbag1").sniff(tmp_path, b"")
    with pytest.raises(UnreadableError):
        open_recording(tmp_path)


def test_a_part_that_cannot_be_read_is_noted(tmp_path: Path) -> None:
    for part in range(2):
        write_bag(tmp_path / f"run_{part}.bag", seconds=1, start_ns=START_NS + part * 10**9)
    second = tmp_path / "run_1.bag"
    second.write_bytes(second.read_bytes()[:14])
    with open_recording(tmp_path) as recording:
        assert recording.streams[JOINTS].count == 100
        assert any("run_1.bag" in str(note.where) for note in recording.notes)


def test_simulated_time_is_told_from_unix_time(tmp_path: Path) -> None:
    with open_recording(write_bag(tmp_path / "sim.bag", start_ns=50 * 10**9)) as recording:
        assert str(recording.streams[JOINTS].log_clock) == "sim@recorder"


def test_the_jackal(test_data: Path) -> None:
    path = test_data / "robot-localization-bags/test/test2.bag"
    expected = by_rosbags(path)
    with open_recording(path) as recording:
        imu, odometry = recording.streams["/imu/data"], recording.streams["/jackal_velocity_controller/odom"]
        assert (imu.kind, odometry.kind) == (Kind.IMU, Kind.ODOMETRY)
        assert imu.measured_rate_hz == pytest.approx(50, abs=0.05)
        assert odometry.measured_rate_hz == pytest.approx(50, abs=0.05)
        assert (imu.end_ns - imu.start_ns) / 1e9 == pytest.approx(61.2, abs=0.1)
        table = recording.read(odometry.name)
        truth = [m for _, m in expected[odometry.name]]
        positions = [[m.pose.pose.position.x, m.pose.pose.position.y, m.pose.pose.position.z] for m in truth]
        assert table["position"].to_pylist() == positions
        wxyz = [
            [o.w, o.x, o.y, o.z] for o in (m.pose.pose.orientation for m in truth)
        ]  # kept in our order, not ROS's
        assert table["orientation"].to_pylist() == wxyz
        assert recording.notes == []


@pytest.mark.parametrize("name", ["ROS_example.bag", "tf_example.bag"])
def test_bags_of_evo(test_data: Path, name: str) -> None:
    path = test_data / "evo-trajectories/test/data" / name
    expected = by_rosbags(path)
    with open_recording(path) as recording:
        assert {n: s.count for n, s in recording.streams.items()} == {t: len(m) for t, m in expected.items()}
        for name_, messages in expected.items():
            times = sorted(set(recording.read(name_)["log_ns"].to_pylist()))
            assert times == sorted({t for t, _ in messages})
        assert recording.notes == []
