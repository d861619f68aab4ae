"""Small Zarr stores in the layout of diffusion policy and UMI."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import numpy as np
import zarr


def write_store(
    path: Path, lengths: tuple[int, ...] = (5, 9, 6), *, version: int = 2, timestamps: bool = False
) -> Path:
    """Row k of episode e has gripper position (e, k, 0), action (k, 0...) and picture k."""
    rows = sum(lengths)
    episode = np.repeat(np.arange(len(lengths)), lengths)
    k = np.concatenate([np.arange(n) for n in lengths])
    group = zarr.open_group(path, mode="w", zarr_format=version)
    images = np.zeros((rows, 24, 32, 3), np.uint8)
    images[..., 0] = k[:, None, None]
    action = np.zeros((rows, 7), np.float32)
    action[:, 0] = k
    position = np.stack([episode, k, k * 0], 1).astype(np.float32)
    data = {
        "camera0_rgb": (images, (4, 24, 32, 3)),
        "action": (action, (8, 7)),
        "robot0_eef_pos": (position, (8, 3)),
        "robot0_eef_rot_axis_angle": (position * 0.1, (8, 3)),
        "robot0_gripper_width": (np.full((rows, 1), 0.08, np.float32), (8, 1)),
    }
    if timestamps:
        data["timestamp"] = (1_700_000_000.0 + episode * 100 + k / 10, (8,))
    for name, (values, chunks) in data.items():
        group.create_array(f"data/{name}", data=values, chunks=chunks)
    group.create_array("meta/episode_ends", data=np.cumsum(lengths).astype(np.int64))
    return path


def zipped(store: Path, path: Path) -> Path:
    """The store as a .zip of stored entries; the folder goes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for file in sorted(store.rglob("*")):
            if file.is_file():
                archive.write(file, file.relative_to(store).as_posix())
    shutil.rmtree(store)
    return path
