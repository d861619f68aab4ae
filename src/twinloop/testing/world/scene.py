"""Images of the arm at work, as a fixed scene camera and a camera on the wrist see them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from twinloop.testing.world.camera import Pinhole, View, look_at
from twinloop.testing.world.motion import CUBE_M, Motion
from twinloop.testing.world.raster import Canvas

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from twinloop.testing.world.arm import ArmPose

#: Towards the light, world frame.
_LIGHT = np.array([0.35, -0.45, 0.82]) / np.linalg.norm([0.35, -0.45, 0.82])
_FAR_M = 10.0
_TEXELS_PER_M = 320
_TABLE_LOW = np.array([-0.5, -0.75])
_TABLE_SIZE = np.array([1.4, 1.5])

_WHITE = np.array([222, 224, 228], np.float32)
_DARK = np.array([62, 66, 74], np.float32)
_ORANGE = np.array([238, 138, 40], np.float32)
_RED = np.array([206, 44, 48], np.float32)
_WALL = np.array([150, 158, 166], np.float32)

_SIGNS = np.array([[i & 1, i >> 1 & 1, i >> 2 & 1] for i in range(8)]) * 2.0 - 1.0


class SceneCamera:
    """A camera of the little world.

    Args:
        mounted_on: ``scene`` (fixed, sees the whole arm) or ``wrist`` (on the hand, sees the fingers).
    """

    def __init__(self, motion: Motion, mounted_on: str, width: int, height: int, seed: int = 0) -> None:
        self.motion = motion
        self.on_wrist = mounted_on == "wrist"
        self.pinhole = Pinhole(width, height, width * (0.75 if self.on_wrist else 1.0))
        self._rng = np.random.default_rng([seed, 2, self.on_wrist])

    def view(self, times_s: NDArray[np.float64]) -> View:
        """Camera poses at times (N,); one pose for a fixed camera."""
        if not self.on_wrist:
            return look_at(np.array([0.95, -0.62, 0.66]), np.array([0.16, 0.0, 0.12]))
        arm = self.motion.arm(times_s)
        x, y, z = (arm.hand[:, :, i] for i in range(3))
        tilt = 0.42
        forward = np.cos(tilt) * x - np.sin(tilt) * z
        down = -np.sin(tilt) * x - np.cos(tilt) * z
        position = arm.wrist + 0.085 * z - 0.01 * x
        return View(np.stack([-y, down, forward], axis=2), position)

    def images(self, times_s: NDArray[np.float64]) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.float32]]]:
        """For each time (N,) the image (H, W, 3) uint8 RGB and its depth (H, W) float32 [m]."""
        for start in range(0, len(times_s), 64):
            yield from self._images(times_s[start : start + 64])

    def _images(self, times_s: NDArray[np.float64]) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.float32]]]:
        view = self.view(times_s)
        arm, cube = self.motion.arm(times_s), self.motion.cube(times_s)
        parts = _capsules(arm)
        count = len(times_s)
        ends = np.stack([np.stack(part[0], axis=1) for part in parts], axis=1)  # (N, P, 2, 3)
        corners = cube.position[:, None] + np.einsum("nij,cj->nci", cube.rotation, _SIGNS * CUBE_M / 2)
        ends_cam = view.to_camera(ends.reshape(count, -1, 3)).reshape(ends.shape)
        fallen = _on_table(ends.reshape(count, -1, 3))
        fallen_cam = view.to_camera(fallen).reshape(ends.shape)
        under_cube = view.to_camera(_on_table(corners[:, [4, 7]]))
        corners_cam = view.to_camera(corners)
        light = np.broadcast_to(_LIGHT @ view.rotation, (count, 3))
        for i in range(count):
            colour, depth = self._background(view, i)
            canvas = Canvas(colour, depth, self.pinhole)
            mask = np.ones_like(depth)
            for part, shade_ends in zip(parts, fallen_cam[i], strict=True):
                canvas.shadow(shade_ends, max(part[1]), mask)
            canvas.shadow(under_cube[i], CUBE_M * 0.45, mask)
            canvas.colour *= mask[..., None]
            canvas.box(corners_cam[i], _RED, light[i])
            for part, part_ends in zip(parts, ends_cam[i], strict=True):
                canvas.capsule(part_ends, part[1], part[2], light[i])
            yield self._finish(canvas.colour, times_s[i]), canvas.depth

    def _background(self, view: View, index: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The table and the wall: colour and depth, to be drawn over."""
        if not self.on_wrist:
            colour, depth = self._fixed_background
            return colour.copy(), depth.copy()
        return self._table_seen(view.rotation[index], view.position[index])

    @cached_property
    def _fixed_background(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        view = self.view(np.zeros(1))
        return self._table_seen(view.rotation[0], view.position[0])

    def _table_seen(
        self, rotation: NDArray[np.float64], position: NDArray[np.float64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        cx, cy = self.pinhole.centre
        x = ((np.arange(self.pinhole.width) - cx) / self.pinhole.focal_px).astype(np.float32)[None]
        y = ((np.arange(self.pinhole.height) - cy) / self.pinhole.focal_px).astype(np.float32)[:, None]
        rx, ry, rz = rotation.astype(np.float32)
        falls = rz[0] * x + rz[1] * y + rz[2]
        depth = np.where(falls < -1e-3, np.float32(-position[2]) / np.minimum(falls, -1e-3), np.float32(_FAR_M))
        u = np.float32(position[0] - _TABLE_LOW[0]) + depth * (rx[0] * x + rx[1] * y + rx[2])
        v = np.float32(position[1] - _TABLE_LOW[1]) + depth * (ry[0] * x + ry[1] * y + ry[2])
        i, j = (u * _TEXELS_PER_M).astype(np.int32), (v * _TEXELS_PER_M).astype(np.int32)
        rows, columns = self._texture.shape[:2]
        on_table = (i >= 0) & (i < rows) & (j >= 0) & (j < columns) & (depth < _FAR_M)
        texel = np.where(on_table, i * columns + j, rows * columns)
        return self._texels[texel], np.where(on_table, depth, np.float32(_FAR_M))

    @cached_property
    def _texture(self) -> NDArray[np.float32]:
        """The table top: wood grain, a grid of 10 cm, two pads."""
        rows, columns = (_TABLE_SIZE * _TEXELS_PER_M).astype(int)
        x = np.arange(rows)[:, None] / _TEXELS_PER_M + _TABLE_LOW[0]
        y = np.arange(columns)[None] / _TEXELS_PER_M + _TABLE_LOW[1]
        rng = np.random.default_rng(7)
        streaks = np.cumsum(rng.normal(0, 1, columns))
        streaks = (streaks - np.convolve(streaks, np.ones(31) / 31, "same")) * 2.2
        wave = 4 * np.sin(9 * x + 3 * np.sin(4 * y)) + 3 * np.sin(31 * x + 11 * y)
        tone = 176 + wave + streaks[None] + rng.normal(0, 2, (rows, columns))
        top = tone[..., None] * np.array([1.0, 0.86, 0.68])
        lines = (np.abs((x + 0.05) % 0.1 - 0.05) < 0.0018) | (np.abs((y + 0.05) % 0.1 - 0.05) < 0.0018)
        top[lines] *= 0.86
        for side, tint in ((1, (110, 160, 200)), (-1, (150, 190, 130))):
            ring = np.hypot(x - 0.2, y - side * 0.22)
            top[(ring < 0.1) & (ring > 0.092)] = tint
        return np.asarray(top, np.float32)

    @cached_property
    def _texels(self) -> NDArray[np.float32]:
        return np.concatenate([self._texture.reshape(-1, 3), _WALL[None]])

    @cached_property
    def _grain(self) -> NDArray[np.float32]:
        """Sensor noise, larger than the image: every image takes another cut of it."""
        shape = (self.pinhole.height + 64, self.pinhole.width + 64, 1)
        return np.asarray(self._rng.normal(0.5, 2.0, shape), np.float32)

    def _finish(self, colour: NDArray[np.float32], time_s: float) -> NDArray[np.uint8]:
        tick = round(time_s * 10_000)
        down, right = tick * 7919 % 64, tick * 104_729 % 61
        height, width = colour.shape[:2]
        colour += self._grain[down : down + height, right : right + width]
        return np.clip(colour, 0, 255, out=colour).astype(np.uint8)


_Capsule = tuple["tuple[NDArray[np.float64], NDArray[np.float64]]", tuple[float, float], "NDArray[np.float32]"]


def _capsules(arm: ArmPose) -> list[_Capsule]:
    """The arm as capsules: ends (N, 3) each, radii [m], colour."""
    side = arm.hand[:, :, 1] * (arm.opening[:, None] + 0.008)
    yaw_axis = np.cross(arm.shoulder - arm.elbow, [0.0, 0.0, 1.0])
    yaw_axis /= np.linalg.norm(yaw_axis, axis=1, keepdims=True)
    collar = arm.base + np.array([0, 0, 0.07])
    return [
        ((arm.base, collar), (0.075, 0.06), _DARK),
        ((collar, arm.shoulder), (0.05, 0.045), _WHITE),
        ((arm.shoulder - 0.045 * yaw_axis, arm.shoulder + 0.045 * yaw_axis), (0.036, 0.036), _DARK),
        ((arm.shoulder, arm.elbow), (0.036, 0.03), _ORANGE),
        ((arm.elbow - 0.035 * yaw_axis, arm.elbow + 0.035 * yaw_axis), (0.03, 0.03), _DARK),
        ((arm.elbow, arm.wrist), (0.028, 0.023), _WHITE),
        ((arm.wrist, arm.palm), (0.025, 0.022), _DARK),
        ((arm.palm - side, arm.palm + side), (0.012, 0.012), _DARK),
        ((arm.palm + side, arm.tip + side), (0.010, 0.006), _ORANGE),
        ((arm.palm - side, arm.tip - side), (0.010, 0.006), _ORANGE),
    ]


def _on_table(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where the light casts world points (..., 3) on the table."""
    return np.asarray(points - points[..., 2:] * (_LIGHT / _LIGHT[2]))
