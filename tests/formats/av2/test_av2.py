"""What a log of Argoverse 2 says comes out as said."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from av2_logs import BOXES, POINTS, START_NS, SWEEPS, write_log

from twinloop.core.calibration import cameras_of, frames_of
from twinloop.formats.reader import open_recording


def test_points_keep_their_own_times(tmp_path: Path) -> None:
    with open_recording(write_log(tmp_path / "log")) as recording:
        batches = list(recording.scan(["lidar"]))
    assert [batch.columns.column("stamp_ns")[0].as_py() for batch in batches] == [
        START_NS + k * 100_000_000 for k in range(SWEEPS)
    ]
    row = batches[0].columns.to_pylist()[0]
    fields = {field["name"]: field for field in json.loads(row["fields"])}
    assert list(fields) == ["x", "y", "z", "intensity", "laser_number", "offset_ns"]
    assert (fields["x"]["datatype"], fields["offset_ns"]["datatype"]) == (7, 5)  # float32, int32
    assert batches[0].payload is not None
    data = np.frombuffer(batches[0].payload[0], np.uint8).reshape(POINTS, row["point_step"])
    place = fields["offset_ns"]["offset"]
    offsets = data[:, place : place + 4].copy().view("<i4")[:, 0]
    np.testing.assert_array_equal(offsets, np.arange(POINTS) * 2_000_000)


def test_boxes_of_one_time_are_one_message(tmp_path: Path) -> None:
    with open_recording(write_log(tmp_path / "log")) as recording:
        table = recording.read("annotations")
    assert table.column("message").to_pylist() == list(np.repeat(range(SWEEPS), BOXES))
    first = table.to_pylist()[0]
    assert (first["category"], first["track"], first["frame_id"]) == ("BICYCLE", "track-0", "egovehicle")
    assert (first["size"], first["orientation"]) == ([4.0, 2.0, 1.5], [1.0, 0.0, 0.0, 0.0])


def test_the_lens_has_no_tangential_terms(tmp_path: Path) -> None:
    with open_recording(write_log(tmp_path / "log")) as recording:
        camera = cameras_of(recording.calibration)["ring_front_center"]
        assert camera.distortion == (-0.2, -0.1, 0.0, 0.0, 0.3)
        assert frames_of(recording.calibration)["up_lidar"].parent == "egovehicle"
        assert [attachment.name for attachment in recording.attachments] == ["map/log_map_archive.json"]


@pytest.mark.parametrize(
    ("log", "sweeps", "boxes"),
    [
        ("sensor/val/7fab2350-7eaf-3b7e-a39d-6937a4c1bede", 2, 11_364),
        ("sensor_dataset_logs/adcf7d18-0510-35b0-a2fa-b4cea13a6d76", 1, 12_078),
    ],
)
def test_real_logs(test_data: Path, log: str, sweeps: int, boxes: int) -> None:
    with open_recording(test_data / "av2-lidar/tests/unit/test_data" / log) as recording:
        assert recording.streams["lidar"].count == sweeps
        assert recording.read("annotations").num_rows == boxes
        for batch in recording.scan(["lidar"], payload=False):
            assert 99_000 < batch.columns.column("width")[0].as_py() < 101_000
        cameras, frames = cameras_of(recording.calibration), frames_of(recording.calibration)
        if log.startswith("sensor/"):
            assert (len(cameras), len(set(frames) - set(cameras))) == (9, 2)
            assert recording.streams["flow_labels"].count == 99_229
        assert not recording.notes
