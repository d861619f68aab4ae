"""Small folders of results as Aria's machine perception services write them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

GAZE = "tracking_timestamp_us,yaw_rads_cpf,pitch_rads_cpf,depth_m,session_uid"
TWO_EYES = "tracking_timestamp_us,left_yaw_rads_cpf,right_yaw_rads_cpf,pitch_rads_cpf,depth_m"
CLOSED = (
    "graph_uid,tracking_timestamp_us,utc_timestamp_ns,tx_world_device,ty_world_device,tz_world_device,"
    "qx_world_device,qy_world_device,qz_world_device,qw_world_device,device_linear_velocity_x_device,"
    "device_linear_velocity_y_device,device_linear_velocity_z_device,angular_velocity_x_device,"
    "angular_velocity_y_device,angular_velocity_z_device,gravity_x_world,gravity_y_world,gravity_z_world,"
    "quality_score"
)
OPEN = CLOSED.replace("graph_uid,", "").replace("world", "odometry")
POINTS = "uid,graph_uid,px_world,py_world,pz_world,inv_dist_std,dist_std"
START_US = 149_202_610


def write_results(folder: Path, rows: int = 20, landmarks: int = 21) -> Path:
    """Gaze, both trajectories, hands, wrists, points, calibration over time and summaries."""
    for name in ("eye_gaze", "slam", "hand_tracking"):
        (folder / name).mkdir(parents=True)
    times = [START_US + k * 100_000 for k in range(rows)]
    _write(folder / "eye_gaze" / "general_eye_gaze.csv", GAZE, [f"{t},0.1,-0.2,,s" for t in times])
    _write(folder / "eye_gaze" / "personalized_eye_gaze.csv", TWO_EYES, [f"{t},0.2,0.1,0.3,1.5" for t in times])
    pose = "1,2,3,0.1,0.2,0.3,0.9"
    rest = "0.5,0,0,0,0,0.25,0,0,-9.81,1.0"
    _write(
        folder / "slam" / "closed_loop_trajectory.csv",
        CLOSED,
        [f"ea72,{t},{-1 if k else 1686767222002923694},{pose},{rest}" for k, t in enumerate(times)],
    )
    _write(folder / "slam" / "open_loop_trajectory.csv", OPEN, [f"{t},-1,{pose},{rest}" for t in times])
    text = "\n".join([POINTS, *(f"{k},ea72,{k}.5,-1,2,0.01,0.02" for k in range(rows))]) + "\n"
    (folder / "slam" / "semidense_points.csv.gz").write_bytes(gzip.compress(text.encode()))
    lines = [json.dumps(calibration(t)) for t in times]
    (folder / "slam" / "online_calibration.jsonl").write_text("\n".join(lines) + "\n")
    points = [f"{side}_landmark_{k}_device" for side in ("left", "right") for k in range(landmarks)]
    axes = [f"t{axis}_{point}" for point in points for axis in "xyz"]
    names = ["tracking_timestamp_us", "left_tracking_confidence", "right_tracking_confidence", *axes]
    values = ",".join(str(k) for k in range(len(axes)))
    _write(
        folder / "hand_tracking" / "hand_tracking_results.csv",
        ",".join([*names, "nx_left_palm_device", "ny_left_palm_device", "nz_left_palm_device"]),
        [f"{t},0.9,{-1 if k % 2 else 0.8},{values},0,0,1" for k, t in enumerate(times)],
    )
    (folder / "slam" / "summary.json").write_text('{"SLAM": {"status": "SUCCESS"}, "version": "1.2.3"}')
    return folder


def calibration(stamp_us: int) -> dict:
    """One line of calibration over time: a camera and an IMU."""
    pose = {"Translation": [0.1, 0.2, 0.3], "UnitQuaternion": [1, [0, 0, 0]]}
    identity = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    rectified = {
        "Bias": {"Offset": [0.1, 0.2, 0.3]},
        "Model": {"Name": "Linear", "RectificationMatrix": identity},
    }
    return {
        "utc_timestamp_ns": -1,
        "tracking_timestamp_us": stamp_us,
        "ImageSizes": [[640, 480]],
        "CameraCalibrations": [
            {
                "Label": "camera-slam-left",
                "Projection": {"Name": "FisheyeRadTanThinPrism", "Params": [241.0, 320.0, 240.0, *[0.01] * 12]},
                "T_Device_Camera": pose,
            }
        ],
        "ImuCalibrations": [
            {"Label": "imu-left", "Accelerometer": rectified, "Gyroscope": rectified, "T_Device_Imu": pose}
        ],
    }


def _write(path: Path, header: str, rows: list[str]) -> None:
    path.write_text("\n".join([header, *rows]) + "\n")
