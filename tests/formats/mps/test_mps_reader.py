"""Machine perception results: directions, poses, hands, calibration over time; whose they are."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from mps_files import START_US, calibration, write_results

from twinloop.core.clock import Epoch
from twinloop.core.errors import UnreadableError
from twinloop.core.kinds import Kind, Role
from twinloop.formats.mps.layouts import gaze_direction
from twinloop.formats.reader import find_reader, open_recording
from twinloop.testing.vrs_writer import VrsRecord, VrsTrack, write_vrs

GEN1 = "project-aria/data/gen1"


def vrs(path: Path) -> Path:
    """A VRS file with one sample."""
    fields = {"capture_timestamp_ns": "int64_t", "pressure": "double"}
    record = VrsRecord(149.2, {"capture_timestamp_ns": 149_200_000_000, "pressure": 97_000.0})
    return write_vrs(
        path, [VrsTrack(247, 1, "Barometer Data Class", fields, [record])], {"device_type": "Aria"}
    )


def test_tables_become_the_field_s_kinds(tmp_path: Path) -> None:
    with open_recording(write_results(tmp_path / "mps")) as recording:
        tables = {name.removeprefix("mps/"): recording.read(name) for name in recording.streams}
        clock = recording.streams["mps/closed_loop_trajectory"].stamp_clock
        assert recording.metadata["mps/slam/summary/SLAM/status"] == "SUCCESS"
    assert clock.epoch is Epoch.DEVICE
    closed = tables["closed_loop_trajectory"]
    assert closed.column("stamp_ns")[0].as_py() == START_US * 1000
    assert closed.column("utc_timestamp_ns").to_pylist()[:2] == [1686767222002923694, None]
    assert closed.column("orientation")[0].as_py() == [0.9, 0.1, 0.2, 0.3]
    assert closed.column("linear")[0].as_py() == [0.5, 0, 0]
    assert closed.column("angular")[0].as_py() == [0, 0, 0.25]
    assert closed.column("gravity_world")[0].as_py() == [0, 0, -9.81]
    assert tables["open_loop_trajectory"].column("frame_id")[0].as_py() == "odometry"
    gaze, both = tables["general_eye_gaze"], tables["personalized_eye_gaze"]
    assert gaze.column("depth")[0].as_py() is None
    assert both.column("depth")[0].as_py() == 1.5
    np.testing.assert_allclose(np.linalg.norm(gaze.column("direction")[0].as_py()), 1)
    assert tables["semidense_points"].column("position_world")[3].as_py() == [3.5, -1, 2]


def test_a_direction_is_made_of_tangents() -> None:
    """projectaria_tools' getUnitVectorFromYawPitch: x to the left, y up, z ahead."""
    (direction,) = gaze_direction(np.array([0.3]), np.array([-0.2]))
    ahead = np.array([np.tan(0.3), np.tan(-0.2), 1.0])
    np.testing.assert_allclose(direction, ahead / np.linalg.norm(ahead))


def test_rays_of_two_eyes_meet_where_the_combined_one_points(tmp_path: Path) -> None:
    with open_recording(write_results(tmp_path / "mps")) as recording:
        direction = recording.read("mps/personalized_eye_gaze").column("direction")[0].as_py()
    left, right, pitch, half = 0.2, 0.1, 0.3, 0.0315
    z = 2 * half / (np.tan(right) - np.tan(left))
    x = half * (np.tan(left) + np.tan(right)) / (np.tan(right) - np.tan(left))
    np.testing.assert_allclose(direction[0] / direction[2], x / z)
    np.testing.assert_allclose(direction[1] / direction[2], np.tan(pitch))


def test_a_hand_that_is_not_tracked_has_no_points(tmp_path: Path) -> None:
    with open_recording(write_results(tmp_path / "mps")) as recording:
        hands = recording.read("mps/hand_tracking_results")
    assert [len(names) for names in hands.column("name").to_pylist()[:3]] == [42, 21, 42]
    assert hands.column("name")[1].as_py()[-1] == "left/20"
    assert hands.column("xyz")[0].as_py()[63:66] == [63, 64, 65]
    assert hands.column("normal_left_palm_device")[0].as_py() == [0, 0, 1]


