"""One small sparse model, as text and binary."""

from __future__ import annotations

import struct
from pathlib import Path

IMAGES, POINTS = 5, 40
#: Half a turn about y; the camera stands at (k, 0, 5) and looks back at the origin.
QUATERNION = (0.0, 0.0, 1.0, 0.0)


def _images() -> list[tuple[int, tuple[float, ...], int, str]]:
    return [(k + 1, (*QUATERNION, float(k), 0.0, 5.0), 1 + k % 2, f"view {k}.jpg") for k in range(IMAGES)]


def _points() -> list[tuple[int, tuple[float, float, float], tuple[int, int, int], float, int]]:
    return [(k, (k * 0.1, 0.0, 0.5), (k, 10, 200), 0.25, k % 4) for k in range(POINTS)]


def write_text(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "cameras.txt").write_text(
        "# Camera list with one line of data per camera:\n"
        "1 SIMPLE_RADIAL 640 480 500.0 320.0 240.0 -0.1\n"
        "2 OPENCV 800 600 500 510 400 300 -0.1 0.01 0.001 0.002\n"
    )
    lines = ["# Image list"]
    for id, pose, camera, name in _images():
        lines += [f"{id} {' '.join(map(str, pose))} {camera} {name}", "1.5 2.5 3 4.5 5.5 -1" if id % 2 else ""]
    (folder / "images.txt").write_text("\n".join(lines) + "\n")
    lines = ["# 3D point list"]
    for id, xyz, rgb, error, track in _points():
        lines.append(" ".join(map(str, (id, *xyz, *rgb, error, *([1, 0] * track)))))
    (folder / "points3D.txt").write_text("\n".join(lines) + "\n")
    return folder


def write_binary(folder: Path) -> Path:
    folder.mkdir(parents=True)
    cameras = struct.pack("<Q", 2)
    cameras += struct.pack("<iiQQ4d", 1, 2, 640, 480, 500.0, 320.0, 240.0, -0.1)
    cameras += struct.pack("<iiQQ8d", 2, 4, 800, 600, 500, 510, 400, 300, -0.1, 0.01, 0.001, 0.002)
    (folder / "cameras.bin").write_bytes(cameras)
    images = struct.pack("<Q", IMAGES)
    for id, pose, camera, name in _images():
        seen = 2 if id % 2 else 0
        images += struct.pack("<i7di", id, *pose, camera) + name.encode() + b"\0"
        images += struct.pack("<Q", seen) + struct.pack("<ddq", 1.5, 2.5, 3) * seen
    (folder / "images.bin").write_bytes(images)
    points = struct.pack("<Q", POINTS)
    for id, xyz, rgb, error, track in _points():
        points += struct.pack("<Q3d3BdQ", id, *xyz, *rgb, error, track) + struct.pack("<ii", 1, 0) * track
    (folder / "points3D.bin").write_bytes(points)
    return folder
