"""Small OpenArm datasets."""

from __future__ import annotations

import io
import tarfile
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from twinloop.formats.video.still import encode_still

if TYPE_CHECKING:
    from pathlib import Path

T0 = 1_772_010_251_000_000_000
METADATA = """
version: "0.3.0"
operator: Tester
tasks:
  - prompt: Run test.
    description: A longer one.
episodes:
  - {id: "0", success: false, task_index: 0}
  - {id: "3", success: true, task_index: 0}
equipment:
  id: Test
frequencies:
  action: {arms: {left: 250.0, right: 250.0}, lifter: 250.0}
  obs: {arms: {left: 250.0, right: 250.0}, lifter: 250.0}
  cameras: {head: 30.0}
"""


def write_openarm(root: Path) -> Path:
    """Two episodes: observations of the left arm at 250 Hz, actions at 30, one camera as files and as .tar."""
    root.mkdir(parents=True)
    (root / "metadata.yaml").write_text(METADATA)
    for number, name in enumerate(("0", "3")):
        start = T0 + number * 60_000_000_000
        folder = root / "episodes" / name
        fast, slow = start + np.arange(50) * 4_000_000, start + np.arange(7) * 33_333_333
        arm = np.tile(np.arange(50)[:, None], (1, 8)).astype(np.float32)
        _write(folder / "obs/arms/left/state.parquet", fast, qpos=arm, qvel=arm / 10, qtorque=arm / 100)
        _write(folder / "obs/lifter/elevation.parquet", fast, value=arm[:, :1])
        _write(folder / "action/arms/left/qpos.parquet", slow, value=arm[:7])
        _pictures(folder / "cameras", [start + k * 33_000_000 for k in range(4)], packed=bool(number))
    return root


def _write(path: Path, times: np.ndarray, **columns: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = {"timestamp": pa.array(times).cast(pa.timestamp("ns"))}
    for name, values in columns.items():
        table[name] = pa.array(list(values), pa.list_(pa.float32()))
    pq.write_table(pa.table(table), path)


def _pictures(folder: Path, times: list[int], *, packed: bool) -> None:
    images = [encode_still(np.full((16, 24, 3), 40 * k, np.uint8), "jpeg") for k in range(len(times))]
    (folder / "head").mkdir(parents=True) if not packed else folder.mkdir(parents=True)
    if not packed:
        for time, image in zip(times, images, strict=True):
            (folder / "head" / f"{time}.jpeg").write_bytes(image)
        return
    with tarfile.open(folder / "head.tar", "w") as archive:
        for time, image in zip(times, images, strict=True):
            member = tarfile.TarInfo(f"{time}.jpeg")
            member.size = len(image)
            archive.addfile(member, io.BytesIO(image))
