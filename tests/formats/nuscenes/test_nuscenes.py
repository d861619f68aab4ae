"""What scenes say comes out as said: each sensor's own times first of all."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from nuscenes_files import CAMERAS, SAMPLES, US, write_infos, write_tables

from twinloop.core.calibration import cameras_of, frames_of
from twinloop.core.kinds import StampSource
from twinloop.core.recording import Problem
from twinloop.formats.reader import open_recording


@pytest.mark.parametrize("write", [write_tables, write_infos])
def test_each_sensor_keeps_its_own_times(tmp_path: Path, write: object) -> None:
    with open_recording(write(tmp_path / "scene")) as recording:  # type: ignore[operator]
        lidar = np.asarray(recording.read("LIDAR_TOP").column("stamp_ns"))
        np.testing.assert_array_equal(lidar, (US + np.arange(SAMPLES) * 500_000) * 1000)
        for camera, before in CAMERAS.items():
            stamps = np.asarray(recording.read(camera).column("stamp_ns"))
            np.testing.assert_array_equal(lidar - stamps, before * 1000)
            assert recording.streams[camera].stamp_source is StampSource.EXPOSURE_START
        assert set(cameras_of(recording.calibration)) == set(CAMERAS)
        assert {"LIDAR_TOP", *CAMERAS} <= set(frames_of(recording.calibration))


def test_tables_have_scenes_and_things_over_time(tmp_path: Path) -> None:
    with open_recording(write_tables(tmp_path / "scene")) as recording:
        assert recording.format == "nuscenes"
        (scene,) = recording.episodes
        assert scene.attributes["description"] == "Parked truck"
        assert scene.end_ns - scene.start_ns == (SAMPLES - 1) * 500_000_000 + 1
        boxes = recording.read("boxes").to_pylist()
        radar = next(iter(recording.scan(["RADAR_FRONT"])))
    assert boxes[0]["size"] == [4.0, 2.0, 1.5]  # length, width, height
    assert (boxes[0]["track"], boxes[0]["category"]) == ("i-0", "vehicle.car")
    assert json.loads(boxes[0]["data"])["attributes"] == ["vehicle.moving"]
    assert [field["name"] for field in json.loads(radar.columns.column("fields")[0].as_py())] == [
        "x",
        "y",
        "id",
    ]


def test_boxes_of_infos_turn_about_the_right_axis(tmp_path: Path) -> None:
    with open_recording(write_infos(tmp_path / "scene")) as recording:
        box = recording.read("boxes").to_pylist()[0]
        flat = recording.read("CAM_FRONT/boxes").to_pylist()[0]
    assert (box["category"], box["frame_id"]) == ("bus", "LIDAR_TOP")
    np.testing.assert_allclose(box["orientation"], [np.sqrt(0.5), 0, 0, np.sqrt(0.5)])
    assert box["size"] == [4.0, 2.0, 1.5]
    assert flat["box"] == [1.0, 2.0, 30.0, 20.0]
    assert (flat["category"], flat["frame_id"], flat["seq"]) == ("car", "CAM_FRONT", 100)


@pytest.mark.parametrize("name", ["../secret.jpg", "/etc/passwd", "a\0b.jpg", "x" * 5000])
def test_names_that_lead_out_of_the_folder_are_not_followed(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.jpg").write_bytes(b"\xff\xd8\xff")
    folder = write_infos(tmp_path / "scene")
    content = json.loads((folder / "infos.json").read_text())
    content["data_list"][0]["images"]["CAM_FRONT"]["img_path"] = name
    (folder / "infos.json").write_text(json.dumps(content))
    with open_recording(folder) as recording:
        assert recording.streams["CAM_FRONT"].count == SAMPLES - 1
        assert [(note.problem, note.lost) for note in recording.notes] == [(Problem.MISSING_FILE, 1)]


def test_a_real_key_frame_has_cameras_before_the_sweep(test_data: Path) -> None:
    with open_recording(test_data / "mmdet3d-kitti-nuscenes/demo/data/nuscenes") as recording:
        names = [name for name in recording.streams if name.startswith("CAM_") and "/" not in name]
        stamps = np.array([recording.read(name).column("stamp_ns")[0].as_py() for name in names])
        sweep = recording.read("LIDAR_TOP").column("stamp_ns")[0].as_py()
        in_names = [int(name.split("__")[2][:16]) * 1000 for name in _named(recording.files, "CAM_")]
        assert recording.read("boxes").num_rows == 69
        (cloud,) = recording.scan(["LIDAR_TOP"], payload=False)
    assert len(names) == 6
    assert sorted(stamps.tolist()) == sorted(in_names)
    assert (stamps.max() - stamps.min()) / 1e6 == pytest.approx(42.579)
    before_ms = (sweep - stamps) / 1e6
    assert (before_ms.min(), before_ms.max()) == pytest.approx((0.528, 43.107))
    assert cloud.columns.column("width")[0].as_py() * 20 == 693_760


def test_a_real_frame_of_kitti_is_read_from_its_infos(test_data: Path) -> None:
    with open_recording(test_data / "mmdet3d-kitti-nuscenes/demo/data/kitti") as recording:
        assert recording.read("CAM2").column("seq").to_pylist() == [8]
        box = recording.read("boxes").to_pylist()[0]
        camera = cameras_of(recording.calibration)["CAM2"]
        assert recording.streams["lidar"].stamp_source is StampSource.NONE
    # The middle of the bottom is at y = 1.74 m below the camera; the box is 1.6 m high.
    np.testing.assert_allclose(box["position"], [-2.7, 1.74 - 0.8, 3.68])
    assert (camera.width, camera.height) == (1242, 375)


def _named(files: tuple[Path, ...], word: str) -> list[str]:
    return [file.name for file in files if word in file.name]
