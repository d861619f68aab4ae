"""Rigid transforms in batches. `T_a_b` takes points of frame b to frame a; quaternions are wxyz."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy.spatial.transform import Rotation


def from_xyzw(quaternion: ArrayLike) -> NDArray[np.float64]:
    """Quaternions (..., 4) in ROS's and scipy's order xyzw, as wxyz."""
    return np.roll(np.asarray(quaternion, np.float64), 1, axis=-1)


def to_xyzw(quaternion: ArrayLike) -> NDArray[np.float64]:
    """Quaternions (..., 4) wxyz, in ROS's and scipy's order xyzw."""
    return np.roll(np.asarray(quaternion, np.float64), -1, axis=-1)


@dataclass(frozen=True, slots=True)
class SE3:
    """Rigid transforms: `rotation` (N, 4) unit quaternions wxyz, `translation` (N, 3) [m].

    All operations broadcast over N, so one transform combines with many. Quaternions are normalised on
    construction; a zero or non-finite one raises UsageError with its row.
    """

    rotation: NDArray[np.float64]
    translation: NDArray[np.float64]

    def __post_init__(self) -> None:
        rotation = np.atleast_2d(np.asarray(self.rotation, np.float64))
        translation = np.atleast_2d(np.asarray(self.translation, np.float64))
        if rotation.shape[-1] != 4 or translation.shape[-1] != 3:
            raise UsageError(
                f"a transform of rotation {rotation.shape} and translation {translation.shape}",
                expected="(N, 4) wxyz and (N, 3)",
            )
        norm = np.linalg.norm(rotation, axis=-1, keepdims=True)
        if not (bad := np.isfinite(norm) & (norm > 0)).all():
            raise UsageError(
                f"the quaternion of row {int(np.argmin(bad))} has no direction: {rotation[np.argmin(bad)]}"
            )
        object.__setattr__(self, "rotation", rotation / norm)
        object.__setattr__(self, "translation", translation)

    @classmethod
    def identity(cls) -> SE3:
        """The transform that moves nothing."""
        return cls(np.array([1.0, 0, 0, 0]), np.zeros(3))

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> SE3:
        """From homogeneous matrices (4, 4) or (N, 4, 4)."""
        matrices = np.asarray(matrix, np.float64).reshape(-1, 4, 4)
        rotation = _rotations().from_matrix(matrices[:, :3, :3]).as_quat(scalar_first=True)
        return cls(rotation, matrices[:, :3, 3])

    @classmethod
    def exp(cls, twist: ArrayLike) -> SE3:
        """Exponential of twists (N, 6) = [v, w]: linear part first (Sola et al., arXiv:1812.01537, eq. 172)."""
        v, w = np.split(np.atleast_2d(np.asarray(twist, np.float64)), 2, axis=-1)
        return cls(
            _rotations().from_rotvec(w).as_quat(scalar_first=True),
            np.einsum("nij,nj->ni", _left_jacobian(w), v),
        )

    def log(self) -> NDArray[np.float64]:
        """Twists (N, 6) = [v, w] whose exponential this is; rotation angles lie in [0, pi]."""
        w = self._scipy.as_rotvec()
        w, t = np.broadcast_arrays(w, self.translation)
        return np.concatenate([np.linalg.solve(_left_jacobian(w), t[..., None])[..., 0], w], axis=-1)

    def matrix(self) -> NDArray[np.float64]:
        """Homogeneous matrices (N, 4, 4)."""
        rotation = self._scipy.as_matrix()
        n = max(len(rotation), len(self.translation))
        matrices = np.tile(np.eye(4), (n, 1, 1))
        matrices[:, :3, :3] = rotation
        matrices[:, :3, 3] = self.translation
        return matrices

    def inverse(self) -> SE3:
        """`T_b_a` of `T_a_b`."""
        inverse = self._scipy.inv()
        return SE3(inverse.as_quat(scalar_first=True), -inverse.apply(self.translation))

    def __matmul__(self, other: SE3) -> SE3:
        """`T_a_b @ T_b_c` is `T_a_c`."""
        return SE3(
            (self._scipy * other._scipy).as_quat(scalar_first=True),
            self._scipy.apply(other.translation) + self.translation,
        )

    def apply(self, points: ArrayLike) -> NDArray[np.float64]:
        """Points (N, 3) of frame b, in frame a."""
        return self._scipy.apply(np.asarray(points, np.float64)) + self.translation

    def interpolate(self, other: SE3, fraction: ArrayLike) -> SE3:
        """Between self (0) and other (1): slerp along the shorter arc, translation linear. `fraction` (N,)."""
        fraction = np.asarray(fraction, np.float64).reshape(-1, 1)
        step = (self._scipy.inv() * other._scipy).as_rotvec()
        rotation = self._scipy * _rotations().from_rotvec(step * fraction)
        return SE3(
            rotation.as_quat(scalar_first=True),
            self.translation + fraction * (other.translation - self.translation),
        )

    def __getitem__(self, rows: int | slice | NDArray[np.int64]) -> SE3:
        return SE3(self.rotation[rows], self.translation[rows])

    def __len__(self) -> int:
        return max(len(self.rotation), len(self.translation))

    @property
    def _scipy(self) -> Rotation:
        return _rotations().from_quat(self.rotation, scalar_first=True)


def _rotations() -> type[Rotation]:
    """scipy's class, imported when first used: it takes a quarter of a second, and `from_xyzw` has no need."""
    from scipy.spatial.transform import Rotation

    return Rotation


def _left_jacobian(w: NDArray[np.float64]) -> NDArray[np.float64]:
    """Left Jacobian (N, 3, 3) of SO(3) at rotation vectors (N, 3) (Sola et al., eq. 145)."""
    angle2 = np.sum(w * w, axis=-1)[:, None, None]
    angle = np.sqrt(angle2)
    small = angle < 1e-4
    safe = np.where(small, 1.0, angle)
    a = np.where(small, 0.5 - angle2 / 24, (1 - np.cos(safe)) / safe**2)
    b = np.where(small, 1 / 6 - angle2 / 120, (safe - np.sin(safe)) / safe**3)
    k = np.zeros((len(w), 3, 3))
    k[:, 0, 1], k[:, 0, 2], k[:, 1, 2] = -w[:, 2], w[:, 1], -w[:, 0]
    k -= np.swapaxes(k, 1, 2)
    return np.eye(3) + a * k + b * (k @ k)
