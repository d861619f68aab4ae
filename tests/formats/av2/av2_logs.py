"""A small log of the form of Argoverse 2's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
from scenes import jpeg

START_NS = 315_966_265_259_836_000
SWEEPS, POINTS, POSES, BOXES = 3, 50, 40, 4


def write_log(folder: Path) -> Path:
    """`SWEEPS` sweeps and pictures 0.1 s apart, `BOXES` cuboids at each, `POSES` poses."""
    lidar, camera, calibration = (
        folder / place for place in ("sensors/lidar", "sensors/cameras/ring_front_center", "calibration")
    )
    for place in (lidar, camera, calibration, folder / "map"):
        place.mkdir(parents=True)
    rng = np.random.default_rng(0)
    stamps = START_NS + np.arange(SWEEPS) * 100_000_000
    for number, stamp in enumerate(stamps.tolist()):
        points = {axis: rng.normal(size=POINTS).astype(np.float16) for axis in "xyz"} | {
            "intensity": rng.integers(0, 255, POINTS).astype(np.uint8),
            "laser_number": rng.integers(0, 64, POINTS).astype(np.uint8),
            "offset_ns": (np.arange(POINTS) * 2_000_000).astype(np.int32),
        }
        feather.write_feather(pa.table(points), lidar / f"{stamp}.feather", compression="lz4")
        (camera / f"{stamp + 5_000_000}.jpg").write_bytes(jpeg(number))
    count = SWEEPS * BOXES
    boxes = {
        "timestamp_ns": np.repeat(stamps, BOXES),
        "track_uuid": [f"track-{k % BOXES}" for k in range(count)],
        "category": ["BICYCLE", "BUS"] * (count // 2),
        **{
            name: np.full(count, size)
            for name, size in (("length_m", 4.0), ("width_m", 2.0), ("height_m", 1.5))
        },
        **{name: np.full(count, float(name == "qw")) for name in ("qw", "qx", "qy", "qz")},
        **{name: rng.normal(size=count) for name in ("tx_m", "ty_m", "tz_m")},
        "num_interior_pts": np.arange(count),
    }
    feather.write_feather(pa.table(boxes), folder / "annotations.feather", compression="zstd")
    pose = {name: np.full(POSES, float(name == "qw")) for name in ("qw", "qx", "qy", "qz")} | {
        name: np.arange(POSES, dtype=float) for name in ("tx_m", "ty_m", "tz_m")
    }
    times = START_NS + np.arange(POSES) * 5_000_000
    feather.write_feather(pa.table({"timestamp_ns": times, **pose}), folder / "city_SE3_egovehicle.feather")
    flow = {"flow_tx_m": np.zeros(POINTS, np.float32), "classes": np.zeros(POINTS, np.uint8)}
    feather.write_feather(pa.table(flow), folder / "flow_labels.feather")
    mounts = {
        "sensor_name": ["ring_front_center", "up_lidar"],
        **{name: [float(name == "qw")] * 2 for name in ("qw", "qx", "qy", "qz")},
        **{name: [1.5, 1.0] for name in ("tx_m", "ty_m", "tz_m")},
    }
    feather.write_feather(pa.table(mounts), calibration / "egovehicle_SE3_sensor.feather")
    lens = {
        "sensor_name": ["ring_front_center"],
        **{name: [900.0] for name in ("fx_px", "fy_px")},
        **{name: [24.0] for name in ("cx_px", "cy_px")},
        "k1": [-0.2],
        "k2": [-0.1],
        "k3": [0.3],
        "height_px": np.array([32], np.uint16),
        "width_px": np.array([48], np.uint16),
    }
    feather.write_feather(pa.table(lens), calibration / "intrinsics.feather")
    (folder / "map" / "log_map_archive.json").write_text("{}")
    return folder
