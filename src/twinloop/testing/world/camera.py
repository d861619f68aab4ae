"""A pinhole camera: projection for many samples at once, and its calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Pinhole:
    """Intrinsics without distortion: size [px] and focal length [px]; the centre of the image is the axis."""

    width: int
    height: int
    focal_px: float

    @property
    def centre(self) -> tuple[float, float]:
        """The principal point [px]."""
        return (self.width - 1) / 2, (self.height - 1) / 2

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The camera matrix (3, 3)."""
        cx, cy = self.centre
        return np.array([[self.focal_px, 0, cx], [0, self.focal_px, cy], [0, 0, 1.0]])

    def project(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Points (..., 3) of the camera frame as (..., 3): column and row [px], depth [m]."""
        depth = np.maximum(points[..., 2:], 1e-6)
        return np.concatenate([points[..., :2] / depth * self.focal_px + self.centre, points[..., 2:]], axis=-1)


@dataclass(frozen=True, slots=True)
class View:
    """Camera poses `T_world_cam` for N samples: `rotation` (N, 3, 3), `position` (N, 3) [m]; OpenCV's axes."""

    rotation: NDArray[np.float64]
    position: NDArray[np.float64]

    def to_camera(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """World points (N, P, 3) in the camera frame of their sample."""
        return np.asarray((points - self.position[:, None]) @ self.rotation)


def look_at(position: NDArray[np.float64], target: NDArray[np.float64]) -> View:
    """A fixed camera at (3,) that looks at (3,), its image upright."""
    forward = (target - position) / np.linalg.norm(target - position)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    return View(np.stack([right, np.cross(forward, right), forward], axis=1)[None], position[None])
