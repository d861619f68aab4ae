"""What calibration files say comes out in our words."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from calibration_files import CALISCOPE, KALIBR, write
from scipy.spatial.transform import Rotation

from twinloop.core.calibration import (
    CameraCalibration,
    CameraModel,
    FramePose,
    ImuCalibration,
    cameras_of,
    encode_calibration,
    frames_of,
)
from twinloop.core.errors import UnreadableError
from twinloop.formats.calibrations.beside import read_beside, renamed
from twinloop.formats.calibrations.file import read_calibration
from twinloop.formats.notes import Notes
from twinloop.formats.reader import open_recording


def read(tmp_path: Path, name: str) -> tuple[dict[str, CameraCalibration], dict[str, FramePose]]:
    calibration = encode_calibration(read_calibration(write(tmp_path, name))[1].items)
    return cameras_of(calibration), frames_of(calibration)


def axes(pose: FramePose) -> np.ndarray:
    """The child's axes (3, 3) as columns, in the parent."""
    return Rotation.from_quat(pose.rotation, scalar_first=True).as_matrix()


def test_caliscope_gives_the_camera_s_place_in_the_world(tmp_path: Path) -> None:
    cameras, frames = read(tmp_path, "camera_array.toml")
    camera = cameras["cam_1"]
    assert camera.model is CameraModel.RADTAN
    assert (camera.width, camera.height, camera.error_px) == (1280, 720, 0.4)
    assert camera.intrinsics == (900.0, 901.0, 640.0, 360.0)
    assert camera.distortion == (-0.3, 0.05, 0.001, 0.002, 0.07)
    assert frames["cam_1"].parent == "world"
    np.testing.assert_allclose(frames["cam_1"].translation, [0.5, 0, 0], atol=1e-12)


def test_qualisys_counts_in_64ths_of_a_pixel_and_millimetres(tmp_path: Path) -> None:
    cameras, frames = read(tmp_path, "rig.qca.txt")
    camera = cameras["cam01"]
    assert (camera.width, camera.height) == (1080, 1920)
    assert camera.intrinsics == (1680.0, 1681.0, 545.0 - 8, 960.0)
    assert camera.distortion == (-0.05, 0.14, 0.001, 0.002, 0.0)
    pose = frames["cam01"]
    np.testing.assert_allclose(pose.translation, [0.5, -2.0, 1.5])
    # It stands at y = -2 m, looks along y, and is upright.
    np.testing.assert_allclose(axes(pose) @ [0, 0, 1], [0, 1, 0], atol=1e-12)
    np.testing.assert_allclose(axes(pose) @ [0, 1, 0], [0, 0, -1], atol=1e-12)


def test_kalibr_chains_cameras_and_the_inertial_sensor(tmp_path: Path) -> None:
    cameras, frames = read(tmp_path, "camchain.yaml")
    assert cameras["cam0"].model is CameraModel.RADTAN
    assert cameras["cam0"].extra["timeshift_cam_imu"] == -8.1e-05
    assert cameras["cam1"].model is CameraModel.DOUBLE_SPHERE
    assert cameras["cam1"].distortion == (-0.2, 0.6)
    assert cameras["cam1"].intrinsics == (300.0, 301.0, 376.0, 240.0)
    assert (frames["cam0"].parent, frames["cam1"].parent) == ("imu0", "cam0")
    np.testing.assert_allclose(frames["cam0"].translation, [-0.1, -0.2, -0.3])
    np.testing.assert_allclose(frames["cam1"].translation, [0.5, 0, 0])


def test_kalibr_has_the_noise_of_an_inertial_sensor(tmp_path: Path) -> None:
    (imu,) = read_calibration(write(tmp_path, "imu.yaml"))[1].items
    assert isinstance(imu, ImuCalibration)
    assert imu.noise["gyroscope_noise_density"] == 1.87e-04
    assert imu.extra["update_rate"] == 200.0


def test_opencv_stores_a_pair(tmp_path: Path) -> None:
    cameras, frames = read(tmp_path, "stereo.yml")
    assert cameras["cam1"].distortion[:2] == (0.295, -1.03)
    assert cameras["cam2"].model is CameraModel.PINHOLE
    assert (cameras["cam1"].width, cameras["cam2"].height) == (640, 480)
    np.testing.assert_allclose(frames["cam2"].translation, [0.5, 0, 0])
    assert frames["cam2"].unit == "undeclared"


def test_opencv_stores_xml_too(tmp_path: Path) -> None:
    cameras, _ = read(tmp_path, "left_intrinsics.xml")
    assert cameras["left"].intrinsics == (500.0, 510.0, 320.0, 240.0)
    assert cameras["left"].error_px == 0.39