def test_calibration_over_time_is_a_stream_a_sensor(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "mps")
    file = folder / "slam" / "online_calibration.jsonl"
    broken = calibration(START_US + 5)
    del broken["tracking_timestamp_us"]
    file.write_text(file.read_text() + json.dumps(broken) + "\nno json\n")
    with open_recording(folder) as recording:
        camera = recording.read("mps/online_calibration/camera-slam-left")
        imu = recording.read("mps/online_calibration/imu-left")
        assert [note.problem.value for note in recording.notes] == ["undecodable", "undecodable"]
    assert camera.column("k")[0].as_py() == [241, 0, 320, 0, 241, 240, 0, 0, 1]
    assert camera.column("distortion_model")[0].as_py() == "fisheye624"
    assert (camera.column("width")[0].as_py(), camera.column("r")[0].as_py()) == (640, None)
    assert imu.column("accel_bias")[0].as_py() == [0.1, 0.2, 0.3]
    assert imu.column("position")[0].as_py() == [0.1, 0.2, 0.3]


def test_a_cut_archive_gives_what_is_left(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "mps")
    rows = "\n".join(f"{k},ea72,{k * 0.37},-1,2,0.01,0.02" for k in range(40_000))
    header = "uid,graph_uid,px_world,py_world,pz_world,inv_dist_std,dist_std\n"
    packed = gzip.compress((header + rows).encode())
    (folder / "slam" / "semidense_points.csv.gz").write_bytes(packed[: len(packed) // 2])
    with open_recording(folder) as recording:
        left = recording.read("mps/semidense_points").num_rows
        assert [note.problem.value for note in recording.notes] == ["truncated"]
    assert left < 40_000


def test_results_belong_to_the_recording_beside_which_they_lie(tmp_path: Path) -> None:
    folder = tmp_path / "take"
    write_results(folder / "mps")
    file = vrs(folder / "recording.vrs")
    (folder / "metadata.json").write_text('{"dataset_name": "AEA_2024"}')
    assert find_reader(folder).name == "vrs"
    with open_recording(file) as recording:
        assert len(recording.streams) == 9
        assert recording.metadata["metadata/dataset_name"] == "AEA_2024"
        assert folder / "mps" / "slam" / "closed_loop_trajectory.csv" in recording.files
        stamps = {s.stamp_clock for s in recording.streams.values() if s.timeline == "stamp_ns"}
        assert len(stamps) == 1  # all on the device's clock


def test_of_two_recordings_only_the_named_folder_belongs(tmp_path: Path) -> None:
    one, two = vrs(tmp_path / "one.vrs"), vrs(tmp_path / "two.vrs")
    write_results(tmp_path / "mps_one_vrs")
    write_results(tmp_path / "mps")
    with open_recording(one) as recording:
        assert len(recording.streams) == 9
    with open_recording(two) as recording:
        assert list(recording.streams) == ["baro0"]


def test_a_table_that_is_not_known_is_noted(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "mps")
    (folder / "slam" / "unheard_of.csv").write_text("a,b\n1,2\n")
    with open_recording(folder) as recording:
        assert len(recording.streams) == 8
        assert ["no known table" in note.message for note in recording.notes] == [True]


def test_a_folder_without_rows_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mps").mkdir()
    (tmp_path / "mps" / "general_eye_gaze.csv").write_text(
        "tracking_timestamp_us,yaw_rads_cpf,pitch_rads_cpf\n"
    )
    with pytest.raises(UnreadableError, match="no table of results"):
        open_recording(tmp_path / "mps")


def test_ground_truth_boxes_stand_where_their_objects_do(tmp_path: Path) -> None:
    """A box of its own frame, turned a quarter about z and moved with its object."""
    vrs(tmp_path / "video.vrs")
    half = 0.5**0.5
    (tmp_path / "scene_objects.csv").write_text(
        "object_uid,timestamp[ns],t_wo_x[m],t_wo_y[m],t_wo_z[m],q_wo_w,q_wo_x,q_wo_y,q_wo_z\n"
        f"11,-1,1,2,3,{half},0,0,{half}\n22,149200000000,0,0,0,1,0,0,0\n22,149300000000,0,0,1,1,0,0,0\n"
    )
    (tmp_path / "3d_bounding_box.csv").write_text(
        "object_uid,timestamp[ns],p_local_obj_xmin[m],p_local_obj_xmax[m],p_local_obj_ymin[m],"
        "p_local_obj_ymax[m],p_local_obj_zmin[m],p_local_obj_zmax[m]\n11,-1,0,2,0,4,0,6\n"
    )
    (tmp_path / "2d_bounding_box.csv").write_text(
        "stream_id,object_uid,timestamp[ns],x_min[pixel],x_max[pixel],y_min[pixel],y_max[pixel],visibility_ratio[%]\n"
        "214-1,11,149200000000,1,3,2,4,0.5\n214-1,22,149200000000,5,6,7,8,1\n1201-1,11,149200000000,1,2,3,4,1\n"
    )
    (tmp_path / "instances.json").write_text('{"11": {"category": "hook", "instance_name": "Hook_4"}}')
    (tmp_path / "Skeleton_T.json").write_text(
        '{"dt": {}, "frames": [{"markers": [[1, 2, 3]], "joints": [[4, 5, 6], [7, 8, 9]], '
        '"timestamp_ns": 149200000001}'
    )
    with open_recording(tmp_path) as recording:
        still, moving = recording.read("truth/objects_static"), recording.read("truth/objects_moving")
        boxes, skeleton = recording.read("truth/2d_bounding_box"), recording.read("truth/Skeleton_T")
        assert recording.streams["truth/2d_bounding_box"].role is Role.TRUTH
        assert recording.streams["truth/2d_bounding_box"].count == 2
        assert recording.streams["truth/Skeleton_T"].kind is Kind.KEYPOINTS
        assert [note.problem.value for note in recording.notes] == ["truncated"]  # of the skeleton
    np.testing.assert_allclose(still.column("position")[0].as_py(), [1 - 2, 2 + 1, 3 + 3], atol=1e-12)
    assert still.column("size")[0].as_py() == [2, 4, 6]
    assert still.column("category")[0].as_py() == "hook"
    assert moving.column("message").to_pylist() == [0, 1]
    assert moving.column("size")[0].as_py() is None
    assert boxes.column("box")[0].as_py() == [1, 2, 3, 4]
    assert boxes.column("message").to_pylist() == [0, 0, 1]
    assert boxes.column("frame_id").to_pylist() == ["camera-rgb", "camera-rgb", "camera-slam-left"]
    assert skeleton.column("xyz")[0].as_py() == [4, 5, 6, 7, 8, 9]
    assert skeleton.column("markers")[0].as_py() == [1, 2, 3]


def test_real_results(test_data: Path) -> None:
    folder = test_data / GEN1 / "mps_sample"
    assert find_reader(folder).name == "mps"
    with open_recording(folder) as recording:
        counts = {name: recording.read(name).num_rows for name in recording.streams}
        assert not recording.notes
        closed = recording.streams["mps/closed_loop_trajectory"]
    assert counts["mps/closed_loop_trajectory"] == 11_517
    assert counts["mps/open_loop_trajectory"] == 11_517
    assert counts["mps/global_points"] == 99_472
    assert counts["mps/online_calibration/camera-rgb"] == 122
    assert counts["mps/hand_tracking_results_v2"] == 8
    assert (closed.end_ns - closed.start_ns) / 1e9 == pytest.approx(11.395, abs=1e-3)  # type: ignore[operator]
    assert closed.measured_rate_hz == pytest.approx(1010.6, abs=0.1)


@pytest.mark.parametrize("old", ['"Translation": [', '"Offset": ['])
def test_a_calibration_with_what_is_no_number_is_noted(tmp_path: Path, old: str) -> None:
    root = write_results(tmp_path / "mps")
    lines = root / "slam" / "online_calibration.jsonl"
    text = lines.read_text()
    assert old in text
    lines.write_text(text.replace(old, f"{old}NaN, ", 1))
    with open_recording(root) as recording:
        for _ in recording.scan():
            pass
        assert any("is not as expected" in note.message for note in recording.notes)
