"""One small scene as nuScenes' tables and as infos, with pictures and sweeps."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from scenes import jpeg

US = 1_532_402_927_647_951  # the first sweep's time
SAMPLES = 3
CAMERAS = {"CAM_FRONT": 35_491, "CAM_BACK": 10_426}  # microseconds before the sweep
EYE = np.eye(4).tolist()


def cloud(points: int) -> bytes:
    return np.arange(points * 5, dtype="<f4").tobytes()


def radar(points: int) -> bytes:
    head = "# .PCD v0.7\nVERSION 0.7\nFIELDS x y id\nSIZE 4 4 2\nTYPE F F I\nCOUNT 1 1 1\n"
    head += f"WIDTH {points}\nHEIGHT 1\nPOINTS {points}\nDATA binary\n"
    return head.encode() + np.zeros(points, np.dtype([("x", "<f4"), ("y", "<f4"), ("id", "<i2")])).tobytes()


def shots() -> list[tuple[str, int, int, bytes]]:
    """(channel, sample, microseconds, content) of each file."""
    found = []
    for k in range(SAMPLES):
        sweep = US + k * 500_000
        found.append(("LIDAR_TOP", k, sweep, cloud(10 + k)))
        found.append(("RADAR_FRONT", k, sweep + 7, radar(5)))
        found += [(camera, k, sweep - before, jpeg(k)) for camera, before in CAMERAS.items()]
    return found


def write_tables(root: Path) -> Path:
    folder = root / "v1.0-mini"
    folder.mkdir(parents=True)
    modality = {"LIDAR_TOP": "lidar", "RADAR_FRONT": "radar"} | dict.fromkeys(CAMERAS, "camera")
    tables: dict[str, list[dict[str, object]]] = {
        "sensor": [{"token": f"s-{c}", "channel": c, "modality": m} for c, m in modality.items()],
        "calibrated_sensor": [
            {
                "token": f"c-{channel}",
                "sensor_token": f"s-{channel}",
                "translation": [1.5, 0.0, 1.8],
                "rotation": [1.0, 0.0, 0.0, 0.0],
                "camera_intrinsic": [[50, 0, 24], [0, 51, 16], [0, 0, 1]] if kind == "camera" else [],
            }
            for channel, kind in modality.items()
        ],
        "sample_data": [],
        "ego_pose": [],
        "sample": [
            {"token": f"k-{k}", "timestamp": US + k * 500_000, "scene_token": "a"} for k in range(SAMPLES)
        ],
        "scene": [{"token": "a", "name": "scene-0061", "description": "Parked truck"}],
        "sample_annotation": [
            {
                "token": f"b-{k}-{n}",
                "sample_token": f"k-{k}",
                "instance_token": f"i-{n}",
                "translation": [10.0 + k, n, 0.5],
                "size": [2.0, 4.0, 1.5],
                "rotation": [1.0, 0.0, 0.0, 0.0],
                "num_lidar_pts": 7,
                "num_radar_pts": 0,
                "visibility_token": "4",
                "attribute_tokens": ["moving"],
            }
            for k in range(SAMPLES)
            for n in range(2)
        ],
        "instance": [{"token": f"i-{n}", "category_token": "car"} for n in range(2)],
        "category": [{"token": "car", "name": "vehicle.car"}],
        "attribute": [{"token": "moving", "name": "vehicle.moving"}],
    }
    for number, (channel, sample, us, content) in enumerate(shots()):
        suffix = {"LIDAR_TOP": ".pcd.bin", "RADAR_FRONT": ".pcd"}.get(channel, ".jpg")
        place = root / "samples" / channel / f"n015__{channel}__{us}{suffix}"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        row = {
            "token": f"d-{number}",
            "sample_token": f"k-{sample}",
            "ego_pose_token": f"e-{number}",
            "calibrated_sensor_token": f"c-{channel}",
            "filename": str(place.relative_to(root)),
            "timestamp": us,
            "is_key_frame": True,
            "width": 48 if channel in CAMERAS else 0,
            "height": 32 if channel in CAMERAS else 0,
        }
        pose = {"token": f"e-{number}", "timestamp": us, "rotation": [1.0, 0.0, 0.0, 0.0]}
        tables["sample_data"].append(row)
        tables["ego_pose"].append(pose | {"translation": [float(number), 0.0, 0.0]})
    for name, rows in tables.items():
        (folder / f"{name}.json").write_text(json.dumps(rows))
    return root


def write_infos(folder: Path) -> Path:
    folder.mkdir(parents=True)
    samples: list[dict[str, object]] = []
    for k in range(SAMPLES):
        sweep = US + k * 500_000
        lidar = f"n015__LIDAR_TOP__{sweep}.pcd.bin"
        (folder / lidar).write_bytes(cloud(10))
        images = {}
        for camera, before in CAMERAS.items():
            name = f"n015__{camera}__{sweep - before}.jpg"
            (folder / name).write_bytes(jpeg(k))
            images[camera] = {
                "img_path": name,
                "timestamp": (sweep - before) / 1e6,
                "cam2img": [[50, 0, 24], [0, 51, 16], [0, 0, 1]],
                "cam2ego": EYE,
            }
        box = {
            "bbox_label_3d": 1,
            "bbox_3d": [1.0, 2.0, 3.0, 4.0, 2.0, 1.5, np.pi / 2],
            "velocity": [float("nan")] * 2,
        }
        flat = {"bbox_label_3d": 0, "bbox": [1, 2, 30, 20], "bbox_3d": [0, 0, 9.0, 4.0, 1.5, 2.0, 0.0]}
        samples.append(
            {
                "sample_idx": 100 + k,
                "timestamp": sweep / 1e6,
                "ego2global": EYE,
                "images": images,
                "lidar_points": {"num_pts_feats": 5, "lidar_path": lidar, "lidar2ego": EYE},
                "instances": [box, box],
                "cam_instances": {"CAM_FRONT": [flat]},
            }
        )
    metainfo = {"dataset": "nuscenes", "categories": {"car": 0, "bus": 1}}
    (folder / "infos.json").write_text(json.dumps({"metainfo": metainfo, "data_list": samples}))
    return folder
