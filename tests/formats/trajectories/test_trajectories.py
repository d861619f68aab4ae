"""What a file of poses says comes out as said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from trajectory_files import ROWS, START_NS, motion, write_euroc, write_kitti, write_tum

from twinloop.core.clock import Epoch
from twinloop.core.errors import UnreadableError
from twinloop.core.kinds import StampSource
from twinloop.core.recording import Problem
from twinloop.formats.reader import find_reader, open_recording


def values(table: object, column: str) -> np.ndarray:
    return np.stack(table.column(column).to_numpy())  # type: ignore[attr-defined]


def test_times_are_exact_to_the_nanosecond_and_quaternions_are_turned(tmp_path: Path) -> None:
    with open_recording(write_tum(tmp_path / "a.txt")) as recording:
        table = recording.read("a")
        stream = recording.streams["a"]
    expected = 1_305_031_098_665_900_123 + np.arange(ROWS) * 1_000_003
    np.testing.assert_array_equal(table.column("stamp_ns"), expected)
    assert (stream.start_ns, stream.end_ns, stream.count) == (expected[0], expected[-1], ROWS)
    assert stream.stamp_clock.epoch is Epoch.UNIX
    position, orientation = motion()
    np.testing.assert_allclose(values(table, "position"), position, atol=1e-6)
    wxyz = orientation.as_quat(scalar_first=True)
    np.testing.assert_allclose(values(table, "orientation"), wxyz, atol=1e-6)
    assert recording.metadata["comment/0"] == "timestamp tx ty tz qx qy qz qw"


def test_euroc_has_velocity_and_biases(tmp_path: Path) -> None:
    with open_recording(write_euroc(tmp_path / "a.csv")) as recording:
        assert recording.format == "trajectory"
        table = recording.read("a")
        assert recording.streams["a"].units["velocity"] == "m/s"
    np.testing.assert_array_equal(table.column("stamp_ns"), START_NS + np.arange(ROWS) * 5_000_000)
    assert values(table, "velocity").tolist() == [[0.5] * 3] * ROWS
    assert values(table, "gyro_bias").tolist() == [[0.01] * 3] * ROWS
    assert values(table, "accel_bias").tolist() == [[0.2] * 3] * ROWS


def test_kitti_takes_its_times_from_the_file_beside(tmp_path: Path) -> None:
    with open_recording(write_kitti(tmp_path / "00.txt", times=True)) as recording:
        table = recording.read("00")
        assert recording.streams["00"].stamp_clock.epoch is Epoch.EPISODE
        assert len(recording.files) == 2
    np.testing.assert_array_equal(table.column("stamp_ns"), np.arange(ROWS) * 103_700_000)
    _, orientation = motion()
    wxyz = orientation.as_quat(scalar_first=True)
    np.testing.assert_allclose(values(table, "orientation"), wxyz, atol=1e-8)


def test_kitti_without_times_has_frames_only(tmp_path: Path) -> None:
    with open_recording(write_kitti(tmp_path / "00.txt", times=False)) as recording:
        assert recording.streams["00"].stamp_source is StampSource.NONE
        table = recording.read("00")
    assert table.column("seq").to_pylist() == list(range(ROWS))
    assert "stamp_ns" not in table.column_names


def test_times_that_do_not_fit_are_left_out_and_noted(tmp_path: Path) -> None:
    path = write_kitti(tmp_path / "00.txt", times=True)
    (tmp_path / "times.txt").write_text("0.0\n0.1\n")
    with open_recording(path) as recording:
        assert recording.streams["00"].stamp_source is StampSource.NONE
        assert [note.problem for note in recording.notes] == [Problem.COUNT]


def test_what_is_no_rotation_is_noted(tmp_path: Path) -> None:
    tum = write_tum(tmp_path / "a.txt")
    lines = tum.read_text().splitlines()
    lines[30] = "1305031098.7 0 0 0 1 1 0 0"
    tum.write_text("\n".join(lines) + "\n")
    with open_recording(tum) as recording:
        assert recording.read("a").num_rows == ROWS
        assert ["not of unit length" in note.message for note in recording.notes] == [True]
    kitti = write_kitti(tmp_path / "00.txt", times=False)
    lines = kitti.read_text().splitlines()
    lines[30] = " ".join(["0"] * 12)
    kitti.write_text("\n".join(lines) + "\n")
    with open_recording(kitti) as recording:
        quaternions = values(recording.read("00"), "orientation")
        assert np.flatnonzero(np.isnan(quaternions).any(axis=1)).tolist() == [30]
        assert recording.notes[0].where.row == 30


@pytest.mark.parametrize(
    "text",
    [
        "1 2 3 4 5 6 7 8\n2 2 3 4 5 6 7 8\n",  # eight numbers, no quaternion
        "1 2 3 4 5 6 7 8 9 10 11 12\n",  # twelve, no rotation
        "1305031098.66 1.3 0.6 1.6 0.61 0.60 -0.33 -0.40\nprose\n",
    ],
)
def test_numbers_that_are_no_poses_are_not_claimed(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(UnreadableError):
        find_reader(tmp_path / "a.txt")
