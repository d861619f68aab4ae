"""Trajectories of real sensors, as SLAM tools and data sets wrote them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from twinloop.formats.reader import open_recording

EVO = "evo-trajectories/test/data"


@pytest.mark.parametrize(
    ("file", "rows"),
    [
        ("freiburg1_xyz-groundtruth.txt", 3000),
        ("freiburg1_xyz-rgbdslam.txt", 788),
        ("freiburg1_xyz-rgbdslam_drift.txt", 788),
        ("freiburg1_xyz-ORB_kf_mono.txt", 32),
        ("georeferenced.tum", 1000),
        ("KITTI_00_gt.txt", 4541),
        ("KITTI_00_ORB.txt", 4541),
        ("KITTI_00_SPTAM.txt", 4541),
    ],
)
def test_a_real_trajectory_is_read_whole(test_data: Path, file: str, rows: int) -> None:
    with open_recording(test_data / EVO / file) as recording:
        assert recording.format == "trajectory"
        (name,) = recording.streams
        table = recording.read(name)
        assert table.num_rows == rows == recording.streams[name].count
        assert np.isfinite(np.stack(table.column("orientation").to_numpy())).all()
        assert not recording.notes


def test_the_times_of_kitti_belong_to_its_truth(test_data: Path) -> None:
    with open_recording(test_data / EVO / "KITTI_00_gt.txt") as recording:
        stamps = recording.read("KITTI_00_gt").column("stamp_ns").to_pylist()
    assert stamps[:2] == [0, 103_735_900]
    assert round(stamps[-1] / 1e9, 3) == 470.582


def test_drift_was_added_to_the_estimate(test_data: Path) -> None:
    """As its source says: the same estimate, growing away from itself."""
    positions = []
    for name in ("freiburg1_xyz-rgbdslam", "freiburg1_xyz-rgbdslam_drift"):
        with open_recording(test_data / EVO / f"{name}.txt") as recording:
            positions.append(np.stack(recording.read(name).column("position").to_numpy()))
    apart = np.linalg.norm(positions[1] - positions[0], axis=1)
    assert apart[0] < 0.05
    assert apart[-1] > apart[0] + 0.1
