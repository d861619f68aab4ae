"""What KITTI's files say comes out as said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from kitti_files import FRAMES, write_detections, write_drive, write_frames, write_tracking

from twinloop.core.calibration import cameras_of, frames_of
from twinloop.core.errors import UnreadableError
from twinloop.core.kinds import StampSource
from twinloop.formats.reader import find_reader, open_recording


def test_a_box_is_given_by_its_centre(tmp_path: Path) -> None:
    with open_recording(write_tracking(tmp_path / "0000.txt")) as recording:
        assert recording.streams["labels"].count == FRAMES
        assert recording.streams["labels"].stamp_source is StampSource.NONE
        car, elsewhere = recording.read("labels").to_pylist()[2:4]
    assert (car["seq"], car["message"], car["track"], car["category"]) == (1, 1, "0", "Car")
    np.testing.assert_allclose(car["position"], [2.0, 1.8 - 0.8, 20.0])
    assert car["size"] == [4.2, 1.6, 1.8]
    np.testing.assert_allclose(car["orientation"], [np.cos(0.785), 0, np.sin(0.785), 0])
    assert car["occluded"] == 1.0
    assert (elsewhere["track"], elsewhere["position"], elsewhere["orientation"]) == (None, None, None)
    assert elsewhere["box"] == [10.0, 20.0, 30.0, 40.0]


def test_detections_have_scores_and_named_types(tmp_path: Path) -> None:
    with open_recording(write_detections(tmp_path / "0000.txt")) as recording:
        rows = recording.read("detections").to_pylist()
    assert [row["score"] for row in rows] == [8.5 - k for k in range(FRAMES)]
    assert {row["category"] for row in rows} == {"Car"}
    np.testing.assert_allclose(rows[0]["position"], [-4.5, 1.84 - 0.98, 13.5])


def test_frames_have_the_calibration_of_the_first(tmp_path: Path) -> None:
    with open_recording(write_frames(tmp_path / "training")) as recording:
        camera, frames = cameras_of(recording.calibration)["image_2"], frames_of(recording.calibration)
        assert recording.read("image_2").column("seq").to_pylist() == list(range(FRAMES))
        assert recording.read("label_2").num_rows == 2 * FRAMES
    assert camera.intrinsics == (700.0, 700.0, 600.0, 180.0)
    np.testing.assert_allclose(frames["image_2"].translation, [-0.1, 0, 0])  # camera 2 stands left of camera 0
    np.testing.assert_allclose(frames["velodyne"].translation, [0, -0.08, -0.27])


def test_a_drive_has_times_to_the_nanosecond(tmp_path: Path) -> None:
    with open_recording(write_drive(tmp_path)) as recording:
        stamps = recording.read("image_02").column("stamp_ns").to_pylist()
        assert stamps[0] == 1_317_042_145_964_389_445
        assert recording.read("imu").to_pylist()[0]["linear_acceleration"] == [1.0, 2.0, 9.8]
        assert recording.read("imu").to_pylist()[0]["angular_velocity"] == [0.01, 0.02, 0.03]
        assert recording.read("gnss").column("latitude").to_pylist() == [49.0] * FRAMES
        camera = cameras_of(recording.calibration)["image_02"]
    assert (camera.width, camera.height) == (1242, 375)


def test_a_frame_without_a_time_leaves_its_stream_without_times(tmp_path: Path) -> None:
    drive = write_drive(tmp_path)
    (drive / "oxts/timestamps.txt").write_text("2011-09-26 13:02:25.964389445\n")
    with open_recording(drive) as recording:
        assert recording.streams["gnss"].stamp_source is StampSource.NONE
        assert recording.streams["image_02"].stamp_source is StampSource.SENSOR
        assert [note.where.stream for note in recording.notes] == ["oxts"]


@pytest.mark.parametrize(
    "line", ["0 0 Dog" + " 1" * 14, "0,2" + ",1" * 13, "0,9,1,1,2,2,1,1,1,1,1,1,1,1,1", "Car" + " 1" * 14]
)
def test_other_rows_of_as_many_words_are_not_claimed(tmp_path: Path, line: str) -> None:
    (tmp_path / "a.txt").write_text(f"{line}\n{line}\n")
    with pytest.raises(UnreadableError):
        find_reader(tmp_path / "a.txt")


def test_real_labels_and_detections(test_data: Path) -> None:
    folder = test_data / "kitti-tracking-NC"
    labels = sorted((folder / "scripts/KITTI/label").glob("*.txt"))
    detections = sorted((folder / "data/KITTI/detection/pointrcnn_Car_val").glob("*.txt"))
    assert len(labels) == len(detections) == 10
    rows = {"labels": 0, "detections": 0}
    for file in (*labels, *detections):
        with open_recording(file) as recording:
            (name,) = recording.streams
            table = recording.read(name)
            assert len(np.unique(table.column("message"))) == recording.streams[name].count
            assert not recording.notes
            rows[name] += table.num_rows
            if name == "labels":
                unlabelled = [row["position"] is None for row in table.select(["position"]).to_pylist()]
                assert unlabelled == [word == "DontCare" for word in table.column("category").to_pylist()]
    assert rows == {"labels": 25_036, "detections": 23_159}


def test_a_real_folder_of_frames(test_data: Path) -> None:
    with open_recording(test_data / "mmdet3d-kitti-nuscenes/tests/data/kitti/training") as recording:
        assert recording.format == "kitti"
        assert recording.read("image_2").column("seq").to_pylist() == [0, 7]
        (cloud,) = recording.scan(["velodyne"])
    assert cloud.columns.column("width")[0].as_py() == 800