def test_a_camera_that_does_not_fit_costs_no_other(tmp_path: Path) -> None:
    path = tmp_path / "camera_array.toml"
    path.write_text(CALISCOPE.replace("matrix = [[900.0", 'matrix = [["nine"', 1))
    with open_recording(path) as recording:
        assert set(cameras_of(recording.calibration)) == {"cam_1"}
        assert "cam_0" in recording.notes[0].message


@pytest.mark.parametrize(
    "text",
    [
        KALIBR.replace("cam0:", "cam0: &all", 1) + "cam2: *all\n",
        KALIBR.replace("[461.6", "[[461.6", 1),
    ],
)
def test_yaml_that_is_a_trap_or_broken_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "camchain.yaml").write_text(text)
    with pytest.raises(UnreadableError):
        read_calibration(tmp_path / "camchain.yaml")


def test_cameras_take_the_names_of_the_streams(tmp_path: Path) -> None:
    items = read_calibration(write(tmp_path, "camera_array.toml"))[1].items
    for streams, expected in [
        (("CAM-0", "CAM-1"), {"CAM-0", "CAM-1"}),
        (("left0", "right1"), {"left0", "right1"}),
        (("a", "b"), {"cam_0", "cam_1"}),
        (("view1", "side1"), {"cam_0", "cam_1"}),  # which of them is camera 1 cannot be told
    ]:
        calibration = encode_calibration(renamed(items, streams))
        assert set(cameras_of(calibration)) == expected
        assert set(frames_of(calibration)) == expected


def test_a_file_beside_that_does_not_parse_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "camera_array.toml"
    path.write_text(CALISCOPE + "\n[broken")
    notes = Notes()
    calibration, facts = read_beside([path], ["cam_0"], notes)
    assert calibration == {}
    assert facts == {"calibration_file/0": str(path)}
    assert len(notes.all) == 1


def test_points_of_a_real_session_project_where_they_were_seen(test_data: Path) -> None:
    session = test_data / "caliscope-multicam/tests/sessions/post_optimization"
    calibration = encode_calibration(read_calibration(session / "camera_array.toml")[1].items)
    cameras, frames = cameras_of(calibration), frames_of(calibration)
    board = session / "calibration/extrinsic/CHARUCO"
    with (board / "xyz_CHARUCO.csv").open() as file:
        points = {
            (row["sync_index"], row["keypoint_id"]): [float(row[f"{axis}_coord"]) for axis in "xyz"]
            for row in csv.DictReader(file)
        }
    with (board / "xy_CHARUCO.csv").open() as file:
        seen = [row for row in csv.DictReader(file) if (row["sync_index"], row["keypoint_id"]) in points]
    errors = []
    for name, camera in cameras.items():
        rows = [row for row in seen if f"cam_{row['cam_id']}" == name]
        world = np.array([points[row["sync_index"], row["keypoint_id"]] for row in rows])
        x, y, z = ((world - frames[name].translation) @ axes(frames[name])).T
        x, y = x / z, y / z
        k1, k2, p1, p2, k3 = camera.distortion
        r2 = x * x + y * y
        radial = 1 + k1 * r2 + k2 * r2**2 + k3 * r2**3
        u = x * radial + 2 * p1 * x * y + p2 * (r2 + 2 * x * x)
        v = y * radial + p1 * (r2 + 2 * y * y) + 2 * p2 * x * y
        fx, fy, cx, cy = camera.intrinsics
        pixels = np.array([[float(row["img_loc_x"]), float(row["img_loc_y"])] for row in rows])
        errors.append(np.hypot(fx * u + cx - pixels[:, 0], fy * v + cy - pixels[:, 1]))
    assert np.median(np.concatenate(errors)) < 1.5


def test_a_real_rig_is_calibrated_for_wider_pictures_than_two_cameras_have(test_data: Path) -> None:
    from twinloop.checks.run import check

    with open_recording(test_data / "pose2sim-exo/Pose2Sim/Demo_SinglePerson/videos") as recording:
        assert set(frames_of(recording.calibration)) == {"cam01", "cam02", "cam03", "cam04"}
        assert {name: stream.encoding for name, stream in recording.streams.items()}["cam02"] == "vp9"
        told = [finding for finding in check(recording).findings if finding.code == "VID003"]
    assert [(finding.stream, finding.value, finding.limit) for finding in told] == [
        ("cam01", 1080.0, 1088.0),
        ("cam02", 1080.0, 1088.0),
    ]


def test_real_opencv_files_are_read(test_data: Path) -> None:
    folder = test_data / "stereo-calib-opencv/usr/share/doc/opencv-doc/examples/data"
    with open_recording(folder / "left_intrinsics.yml") as recording:
        camera = cameras_of(recording.calibration)["left"]
    assert camera.error_px == pytest.approx(0.3926, abs=1e-4)
    assert (camera.width, camera.height) == (640, 480)
    with open_recording(folder / "intrinsics.yml") as recording:
        assert set(cameras_of(recording.calibration)) == {"cam1", "cam2"}
