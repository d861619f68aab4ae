"""Small files of poses in each layout."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

ROWS = 60
START_NS = 1_403_636_579_763_555_584


def motion() -> tuple[np.ndarray, Rotation]:
    """Positions (N, 3) and orientations (N)."""
    angle = np.linspace(0, 2, ROWS)
    return np.stack([np.cos(angle), np.sin(angle), angle], axis=1), Rotation.from_rotvec(
        np.outer(angle, [0, 0, 1])
    )


def write_tum(path: Path) -> Path:
    position, orientation = motion()
    lines = ["# timestamp tx ty tz qx qy qz qw"]
    for k, (xyz, xyzw) in enumerate(zip(position, orientation.as_quat(), strict=True)):
        lines.append(
            f"1305031098.{665900123 + k * 1_000_003:09d} " + " ".join(f"{v:.6f}" for v in (*xyz, *xyzw))
        )
    path.write_text("\n".join(lines) + "\n")
    return path


def write_euroc(path: Path) -> Path:
    position, orientation = motion()
    axes = [
        *(f"p_RS_R_{a} [m]" for a in "xyz"),
        *(f"q_RS_{a} []" for a in "wxyz"),
        *(f"v_RS_R_{a} [m s^-1]" for a in "xyz"),
        *(f"b_w_RS_S_{a} [rad s^-1]" for a in "xyz"),
        *(f"b_a_RS_S_{a} [m s^-2]" for a in "xyz"),
    ]
    lines = [",".join(["#timestamp", *axes])]
    for k, (xyz, xyzw) in enumerate(zip(position, orientation.as_quat(), strict=True)):
        values = [*xyz, xyzw[3], *xyzw[:3], *([0.5] * 3), *([0.01] * 3), *([0.2] * 3)]
        lines.append(f"{START_NS + k * 5_000_000}," + ",".join(f"{v:.6f}" for v in values))
    path.write_text("\n".join(lines) + "\n")
    return path


def write_kitti(path: Path, *, times: bool) -> Path:
    position, orientation = motion()
    matrices = np.concatenate([orientation.as_matrix(), position[:, :, None]], axis=2).reshape(-1, 12)
    path.write_text("\n".join(" ".join(f"{v:.9e}" for v in row) for row in matrices) + "\n")
    if times:
        path.with_name("times.txt").write_text("\n".join(f"{k * 0.1037:e}" for k in range(ROWS)) + "\n")
    return path
