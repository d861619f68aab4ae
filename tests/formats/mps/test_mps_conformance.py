"""Folders of machine perception results, and single tables, pass the suite of readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mps_files import CLOSED, START_US, write_results

from twinloop.core.kinds import Kind
from twinloop.formats.mps.reader import READER
from twinloop.testing.conformance import ExpectedStream, ReaderConformance, Sample

if TYPE_CHECKING:
    from pathlib import Path

STAMP = frozenset({"stamp_ns"})


class TestMpsFolder(ReaderConformance):
    reader = READER
    says_what_is_lost = False  # tables that are cut between two lines are whole

    def make_sample(self, folder: Path) -> Sample:
        return Sample(
            write_results(folder / "mps_take", 12, landmarks=2),
            {
                "mps/general_eye_gaze": ExpectedStream(Kind.GAZE, 12, STAMP),
                "mps/personalized_eye_gaze": ExpectedStream(Kind.GAZE, 12, STAMP),
                "mps/hand_tracking_results": ExpectedStream(Kind.KEYPOINTS, 12, STAMP),
                "mps/closed_loop_trajectory": ExpectedStream(Kind.ODOMETRY, 12, STAMP),
                "mps/online_calibration/camera-slam-left": ExpectedStream(Kind.CAMERA_INFO, 12, STAMP),
                "mps/online_calibration/imu-left": ExpectedStream(Kind.TABLE, 12, STAMP),
                "mps/open_loop_trajectory": ExpectedStream(Kind.POSE, 12, STAMP),
                "mps/semidense_points": ExpectedStream(Kind.TABLE, 12, frozenset()),
            },
        )


class TestMpsTable(ReaderConformance):
    reader = READER
    says_what_is_lost = False

    def make_sample(self, folder: Path) -> Sample:
        pose, rest = "1,2,3,0.1,0.2,0.3,0.9", "0.5,0,0,0,0,0.25,0,0,-9.81,1.0"
        rows = [f"ea72,{START_US + k * 1000},-1,{pose},{rest}" for k in range(300)]
        (folder / "closed_loop_trajectory.csv").write_text("\n".join([CLOSED, *rows]) + "\n")
        stream = ExpectedStream(Kind.ODOMETRY, 300, STAMP)
        return Sample(folder / "closed_loop_trajectory.csv", {"mps/closed_loop_trajectory": stream})

    def make_large_sample(self, folder: Path) -> Path:
        pose, rest = "1,2,3,0.1,0.2,0.3,0.9", "0.5,0,0,0,0,0.25,0,0,-9.81,1.0"
        with (folder / "closed_loop_trajectory.csv").open("w") as file:
            file.write(CLOSED + "\n")
            for k in range(150):
                first = START_US + k * 1_000_000
                file.writelines(f"ea72,{first + j * 1000},-1,{pose},{rest}\n" for j in range(1000))
        return folder / "closed_loop_trajectory.csv"
