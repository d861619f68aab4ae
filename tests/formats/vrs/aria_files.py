"""Small files of Aria glasses of both generations: every kind of stream that their layouts know."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from twinloop.testing.pictures import jpeg
from twinloop.testing.vrs_writer import VrsRecord, VrsTrack, write_vrs

START_NS = 280_500_000_000
HOST_NS = 1_000_000_000_000
CALIBRATION = {
    "CalibrationSource": "Factory",
    "CameraCalibrations": [
        {
            "Label": "camera-rgb",
            "Projection": {
                "Name": "FisheyeRadTanThinPrism",
                "Params": [
                    1219.9,
                    1451.8,
                    1453.2,
                    0.41,
                    -0.56,
                    0.1,
                    0.2,
                    0.3,
                    0.4,
                    1e-3,
                    2e-3,
                    3e-3,
                    4e-3,
                    5e-3,
                    6e-3,
                ],
            },
            "SerialNumber": "0450",
            "T_Device_Camera": {"Translation": [0.1, 0.2, 0.3], "UnitQuaternion": [0.5, [0.5, 0.5, 0.5]]},
        },
        {
            "Label": "camera-et-left",
            "Projection": {
                "Name": "KannalaBrandtK3",
                "Params": [557.0, 556.0, 319.5, 239.5, 0.1, 0.2, 0.3, 0.4],
            },
            "T_Device_Camera": {"Translation": [0, 0, 0], "UnitQuaternion": [1, [0, 0, 0]]},
        },
    ],
    "ImuCalibrations": [
        {
            "Label": "imu-left",
            "Accelerometer": {
                "Bias": {"Name": "Constant", "Offset": [0.1, 0.2, 0.3]},
                "Model": {
                    "Name": "UpperTriagonalLinear",
                    "RectificationMatrix": [[1, 2, 3], [0, 4, 5], [0, 0, 6]],
                },
            },
            "Gyroscope": {
                "Bias": {"Name": "Constant", "Offset": [0.01, 0.02, 0.03]},
                "Model": {
                    "Name": "LinearGSensitivity",
                    "RectificationMatrix": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
                },
            },
            "T_Device_Imu": {"Translation": [1, 2, 3], "UnitQuaternion": [0, [1, 0, 0]]},
        }
    ],
    "MagCalibrations": [{"Label": "mag0", "Bias": {"Offset": [1, 2, 3]}}],
    "BaroCalibrations": [{"Label": "baro0", "PressureModel": {"Slope": 1.0004, "OffsetPa": -130.5}}],
    "MicCalibrations": [{"Label": "mic0", "DSensitivity1KDbv": -37.0}],
}
_MOTION = {
    "accelerometer_valid": "Bool",
    "gyroscope_valid": "Bool",
    "magnetometer_valid": "Bool",
    "temperature_deg_c": "double",
    "capture_timestamp_ns": "int64_t",
    "arrival_timestamp_ns": "int64_t",
    "accelerometer": "float[3]",
    "gyroscope": "float[3]",
    "magnetometer": "float[3]",
}
_PICTURE = {
    "group_id": "uint64_t",
    "frame_number": "uint64_t",
    "exposure_duration_s": "double",
    "capture_timestamp_ns": "int64_t",
    "arrival_timestamp_ns": "int64_t",
    "temperature_deg_c": "double",
}


def camera(
    type: int, instance: int, name: str, count: int, *, width: int = 64, height: int = 48, raw: bool = False
) -> VrsTrack:
    grey = np.full((height, width, 3), 90, np.uint8)
    picture = bytes(width * height) if raw else next(jpeg([grey]))
    records = [
        VrsRecord(
            (START_NS + k * 50_000_000) / 1e9,
            {
                "group_id": 0,
                "frame_number": k,
                "exposure_duration_s": 0.005,
                "capture_timestamp_ns": START_NS + k * 50_000_000,
                "arrival_timestamp_ns": HOST_NS + k * 50_000_000 + 7_000_000,
                "temperature_deg_c": float("nan") if k % 2 else 33.0,
            },
            picture,
        )
        for k in range(count)
    ]
    return VrsTrack(
        type,
        instance,
        name,
        _PICTURE,
        records,
        configuration={
            "nominal_rate": ("double", 20.0),
            "image_width": ("uint32_t", width),
            "image_height": ("uint32_t", height),
            "sensor_model": ("string", "IMX577"),
            "online_calibration": ("string", '{"gain": 2}' if name.startswith("RGB") else ""),
        },
        bulk=f"image/raw/{width}x{height}/pixel=grey8" if raw else "image/jpg",
        tags={"camera_id": "2"},
        version=2,
    )


def motion(type: int, instance: int, name: str, count: int, period_ns: int) -> VrsTrack:
    magnetic = type == 1203
    records = []
    for k in range(count):
        stamp = START_NS + k * period_ns
        values = {
            "accelerometer_valid": not magnetic and k != 3,
            "gyroscope_valid": not magnetic,
            "magnetometer_valid": magnetic,
            "temperature_deg_c": float("nan"),
            "capture_timestamp_ns": stamp,
            "arrival_timestamp_ns": -1,
            "accelerometer": [0.5, -9.5, k],
            "gyroscope": [0.25, k, 0.125],
            "magnetometer": [-30.0, 12.0, 8.0],
        }
        records.append(VrsRecord(stamp / 1e9, values))
    return VrsTrack(
        type, instance, name, _MOTION, records, {"nominal_rate": ("double", 1e9 / period_ns)}, version=2
    )


def barometer(count: int) -> VrsTrack:
    fields = {"capture_timestamp_ns": "int64_t", "temperature": "double", "pressure": "double"}
    records = [
        VrsRecord(
            (START_NS + k * 20_000_000) / 1e9,
            {"capture_timestamp_ns": START_NS + k * 20_000_000, "temperature": 25.5, "pressure": 97_733.0 + k},
        )
        for k in range(count)
    ]
    return VrsTrack(247, 1, "Barometer Data Class", fields, records, {"sample_rate": ("double", 50.0)})


def microphone(count: int, samples: int = 32, channels: int = 7) -> VrsTrack:
    fields = {"audio_muted": "uint8_t", "capture_timestamps_ns": "vector<int64_t>"}
    records = []
    for k in range(count):
        first = START_NS + k * samples * 20_833
        stamps = first + np.arange(samples) * 20_833
        sound = np.full((samples, channels), k, "<i4").tobytes()
        records.append(VrsRecord(first / 1e9, {"audio_muted": 0, "capture_timestamps_ns": stamps}, sound))
    bulk = f"audio/pcm/int32le/channels={channels}/rate=48000"
    return VrsTrack(231, 1, "Stereo Audio Class", fields, records, bulk=bulk)


def location(count: int, instance: int = 1) -> VrsTrack:
    fields = {
        "capture_timestamp_ns": "int64_t",
        "utc_time_ms": "int64_t",
        "provider": "string",
        "latitude": "float",
        "longitude": "float",
        "altitude": "float",
        "accuracy": "float",
        "raw_data": "vector<string>",
    }
    records = [
        VrsRecord(
            (START_NS + k * 100_000_000) / 1e9,
            {
                "capture_timestamp_ns": START_NS + k * 100_000_000,
                "utc_time_ms": 1_686_767_222_000 + k,
                "provider": "gps",
                "latitude": 47.5,
                "longitude": 8.25,
                "altitude": 408.0,
                "accuracy": 3.0,
                "raw_data": ["$GPGGA", f"${k}"],
            },
        )
        for k in range(count)
    ]
    return VrsTrack(281, instance, "Gps Data Class", fields, records, {"provider": ("string", "gps")})


def bluetooth(count: int) -> VrsTrack:
    """All at one time of the board, as a scan reports them."""
    fields = {
        "system_timestamp_ns": "int64_t",
        "board_timestamp_ns": "int64_t",
        "unique_id": "string",
        "rssi": "float",
    }
    records = [
        VrsRecord(
            START_NS / 1e9,
            {
                "system_timestamp_ns": 1_686_767_222_000_000_000 + k,
                "board_timestamp_ns": START_NS,
                "unique_id": f"beacon {k} é",
                "rssi": -60.0 - k,
            },
        )
        for k in range(count)
    ]
    return VrsTrack(283, 1, "Bluetooth Beacon Data Class", fields, records)


def temperature(count: int, span_ns: int) -> VrsTrack:
    fields = {"capture_timestamp_ns": "int64_t", "temperature_celsius": "float", "sensor_name": "string"}
    stamps = START_NS + np.linspace(0, span_ns, count).astype(np.int64)
    records = [
        VrsRecord(
            t / 1e9, {"capture_timestamp_ns": t, "temperature_celsius": 30.5, "sensor_name": f"sensor {k}"}
        )
        for k, t in enumerate(stamps.tolist())
    ]
    return VrsTrack(246, 1, "Temperature Sensor Class", fields, records, {"nominal_rate": ("double", 1.0)})


def time_domain(count: int) -> VrsTrack:
    fields = {"monotonic_timestamp_ns": "int64_t", "real_timestamp_ns": "int64_t"}
    records = [
        VrsRecord(
            (START_NS + k * 33_333_333) / 1e9,
            {"monotonic_timestamp_ns": START_NS + k * 33_333_333, "real_timestamp_ns": 73_852_833_333_333 + k},
        )
        for k in range(count)
    ]
    return VrsTrack(
        285,
        1,
        "Time Domain Mapping Class",
        fields,
        records,
        {"mode": ("string", "TIMECODE"), "sample_rate_hz": ("double", 30.0)},
    )


def hands(count: int) -> VrsTrack:
    fields: dict[str, str] = {"capture_timestamp_ns": "int64_t"}
    for hand in ("left_hand", "right_hand"):
        fields |= {
            f"{hand}/joint_angles_radian": "float[22]",
            f"{hand}/wrist_rotation_xyzw": "Point4Df",
            f"{hand}/hand_confidence": "float",
            f"{hand}/hand_valid": "Bool",
            f"{hand}/hand_landmarks_3d_device_meter_xyz": "Point3Df[21]",
        }
    records = []
    for k in range(count):
        values: dict[str, object] = {"capture_timestamp_ns": START_NS + k * 100_000_000}
        for side, hand in enumerate(("left_hand", "right_hand")):
            values |= {
                f"{hand}/joint_angles_radian": np.arange(22),
                f"{hand}/wrist_rotation_xyzw": [0.1, 0.2, 0.3, 0.9],
                f"{hand}/hand_confidence": 0.75,
                f"{hand}/hand_valid": True,
                f"{hand}/hand_landmarks_3d_device_meter_xyz": np.arange(63).reshape(21, 3) + 100 * side + k,
            }
        records.append(VrsRecord((START_NS + k * 100_000_000) / 1e9, values))
    return VrsTrack(371, 1, "Pose Data Class", fields, records, flavor="device/oatmeal/hand")


def gaze(count: int) -> VrsTrack:
    fields = {
        "tracker_timestamp_ns": "int64_t",
        "system_timestamp_ns": "int64_t",
        "gaze_direction_combined_in_device_valid": "Bool",
        "gaze_direction_combined_in_device_normalized_xyz": "Point3Df",
        "convergence_distance_valid": "Bool",
        "convergence_distance_meter": "float",
    }
    records = [
        VrsRecord(
            (START_NS + k * 33_333_333) / 1e9,
            {
                "tracker_timestamp_ns": START_NS + k * 33_333_333,
                "system_timestamp_ns": HOST_NS + k,
                "gaze_direction_combined_in_device_valid": k != 1,
                "gaze_direction_combined_in_device_normalized_xyz": [0.0, 0.6, 0.8],
                "convergence_distance_valid": k != 2,
                "convergence_distance_meter": 1.5,
            },
        )
        for k in range(count)
    ]
    return VrsTrack(373, 1, "Gaze Data Class", fields, records, flavor="device/oatmeal")


def odometry(count: int) -> VrsTrack:
    fields = {
        "frontend_session_uuid": "string",
        "capture_timestamp_ns": "int64_t",
        "status": "int8_t",
        "gravity_vec_odometry": "Point3Dd",
        "txyz_odometry_bodyimu": "Point3Dd",
        "qxyzw_odometry_bodyimu": "Point4Dd",
        "linear_velocity_odometry": "Point3Dd",
    }
    records = [
        VrsRecord(
            (START_NS + k * 100_000_000) / 1e9,
            {
                "frontend_session_uuid": "3edc41cb",
                "capture_timestamp_ns": START_NS + k * 100_000_000,
                "status": 1,
                "gravity_vec_odometry": [0, 0, -9.81],
                "txyz_odometry_bodyimu": [k, 2.0, 3.0],
                "qxyzw_odometry_bodyimu": [0.1, 0.2, 0.3, 0.9],
                "linear_velocity_odometry": [0.5, 0, 0],
            },
        )
        for k in range(count)
    ]
    return VrsTrack(371, 2, "Pose Data Class", fields, records, flavor="device/oatmeal/vio")


def tags(generation: int) -> dict[str, str]:
    return {
        "device_type": "Aria" if generation == 1 else "oatmeal",
        "device_serial": "1WM09380041283",
        "session_id": "4a86ac51",
        "calib_json": json.dumps(CALIBRATION),
        "metadata": '{"recording_profile": "profile9"}',
    }


def gen1_tracks() -> list[VrsTrack]:
    """Cameras, motion, sound; location, beacons and time as tables; two declared streams without records."""
    return [
        camera(211, 1, "Eye Camera Class", 3, raw=True),
        camera(214, 1, "RGB Camera Class", 4),
        microphone(4),
        barometer(6),
        location(2),
        location(0, 2),
        replace(bluetooth(0), type=282, name="Wifi Beacon Data Class"),
        bluetooth(5),
        time_domain(3),
        camera(1201, 1, "Camera Data (SLAM)", 2),
        motion(1202, 1, "IMU Data (SLAM)", 40, 1_000_000),
        motion(1203, 1, "Magnetometer Data (SLAM)", 4, 100_000_000),
    ]


def gen2_tracks() -> list[VrsTrack]:
    """What the second generation adds: tracking on the device, more cameras, a thermometer."""
    return [
        camera(1201, 3, "Camera Data (SLAM)", 2),
        motion(1202, 1, "IMU Data (SLAM)", 20, 1_250_000),
        temperature(19, 13_000_000),
        bluetooth(56),
        hands(3),
        odometry(3),
        gaze(4),
        replace(temperature(0, 0), type=500, name="Als Sensor Class"),
        VrsTrack(
            248,
            1,
            "Ppg Data Class",
            {"capture_timestamp_ns": "int64_t", "value": "int32_t", "notes": "map<string>"},
            [
                VrsRecord(
                    START_NS / 1e9, {"capture_timestamp_ns": START_NS, "value": 7, "notes": {"led": "green"}}
                )
            ],
        ),
    ]


def write_gen1(path: Path, **how: object) -> Path:
    return write_vrs(path, gen1_tracks(), tags(1), **how)  # type: ignore[arg-type]


def write_gen2(path: Path, **how: object) -> Path:
    return write_vrs(path, gen2_tracks(), tags(2), **how)  # type: ignore[arg-type]
