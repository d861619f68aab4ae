"""Small files of each of KITTI's forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scenes import png

FRAMES = 3
LABEL = "Car 0.00 1 -1.57 600.5 150.0 650.0 190.0 1.60 1.80 4.20 2.0 1.8 20.0 1.57"
ELSEWHERE = "DontCare -1 -1 -10 10.0 20.0 30.0 40.0 -1 -1 -1 -1000 -1000 -1000 -10"


def write_tracking(path: Path) -> Path:
    lines = [line for k in range(FRAMES) for line in (f"{k} 0 {LABEL}", f"{k} -1 {ELSEWHERE}")]
    path.write_text("\n".join(lines) + "\n")
    return path


def write_detections(path: Path) -> Path:
    lines = [
        f"{k},2,300.0,160.0,450.0,290.0,{8.5 - k},1.96,1.81,4.75,-4.5,1.84,13.5,-2.1,-1.8"
        for k in range(FRAMES)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def write_frames(folder: Path) -> Path:
    for name in ("image_2", "velodyne", "label_2", "calib"):
        (folder / name).mkdir(parents=True)
    for k in range(FRAMES):
        (folder / f"image_2/{k:06}.png").write_bytes(png(k))
        (folder / f"velodyne/{k:06}.bin").write_bytes(np.arange(40, dtype="<f4").tobytes())
        (folder / f"label_2/{k:06}.txt").write_text(f"{LABEL}\n{ELSEWHERE}\n")
        (folder / f"calib/{k:06}.txt").write_text(
            "P2: 700 0 600 70 0 700 180 0 0 0 1 0\n"
            "R0_rect: 1 0 0 0 1 0 0 0 1\n"
            "Tr_velo_to_cam: 0 -1 0 0 0 0 -1 -0.08 1 0 0 -0.27\n"
            "Tr_imu_to_velo: 1 0 0 -0.8 0 1 0 0.3 0 0 1 -0.8\n"
        )
    return folder


def write_drive(day: Path) -> Path:
    drive = day / "2011_09_26_drive_0001_sync"
    for place in ("image_02", "velodyne_points", "oxts"):
        (drive / place / "data").mkdir(parents=True)
        stamps = [f"2011-09-26 13:02:{25 + k}.964389445" for k in range(FRAMES)]
        (drive / place / "timestamps.txt").write_text("\n".join(stamps) + "\n")
    for k in range(FRAMES):
        (drive / f"image_02/data/{k:010}.png").write_bytes(png(k))
        (drive / f"velodyne_points/data/{k:010}.bin").write_bytes(np.arange(40, dtype="<f4").tobytes())
        values = [49.0, 8.4, 112.8, *([0.1] * 8), 1.0, 2.0, 9.8, *([0.0] * 3), 0.01, 0.02, 0.03, *([0.0] * 10)]
        (drive / f"oxts/data/{k:010}.txt").write_text(" ".join(map(str, values)))
    (day / "calib_cam_to_cam.txt").write_text(
        "S_rect_02: 1242 375\nP_rect_02: 700 0 600 70 0 700 180 0 0 0 1 0\n"
    )
    (day / "calib_velo_to_cam.txt").write_text("R: 0 -1 0 0 0 -1 1 0 0\nT: 0 -0.08 -0.27\n")
    return drive
