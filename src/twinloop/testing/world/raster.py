"""Drawing shaded shapes into an image with a depth buffer: no loop over pixels, each shape in its own box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from twinloop.testing.world.camera import Pinhole

_NEAR_M = 0.03
_AMBIENT = 0.42
_FACES = ((0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 3, 7, 6), (0, 4, 6, 2), (1, 3, 7, 5))


@dataclass(slots=True)
class Canvas:
    """An image being drawn: `colour` (H, W, 3) float32 in 0 to 255, `depth` (H, W) float32 [m]."""

    colour: NDArray[np.float32]
    depth: NDArray[np.float32]
    pinhole: Pinhole

    def _box(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> tuple[slice, slice] | None:
        """Rows and columns of the image between two corners [px]."""
        left, top = np.maximum(np.floor(low), 0).astype(int)
        right, bottom = np.minimum(np.ceil(high) + 1, [self.pinhole.width, self.pinhole.height]).astype(int)
        return (slice(top, bottom), slice(left, right)) if left < right and top < bottom else None

    def _blend(self, box: tuple[slice, slice], alpha: NDArray[np.float32], lit: NDArray[np.float32]) -> None:
        colour = self.colour[box]
        colour += alpha[..., None] * (lit - colour)

    def capsule(
        self,
        ends: NDArray[np.float64],
        radii: tuple[float, float],
        colour: NDArray[np.float32],
        light: NDArray[np.float64],
    ) -> None:
        """A round-ended cone between points (2, 3) of the camera frame, of radii [m], lit from `light` (3,)."""
        if ends[:, 2].min() < _NEAR_M:
            return
        seen = self.pinhole.project(ends)
        sizes = self.pinhole.focal_px * np.asarray(radii) / ends[:, 2]
        grow = sizes[:, None] + 1
        box = self._box((seen[:, :2] - grow).min(axis=0), (seen[:, :2] + grow).max(axis=0))
        if box is None:
            return
        x, y = _grid(box)
        (u0, v0, z0), (u1, v1, z1) = seen.astype(np.float32)
        du, dv = u1 - u0, v1 - v0
        along = np.clip(((x - u0) * du + (y - v0) * dv) / max(float(du * du + dv * dv), 1e-6), 0, 1)
        size = np.float32(sizes[0]) + along * np.float32(sizes[1] - sizes[0])
        nx, ny = (x - u0 - along * du) / size, (y - v0 - along * dv) / size
        away = nx * nx + ny * ny
        bulge = np.sqrt(np.maximum(1 - away, 0))
        depth = z0 + along * (z1 - z0) - np.float32(max(radii)) * bulge
        alpha = np.clip((1 - np.sqrt(away)) * size + 0.5, 0, 1) * (depth < self.depth[box])
        lx, ly, lz = light.astype(np.float32)
        shade = _AMBIENT + (1 - _AMBIENT) * np.maximum(nx * lx + ny * ly - bulge * lz, 0)
        glint = np.maximum(nx * lx + ny * ly - bulge * lz, 0) ** 24 * 60
        self._blend(box, alpha, shade[..., None] * colour + glint[..., None])
        self.depth[box] = np.where(alpha > 0.5, depth, self.depth[box])

    def box(
        self, corners: NDArray[np.float64], colour: NDArray[np.float32], light: NDArray[np.float64]
    ) -> None:
        """A box by its corners (8, 3) in the camera frame; corner i has the signs of i's bits (z, y, x)."""
        if corners[:, 2].min() < _NEAR_M:
            return
        seen = self.pinhole.project(corners)
        for face in _FACES:
            points = corners[list(face)]
            normal = np.cross(points[1] - points[0], points[2] - points[0])
            normal /= np.linalg.norm(normal)
            if normal @ points[0] < 0:
                self._face(seen[list(face), :2], points[0], normal, colour, light)

    def _face(
        self,
        polygon: NDArray[np.float64],
        point: NDArray[np.float64],
        normal: NDArray[np.float64],
        colour: NDArray[np.float32],
        light: NDArray[np.float64],
    ) -> None:
        """A convex polygon (4, 2) [px] of the plane through `point` with `normal`, which faces the camera."""
        box = self._box(polygon.min(axis=0), polygon.max(axis=0))
        if box is None:
            return
        x, y = _grid(box)
        edges = np.roll(polygon, -1, axis=0) - polygon
        inside = np.full((y.size, x.size), 1e9, np.float32)
        area = np.sum(polygon[:, 0] * np.roll(polygon[:, 1], -1) - polygon[:, 1] * np.roll(polygon[:, 0], -1))
        for corner, edge in zip(polygon, edges * np.sign(area), strict=True):
            length = max(float(np.hypot(*edge)), 1e-6)
            a, b = np.float32(edge[0] / length), np.float32(edge[1] / length)
            inside = np.minimum(inside, (y - np.float32(corner[1])) * a - (x - np.float32(corner[0])) * b)
        cx, cy = self.pinhole.centre
        ray = (
            np.float32(normal[0] / self.pinhole.focal_px) * (x - np.float32(cx))
            + np.float32(normal[1] / self.pinhole.focal_px) * (y - np.float32(cy))
            + np.float32(normal[2])
        )
        depth = np.float32(normal @ point) / np.minimum(ray, -1e-6)
        alpha = np.clip(inside + 0.5, 0, 1) * (depth < self.depth[box])
        shade = np.float32(_AMBIENT + (1 - _AMBIENT) * max(float(normal @ light), 0.0))
        self._blend(box, alpha, shade * colour)
        self.depth[box] = np.where(alpha > 0.5, depth, self.depth[box])

    def shadow(self, ends: NDArray[np.float64], radius: float, mask: NDArray[np.float32]) -> None:
        """Darken `mask` (H, W) where a capsule's shadow lies, between two points (2, 3) of the camera frame."""
        if ends[:, 2].min() < _NEAR_M:
            return
        seen = self.pinhole.project(ends)[:, :2]
        size = np.float32(self.pinhole.focal_px * radius / ends[:, 2].mean())
        box = self._box(seen.min(axis=0) - 2 * size, seen.max(axis=0) + 2 * size)
        if box is None:
            return
        x, y = _grid(box)
        (u0, v0), (u1, v1) = seen.astype(np.float32)
        du, dv = u1 - u0, v1 - v0
        along = np.clip(((x - u0) * du + (y - v0) * dv) / max(float(du * du + dv * dv), 1e-6), 0, 1)
        away = np.hypot(x - u0 - along * du, y - v0 - along * dv) / size
        np.minimum(mask[box], np.clip(0.2 + 0.5 * away, 0.55, 1), out=mask[box])


def _grid(box: tuple[slice, slice]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    rows, columns = box
    x = np.arange(columns.start, columns.stop, dtype=np.float32)[None]
    return x, np.arange(rows.start, rows.stop, dtype=np.float32)[:, None]
