"""What a sparse model says comes out as said."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from colmap_models import IMAGES, POINTS, write_binary, write_text

from twinloop.core.calibration import CameraModel, cameras_of
from twinloop.core.kinds import StampSource
from twinloop.core.recording import Problem
from twinloop.formats.reader import open_recording

BOTH = pytest.mark.parametrize("write", [write_text, write_binary])


@BOTH
def test_cameras_are_calibration(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    with open_recording(write(tmp_path / "0")) as recording:
        cameras = cameras_of(recording.calibration)
    assert cameras["camera_1"].model is CameraModel.RADIAL
    assert cameras["camera_1"].intrinsics == (500.0, 500.0, 320.0, 240.0)
    assert cameras["camera_1"].distortion == (-0.1,)
    assert cameras["camera_2"].model is CameraModel.RADTAN
    assert cameras["camera_2"].distortion == (-0.1, 0.01, 0.001, 0.002)
    assert (cameras["camera_2"].width, cameras["camera_2"].height) == (800, 600)


@BOTH
def test_images_are_poses_with_names(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    with open_recording(write(tmp_path / "0")) as recording:
        assert recording.streams["images"].stamp_source is StampSource.NONE
        rows = recording.read("images").to_pylist()
    assert [row["name"] for row in rows] == [f"view {k}.jpg" for k in range(IMAGES)]
    assert [row["points_seen"] for row in rows] == [2, 0, 2, 0, 2]
    np.testing.assert_allclose([row["position"] for row in rows], [(k, 0, 5) for k in range(IMAGES)])
    np.testing.assert_allclose(np.abs(rows[0]["orientation"]), [0, 0, 1, 0])


@BOTH
def test_points_are_a_cloud(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    with open_recording(write(tmp_path / "0")) as recording:
        (batch,) = recording.scan(["points3D"])
    row = batch.columns.to_pylist()[0]
    names = {1: "<i1", 2: "<u1", 6: "<u4", 7: "<f4", 8: "<f8"}
    dtype = np.dtype([(field["name"], names[field["datatype"]]) for field in json.loads(row["fields"])])
    assert batch.payload is not None
    points = np.frombuffer(batch.payload[0], dtype)
    assert len(points) == row["width"] == POINTS
    np.testing.assert_allclose(points["x"], np.arange(POINTS) * 0.1)
    np.testing.assert_array_equal(points["track"], np.arange(POINTS) % 4)
    assert set(points["b"]) == {200}


@pytest.mark.parametrize(("file", "place"), [("images.bin", 0), ("points3D.bin", 0)])
def test_a_count_that_is_too_large_is_noted(tmp_path: Path, file: str, place: int) -> None:
    folder = write_binary(tmp_path / "0")
    data = bytearray((folder / file).read_bytes())
    data[place : place + 8] = struct.pack("<Q", 1 << 60)
    (folder / file).write_bytes(data)
    with open_recording(folder) as recording:
        assert recording.read("images").num_rows == IMAGES
        assert len(list(recording.scan(["points3D"]))) == 1
        assert Problem.TRUNCATED in {note.problem for note in recording.notes}
