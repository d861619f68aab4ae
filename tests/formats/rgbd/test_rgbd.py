"""RGB-D frames are known by their numbers; any file of one may be missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rgbd_frames import FIRST, write_frames

from twinloop.core.calibration import cameras_of
from twinloop.core.kinds import StampSource
from twinloop.core.recording import Problem
from twinloop.formats.reader import open_recording


def test_frames_keep_their_numbers(tmp_path: Path) -> None:
    folder = write_frames(tmp_path / "frames")
    (folder / f"frame-{FIRST + 2:06}.depth.png").unlink()
    with open_recording(folder) as recording:
        assert recording.metadata["numbers_missing/depth"] == str(FIRST + 2)
        assert recording.streams["depth"].attributes["unit"] == "mm"
        assert recording.read("depth").column("seq").to_pylist() == [150, 151, 153, 154]
        poses = recording.read("pose").to_pylist()
        camera = cameras_of(recording.calibration)["depth"]
    assert [pose["position"][0] for pose in poses] == [k + 0.5 for k in range(150, 155)]
    assert camera.intrinsics == (585.0, 586.0, 320.0, 240.0)
    assert (camera.width, camera.height) == (48, 32)


@pytest.mark.parametrize("text", ["1 2 3", "-inf " * 16, "0 " * 16])
def test_a_pose_that_was_lost_is_noted(tmp_path: Path, text: str) -> None:
    folder = write_frames(tmp_path / "frames")
    (folder / f"frame-{FIRST:06}.pose.txt").write_text(text)
    with open_recording(folder) as recording:
        assert recording.read("pose").column("seq").to_pylist() == [151, 152, 153, 154]
        assert [(note.problem, note.lost) for note in recording.notes] == [(Problem.BAD_VALUE, 1)]


def test_real_frames(test_data: Path) -> None:
    with open_recording(test_data / "rgbd-tsdf/data/rgbd-frames") as recording:
        assert recording.metadata["frames"] == "150-174"
        for name, stream in recording.streams.items():
            table = recording.read(name)
            assert table.num_rows == stream.count
            assert stream.stamp_source is StampSource.NONE
            missing = set(range(150, 175)) - set(table.column("seq").to_pylist())
            assert bool(missing) == (f"numbers_missing/{name}" in recording.metadata)
        assert cameras_of(recording.calibration)["depth"].intrinsics == (585.0, 585.0, 320.0, 240.0)
        position = np.stack(recording.read("pose").column("position").to_numpy())
        assert not recording.notes
    assert np.linalg.norm(np.diff(position, axis=0), axis=1).max() < 0.2
