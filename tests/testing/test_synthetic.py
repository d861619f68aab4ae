"""Synthetic sessions: readable by others, true to their truth, the same every time."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_ros2.reader import read_ros2_messages

from twinloop.core.errors import UsageError
from twinloop.testing.robot_tracks import CameraSpec
from twinloop.testing.synthetic import FOLLOWER, LEADER, MARKER, SessionSpec, record_session, simulate

if TYPE_CHECKING:
    from pathlib import Path

SMALL = (CameraSpec("scene", 10, 160, 120), CameraSpec("wrist", 5, 160, 120))


def test_another_reader_sees_what_was_recorded(tmp_path: Path) -> None:
    spec = SessionSpec(
        duration_s=2, cameras=SMALL, depth_hz=2, imu_hz=50, wrench_hz=50, tf_hz=20, seed=4, follower_hz=100
    )
    truth = record_session(tmp_path / "session.mcap", spec)
    seen: Counter[str] = Counter()
    joints = []
    for message in read_ros2_messages(str(truth.path)):
        seen[message.channel.topic] += 1
        if message.channel.topic == FOLLOWER:
            joints.append(message.ros_msg)
        if message.channel.topic == "/tf":
            assert [t.child_frame_id for t in message.ros_msg.transforms] == ["hand", "wrist_camera"]
    assert seen == truth.counts
    follower = truth.tracks[FOLLOWER]
    assert [tuple(m.name) for m in joints] == [follower.names] * len(follower)
    np.testing.assert_array_equal([m.position for m in joints], follower.values["position"])
    np.testing.assert_array_equal([m.effort for m in joints], follower.values["effort"])
    stamps = [m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for m in joints]
    np.testing.assert_array_equal(stamps, follower.stamp_ns)


def test_the_same_specification_gives_the_same_bytes(tmp_path: Path) -> None:
    spec = SessionSpec(duration_s=1.5, cameras=SMALL, seed=5)
    first = record_session(tmp_path / "a.mcap", spec).path.read_bytes()
    assert record_session(tmp_path / "b.mcap", spec).path.read_bytes() == first


def test_another_seed_moves_otherwise() -> None:
    a, _ = simulate(SessionSpec(cameras=(), seed=1))
    b, _ = simulate(SessionSpec(cameras=(), seed=2))
    assert np.abs(a[FOLLOWER].values["position"] - b[FOLLOWER].values["position"]).max() > 0.05


def test_the_follower_is_the_leader_a_servo_lag_ago() -> None:
    tracks, _ = simulate(SessionSpec(cameras=(), servo_lag_s=0.2))
    leader, follower = tracks[LEADER], tracks[FOLLOWER]
    for joint in range(7):
        earlier = np.interp(
            follower.true_s - 0.2, leader.true_s, np.asarray(leader.values["position"], float)[:, joint]
        )
        assert np.abs(earlier - follower.values["position"][:, joint])[100:].max() < 4e-3


def test_stamps_come_before_log_times_by_the_latency() -> None:
    tracks, _ = simulate(SessionSpec(duration_s=5, seed=2))
    track = tracks["/scene/image/compressed"]
    late_ms = (track.log_ns - track.stamp_ns) / 1e6
    assert late_ms.min() >= 25.9
    assert 26 < np.median(late_ms) < 30
    assert (np.diff(track.log_ns) >= 0).all()


def test_episodes_lie_between_the_markers(tmp_path: Path) -> None:
    truth = record_session(tmp_path / "s.mcap", SessionSpec(duration_s=9, episodes=3, cameras=()))
    marks = truth.tracks[MARKER]
    assert list(marks.values["text"]) == ["start", "stop"] * 3
    assert [(e.start_ns, e.end_ns) for e in truth.episodes] == [
        tuple(pair) for pair in marks.log_ns.reshape(3, 2).tolist()
    ]
    assert all(e.instruction for e in truth.episodes)


@pytest.mark.parametrize("compression", ["zstd", "lz4", "none"])
def test_layouts_of_the_file(tmp_path: Path, compression: str) -> None:
    for chunk_bytes in (0, 20_000):
        spec = SessionSpec(duration_s=1.5, cameras=(), compression=compression, chunk_bytes=chunk_bytes)  # type: ignore[arg-type]
        truth = record_session(tmp_path / "s.mcap", spec)
        with truth.path.open("rb") as file:
            reader = make_reader(file)
            summary = reader.get_summary()
            assert sum(1 for _ in reader.iter_messages()) == sum(truth.counts.values())
        assert bool(summary.chunk_indexes) == bool(chunk_bytes)
        assert {c.compression for c in summary.chunk_indexes} <= {"" if compression == "none" else compression}


@pytest.mark.parametrize("encoding", ["h264", "raw", "jpeg"])
def test_images_decode_to_what_was_seen(tmp_path: Path, encoding: str) -> None:
    import av

    spec = SessionSpec(duration_s=1.5, cameras=(CameraSpec("scene", 10, 160, 120, encoding=encoding),))  # type: ignore[arg-type]
    truth = record_session(tmp_path / "s.mcap", spec)
    topic = next(topic for topic in truth.tracks if "image" in topic)
    data = [bytes(m.ros_msg.data) for m in read_ros2_messages(str(truth.path), topics=[topic])]
    assert len(data) == len(truth.tracks[topic])
    if encoding == "raw":
        images = [np.frombuffer(d, np.uint8).reshape(120, 160, 3) for d in data]
    else:
        decoder = av.CodecContext.create("h264" if encoding == "h264" else "mjpeg", "r")
        packets = [av.Packet(d) for d in data] + [None]
        images = [f.to_ndarray(format="rgb24") for p in packets for f in decoder.decode(p)]
    assert len(images) == len(data)
    image = images[0].astype(int)
    red = (image[..., 0] > 120) & (image[..., 1] < 80)
    orange = (image[..., 0] > 180) & (image[..., 2] < 90) & (image[..., 1] > 80)
    assert red.sum() > 20, "the cube"
    assert orange.sum() > 100, "the arm"
    assert np.abs(images[-1].astype(int) - image).max() > 60, "it moves"


def test_depth_sees_the_table_and_the_arm(tmp_path: Path) -> None:
    truth = record_session(tmp_path / "s.mcap", SessionSpec(duration_s=1.2, cameras=(), depth_hz=2))
    topic = "/scene/depth/image_raw"
    message = next(iter(read_ros2_messages(str(truth.path), topics=[topic]))).ros_msg
    depth = np.frombuffer(bytes(message.data), "<u2").reshape(message.height, message.width)
    assert message.encoding == "16UC1"
    near = depth[depth > 0]
    assert 500 < near.min() < near.max() < 2500


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="episodes do not fit"):
        record_session(tmp_path / "s.mcap", SessionSpec(duration_s=1, episodes=5, cameras=()))
    with pytest.raises(UsageError, match="no camera"):
        CameraSpec("head")
