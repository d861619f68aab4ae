"""VRS files of both generations of Aria pass the suite of readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aria_files import camera, tags, write_gen1, write_gen2

from twinloop.core.kinds import Kind
from twinloop.formats.vrs.reader import READER
from twinloop.testing.conformance import ExpectedStream, ReaderConformance, Sample
from twinloop.testing.vrs_writer import write_vrs

if TYPE_CHECKING:
    from pathlib import Path

STAMP, BOTH, OWN = frozenset({"stamp_ns"}), frozenset({"stamp_ns", "log_ns"}), frozenset({"log_ns"})
GEN1 = {
    "camera-et": ExpectedStream(Kind.IMAGE, 3, BOTH),
    "camera-rgb": ExpectedStream(Kind.IMAGE, 4, BOTH),
    "mic": ExpectedStream(Kind.AUDIO, 4, STAMP),
    "baro0": ExpectedStream(Kind.BAROMETER, 6, STAMP),
    "gps": ExpectedStream(Kind.GNSS, 2, STAMP),
    "gps-app": ExpectedStream(Kind.GNSS, 0),
    "wps": ExpectedStream(Kind.TABLE, 0),
    "bluetooth": ExpectedStream(Kind.TABLE, 5, STAMP),
    "time-domain-mapping-1": ExpectedStream(Kind.TABLE, 3, STAMP),
    "camera-slam-left": ExpectedStream(Kind.IMAGE, 2, BOTH),
    "imu-right": ExpectedStream(Kind.IMU, 40, STAMP),
    "mag0": ExpectedStream(Kind.MAGNETOMETER, 4, STAMP),
}
GEN2 = {
    "slam-side-left": ExpectedStream(Kind.IMAGE, 2, BOTH),
    "imu-left": ExpectedStream(Kind.IMU, 20, STAMP),
    "temperature": ExpectedStream(Kind.TABLE, 19, STAMP),
    "bluetooth": ExpectedStream(Kind.TABLE, 56, STAMP),
    "handtracking": ExpectedStream(Kind.KEYPOINTS, 3, STAMP),
    "vio": ExpectedStream(Kind.POSE, 3, STAMP),
    "eyegaze": ExpectedStream(Kind.GAZE, 4, STAMP),
    "als": ExpectedStream(Kind.TABLE, 0),
    "ppg": ExpectedStream(Kind.TABLE, 1, STAMP),
}


class TestVrsGen1(ReaderConformance):
    reader = READER

    def make_sample(self, folder: Path) -> Sample:
        return Sample(write_gen1(folder / "take.vrs"), GEN1)

    def make_large_sample(self, folder: Path) -> Path:
        picture = camera(1201, 1, "Camera Data (SLAM)", 300, width=1024, height=1024, raw=True)
        return write_vrs(folder / "large.vrs", [picture], tags(1))


class TestVrsGen2Compressed(ReaderConformance):
    reader = READER

    def make_sample(self, folder: Path) -> Sample:
        return Sample(write_gen2(folder / "take.vrs", compression=2, index="end"), GEN2)


class TestVrsFolder(ReaderConformance):
    """A recording with results beside it, opened by its folder."""

    reader = READER
    says_what_is_lost = False  # tables that are cut between two lines are whole

    def make_sample(self, folder: Path) -> Sample:
        take = folder / "take"
        (take / "mps" / "eye_gaze").mkdir(parents=True)
        write_gen2(take / "recording.vrs", compression=1)
        rows = [f"{280_500_000 + k * 100_000},0.1,{-k / 10},,s{k}" for k in range(5)]
        header = "tracking_timestamp_us,yaw_rads_cpf,pitch_rads_cpf,depth_m,session_uid"
        (take / "mps" / "eye_gaze" / "general_eye_gaze.csv").write_text("\n".join([header, *rows]) + "\n")
        (take / "speech.csv").write_text(
            "startTime_ns,endTime_ns,written,confidence\n280500000000,280600000000,and,0.5\n"
        )
        return Sample(
            take,
            GEN2
            | {
                "mps/general_eye_gaze": ExpectedStream(Kind.GAZE, 5, STAMP),
                "speech": ExpectedStream(Kind.LABEL, 1, STAMP),
            },
        )
