"""The frame tree: who is attached to whom, where, and from when on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import TwinloopError, UnknownNameError
from twinloop.core.se3 import SE3

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class FrameError(TwinloopError):
    """Two frames are not connected, a time is outside what is known, or an edge would break the tree."""

    exit_code = 3


@dataclass(slots=True)
class _Edge:
    """`T_parent_child`: static values valid from their dates on, or samples between which to interpolate."""

    parent: str
    times_ns: NDArray[np.int64]
    poses: SE3
    static: bool


@dataclass(slots=True)
class FrameTree:
    """A time-varying tree of coordinate frames. A frame has one parent; the tree has no loops."""

    _edges: dict[str, _Edge] = field(default_factory=dict)

    def add_static(self, parent: str, child: str, pose: SE3, valid_from_ns: int | None = None) -> None:
        """Attach `child` at `T_parent_child`, from `valid_from_ns` on (None: always).

        A later date adds a value; the same date replaces it. Raises FrameError for a second parent or a loop.
        """
        date = np.iinfo(np.int64).min if valid_from_ns is None else valid_from_ns
        self._check(parent, child)
        known = self._edges.get(child)
        if known is None or not known.static:
            self._edges[child] = _Edge(parent, np.array([date], np.int64), pose[:1], True)
            return
        keep = known.times_ns != date
        times = np.append(known.times_ns[keep], date)
        order = np.argsort(times)
        poses = SE3(
            np.vstack([known.poses.rotation[keep], pose.rotation[:1]])[order],
            np.vstack([known.poses.translation[keep], pose.translation[:1]])[order],
        )
        self._edges[child] = _Edge(parent, times[order], poses, True)

    def add_moving(self, parent: str, child: str, times_ns: ArrayLike, poses: SE3) -> None:
        """Attach `child` with samples `poses` (N) of `T_parent_child` at `times_ns` (N,) int64, any order."""
        times = np.asarray(times_ns, np.int64)
        if len(times) != len(poses) or not len(times):
            raise FrameError(f"frame {child!r} has {len(times)} times and {len(poses)} poses")
        self._check(parent, child)
        order = np.argsort(times, kind="stable")
        self._edges[child] = _Edge(parent, times[order], poses[order], False)

    def lookup(self, target: str, source: str, times_ns: ArrayLike) -> SE3:
        """`T_target_source` at each of `times_ns` (N,) int64.

        Between samples of a moving edge: slerp and linear translation. Outside them: FrameError, since
        a pose there would be invented. Static edges hold from their date on.

        Raises:
            UnknownNameError: a frame is not in the tree.
            FrameError: the frames are not connected, or a time is outside an edge's samples.
        """
        times = np.atleast_1d(np.asarray(times_ns, np.int64))
        up, down = self._chain(source), self._chain(target)
        common = next((frame for frame in up if frame in down), None)
        if common is None:
            raise FrameError(
                f"the frames {target!r} and {source!r} are not connected",
                expected=f"one tree; their roots are {down[-1]!r} and {up[-1]!r}",
            )
        return self._to_ancestor(target, common, times).inverse() @ self._to_ancestor(source, common, times)

    @property
    def frames(self) -> set[str]:
        """The names of all frames."""
        return {*self._edges, *(edge.parent for edge in self._edges.values())}

    def parent(self, frame: str) -> str | None:
        """The frame that `frame` hangs on; None for a root."""
        edge = self._edges.get(frame)
        return edge.parent if edge else None

    def _check(self, parent: str, child: str) -> None:
        known = self._edges.get(child)
        if known is not None and known.parent != parent:
            raise FrameError(f"frame {child!r} would have two parents, {known.parent!r} and {parent!r}")
        if child in (self._chain(parent) if parent in self.frames else [parent]):
            raise FrameError(f"attaching {child!r} to {parent!r} closes a loop")

    def _chain(self, frame: str) -> list[str]:
        if frame not in self.frames:
            raise UnknownNameError("frame", frame, self.frames)
        chain = [frame]
        while (edge := self._edges.get(chain[-1])) is not None:
            chain.append(edge.parent)
        return chain

    def _to_ancestor(self, frame: str, ancestor: str, times: NDArray[np.int64]) -> SE3:
        pose = SE3.identity()[np.zeros(len(times), np.int64)]
        while frame != ancestor:
            edge = self._edges[frame]
            pose = _pose_at(edge, frame, times) @ pose
            frame = edge.parent
        return pose


def _pose_at(edge: _Edge, child: str, times: NDArray[np.int64]) -> SE3:
    first, last = int(edge.times_ns[0]), int(edge.times_ns[-1])
    outside = times < first if edge.static else (times < first) | (times > last)
    if outside.any():
        bad = int(times[np.argmax(outside)])
        raise FrameError(
            f"the pose of {child!r} in {edge.parent!r} is not known at {bad} ns",
            expected=f"a time from {first} ns on" if edge.static else f"a time from {first} to {last} ns",
        )
    if edge.static:
        return edge.poses[np.searchsorted(edge.times_ns, times, "right") - 1]
    if len(edge.times_ns) == 1:
        return edge.poses[np.zeros(len(times), np.int64)]
    left = np.clip(np.searchsorted(edge.times_ns, times, "right") - 1, 0, len(edge.times_ns) - 2)
    span = np.maximum(edge.times_ns[left + 1] - edge.times_ns[left], 1)
    fraction = np.minimum((times - edge.times_ns[left]) / span, 1.0)
    return edge.poses[left].interpolate(edge.poses[left + 1], fraction)
