"""Every built-in reader passes the suite that plug-ins must pass."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from clips import numbered, write_clip
from datasets import CAMERA, Dataset, write_v20, write_v21, write_v30

from twinloop.core.kinds import Kind
from twinloop.formats.lerobot.reader import READER as LEROBOT
from twinloop.formats.mcap.reader import READER as MCAP
from twinloop.formats.reader import FORMATS
from twinloop.formats.rosbag1.reader import READER as ROSBAG1
from twinloop.formats.rosbag2.reader import READER as ROSBAG2
from twinloop.formats.table.reader import READER as TABLE
from twinloop.formats.video_folder.reader import READER as VIDEO_FOLDER
from twinloop.testing.bag_writer import write_rosbag1, write_rosbag2
from twinloop.testing.conformance import ExpectedStream, ReaderConformance, Sample
from twinloop.testing.mcap_writer import write_mcap
from twinloop.testing.robot_tracks import CameraSpec
from twinloop.testing.synthetic import SessionSpec, record_session, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from twinloop.testing.track import Track

#: Little of everything.
SPEC = SessionSpec(
    duration_s=1.2,
    follower_hz=50,
    leader_hz=25,
    cameras=(CameraSpec("scene", 8, 64, 48), CameraSpec("wrist", 4, 64, 48, "raw")),
    depth_hz=2,
    imu_hz=20,
    wrench_hz=20,
    tf_hz=10,
    chunk_bytes=20_000,
)
KINDS = {
    "sensor_msgs/msg/JointState": Kind.JOINTS,
    "sensor_msgs/msg/Imu": Kind.IMU,
    "geometry_msgs/msg/WrenchStamped": Kind.WRENCH,
    "tf2_msgs/msg/TFMessage": Kind.TRANSFORMS,
    "sensor_msgs/msg/CameraInfo": Kind.CAMERA_INFO,
    "std_msgs/msg/String": Kind.TEXT,
    "sensor_msgs/msg/CompressedImage": Kind.IMAGE,
    "foxglove_msgs/msg/CompressedVideo": Kind.IMAGE,
}


def expected(tracks: Mapping[str, Track], *times: str) -> dict[str, ExpectedStream]:
    """What a reader should see of tracks: rows, not messages, of transforms; stamps where there are headers."""
    streams = {}
    for topic, track in tracks.items():
        depth = track.attributes.get("encoding") == "16UC1"
        kind = KINDS.get(track.type_name, Kind.DEPTH if depth else Kind.IMAGE)
        rows = len(track) * (len(track.names) if kind is Kind.TRANSFORMS else 1)
        stamped = {"stamp_ns"} if kind is not Kind.TEXT else set()
        streams[topic] = ExpectedStream(kind, rows, frozenset({*times, *stamped}))
    return streams


def megabytes(count: int) -> dict[str, Track]:
    """Raw images of a megabyte each, all alike."""
    spec = replace(SPEC, cameras=(CameraSpec("scene", count, 640, 512, "raw"),), depth_hz=0)
    tracks, _ = simulate(spec)
    image = bytes(640 * 512 * 3)

    def pictures(times: np.ndarray) -> Iterator[bytes]:
        return (image for _ in times)

    name = "/scene/image_raw"
    return {**tracks, name: replace(tracks[name], pictures=pictures)}


class TestMcap(ReaderConformance):
    reader = MCAP

    def make_sample(self, folder: Path) -> Sample:
        truth = record_session(folder / "session.mcap", SPEC)
        return Sample(truth.path, expected(truth.tracks, "log_ns", "publish_ns", "seq"))

    def make_large_sample(self, folder: Path) -> Path:
        write_mcap(folder / "large.mcap", megabytes(300).values())
        return folder / "large.mcap"


class TestMcapWithoutChunks(ReaderConformance):
    reader = MCAP

    def make_sample(self, folder: Path) -> Sample:
        spec = replace(SPEC, chunk_bytes=0, cameras=(CameraSpec("scene", 8, 64, 48, "h264"),), depth_hz=0)
        truth = record_session(folder / "session.mcap", spec)
        return Sample(truth.path, expected(truth.tracks, "log_ns", "publish_ns", "seq"))


class TestRosbag1(ReaderConformance):
    reader = ROSBAG1

    def make_sample(self, folder: Path) -> Sample:
        tracks, _ = simulate(SPEC)
        write_rosbag1(folder / "session.bag", tracks.values(), chunk_bytes=20_000)
        streams = expected(tracks, "log_ns")
        for name, stream in streams.items():  # headers of ROS 1 count
            if "stamp_ns" in (stream.times or ()) and stream.kind is not Kind.TRANSFORMS:
                streams[name] = replace(stream, times=stream.times | {"seq"})
        return Sample(folder / "session.bag", streams)

    def make_large_sample(self, folder: Path) -> Path:
        write_rosbag1(folder / "large.bag", megabytes(300).values())
        return folder / "large.bag"


class TestRosbag2(ReaderConformance):
    reader = ROSBAG2

    def make_sample(self, folder: Path) -> Sample:
        tracks, _ = simulate(SPEC)
        write_rosbag2(folder / "session", tracks.values())
        return Sample(folder / "session", expected(tracks, "log_ns"))

    def make_large_sample(self, folder: Path) -> Path:
        write_rosbag2(folder / "large", megabytes(300).values())
        return folder / "large"


class _LeRobot(ReaderConformance):
    reader = LEROBOT

    def expected(self, rows: int) -> dict[str, ExpectedStream]:
        kinds = {
            "observation.state": Kind.JOINTS,
            "action": Kind.JOINTS,
            CAMERA: Kind.IMAGE,
            "rows": Kind.TABLE,
        }
        streams = {name: ExpectedStream(kind, rows, frozenset({"stamp_ns"})) for name, kind in kinds.items()}
        return {**streams, "task": ExpectedStream(Kind.TEXT, 3, frozenset({"stamp_ns"}))}


class TestLeRobotV20(_LeRobot):
    def make_sample(self, folder: Path) -> Sample:
        return Sample(write_v20(folder / "dataset", Dataset()), self.expected(36))


class TestLeRobotV21(_LeRobot):
    def make_sample(self, folder: Path) -> Sample:
        return Sample(write_v21(folder / "dataset", Dataset()), self.expected(36))


class TestLeRobotV30(_LeRobot):
    def make_sample(self, folder: Path) -> Sample:
        return Sample(write_v30(folder / "dataset", Dataset()), self.expected(36))


class TestVideoFolder(ReaderConformance):
    reader = VIDEO_FOLDER
    says_what_is_lost = False  # a table that is cut between two lines is whole

    def make_sample(self, folder: Path) -> Sample:
        videos = folder / "videos"
        videos.mkdir()
        rows = ["camera,frame,stamp_ns"]
        for camera in range(2):
            write_clip(videos / f"cam_{camera}.mp4", (numbered(k) for k in range(12)), fps=10)
            rows += [f"{camera},{k},{1_700_000_000_000_000_000 + k * 103_000_000 + camera}" for k in range(12)]
        (videos / "timestamps.csv").write_text("\n".join(rows) + "\n")
        stream = ExpectedStream(Kind.IMAGE, 12, frozenset({"stamp_ns"}))
        return Sample(videos, {"cam_0": stream, "cam_1": stream})


ROWS = 400


class TestCsv(ReaderConformance):
    reader = TABLE
    says_what_is_lost = False  # a file that is cut between two lines is whole

    def make_sample(self, folder: Path) -> Sample:
        lines = [f"{1_700_000_000_000_000_000 + k * 10_000_000},{k * 0.1:.3f},{-k}" for k in range(ROWS)]
        (folder / "log.csv").write_text("stamp_ns,force,angle\n" + "\n".join(lines) + "\n")
        stream = ExpectedStream(Kind.TABLE, ROWS, frozenset({"stamp_ns"}))
        return Sample(folder / "log.csv", {"log": stream})


class TestParquet(ReaderConformance):
    reader = TABLE

    def make_sample(self, folder: Path) -> Sample:
        stamps = 1_700_000_000_000_000_000 + np.arange(ROWS) * 10_000_000
        table = pa.table({"stamp_ns": stamps, "force": np.arange(ROWS) * 0.1})
        pq.write_table(table, folder / "log.parquet", row_group_size=100)
        stream = ExpectedStream(Kind.TABLE, ROWS, frozenset({"stamp_ns"}))
        return Sample(folder / "log.parquet", {"log": stream})


def test_every_built_in_reader_is_under_test() -> None:
    """Suites lie here and in the folders of the formats: ``test_*conformance*.py``."""
    suites = [file.read_text() for file in Path(__file__).parent.rglob("test_*conformance*.py")]
    for name, reader in FORMATS:
        line = f"from {type(reader).__module__} import READER"
        assert any(line in suite and "(ReaderConformance)" in suite for suite in suites), name
