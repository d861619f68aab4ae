"""The rows of a file of poses as columns of kind `pose`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.core.clock import Clock, Epoch
from twinloop.core.errors import Where
from twinloop.core.kinds import Kind, StampSource
from twinloop.core.recording import Problem
from twinloop.core.se3 import SE3, from_xyzw
from twinloop.core.stream import Stream
from twinloop.formats.arrow_columns import constant, numbers, vectors
from twinloop.formats.time_column import epoch_of, to_ns
from twinloop.formats.trajectories.layouts import MATRIX_TOLERANCE, NORM_TOLERANCE, Layout

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.core.stream import Payload
    from twinloop.formats.notes import Notes
    from twinloop.formats.table.spaced import SpacedSource

_UNIT = {Layout.TUM: "s", Layout.EUROC: "ns"}
#: EuRoC's columns beyond the pose: name -> (of its axes, unit).
_MORE = {
    "velocity": (("vx", "vy", "vz"), "m/s"),
    "gyro_bias": (("bwx", "bwy", "bwz"), "rad/s"),
    "accel_bias": (("bax", "bay", "baz"), "m/s2"),
}


class TimedPoses:
    """Poses with their times in the same row: TUM and EuRoC."""

    def __init__(self, file: Path, layout: Layout, rows: SpacedSource, notes: Notes) -> None:
        self._file, self._layout, self._rows, self._notes = file, layout, rows, notes
        self._more = {name: axes for name, (axes, _) in _MORE.items() if set(axes) <= set(rows.columns)}
        self._orientation = ("qw", "qx", "qy", "qz") if layout is Layout.EUROC else ("qx", "qy", "qz", "qw")
        ends = [to_ns(edge, _UNIT[layout]) for edge in rows.edges("time")]
        known = [ns[valid] for ns, valid in ends if valid.any()]
        start_ns = int(min(ns.min() for ns in known)) if known else None
        self.stream = Stream(
            name=file.stem,
            kind=Kind.POSE,
            count=rows.rows,
            start_ns=start_ns,
            end_ns=int(max(ns.max() for ns in known)) if known else None,
            timeline="stamp_ns",
            stamp_source=StampSource.DRIVER,
            stamp_clock=Clock(epoch_of(start_ns or 0)),
            type_name=f"{layout} trajectory",
            encoding="text",
            bytes=file.stat().st_size,
            units={name: unit for name, (_, unit) in _MORE.items() if name in self._more},
        )

    def batches(self, payload: bool) -> Iterator[tuple[pa.RecordBatch, Payload | None]]:  # noqa: ARG002
        wanted = set(self._rows.columns) - {"time"}
        for rows, first in self._rows.batches(wanted, ["time"]):
            stamps, valid = to_ns(rows.column("time"), _UNIT[self._layout])
            if not valid.all():
                self._note(
                    f"{int((~valid).sum())} rows without a time are left out", first, int((~valid).sum())
                )
                rows, stamps = rows.filter(pa.array(valid)), stamps[valid]
            orientation = _matrix(rows, self._orientation)
            if self._layout is Layout.TUM:
                orientation = from_xyzw(orientation)
            off = np.abs(np.linalg.norm(orientation, axis=1) - 1)
            if (bad := ~(off < NORM_TOLERANCE)).any():
                self._note(
                    f"{int(bad.sum())} quaternions are not of unit length; they are kept as they are",
                    first + int(np.argmax(bad)),
                )
            columns = {
                "stamp_ns": pa.array(stamps),
                "frame_id": constant("", len(stamps)),
                "position": vectors(_matrix(rows, ("x", "y", "z"))),
                "orientation": vectors(orientation),
            }
            columns |= {name: vectors(_matrix(rows, axes)) for name, axes in self._more.items()}
            yield pa.RecordBatch.from_pydict(columns), None

    def _note(self, message: str, row: int, lost: int = 0) -> None:
        where = Where(file=str(self._file), stream=self.stream.name, row=row)
        self._notes.add(Problem.BAD_VALUE, message, where, lost)


class FramePoses:
    """Poses of frames 0, 1, 2... as KITTI has them; `stamps` (N,) int64 ns are of another file."""

    def __init__(
        self, file: Path, rows: SpacedSource, stamps: NDArray[np.int64] | None, times: Path | None, notes: Notes
    ) -> None:
        self._file, self._rows, self._stamps, self._notes = file, rows, stamps, notes
        timed = stamps is not None and len(stamps) > 0
        self.stream = Stream(
            name=file.stem,
            kind=Kind.POSE,
            count=rows.rows,
            start_ns=int(stamps.min()) if stamps is not None and timed else None,
            end_ns=int(stamps.max()) if stamps is not None and timed else None,
            timeline="stamp_ns",
            stamp_source=StampSource.DRIVER if timed else StampSource.NONE,
            stamp_clock=Clock(Epoch.EPISODE) if timed else Clock(),
            type_name=f"{Layout.KITTI} trajectory",
            encoding="text",
            bytes=file.stat().st_size,
            attributes={"times": times.name} if times else {},
        )

    def batches(self, payload: bool) -> Iterator[tuple[pa.RecordBatch, Payload | None]]:  # noqa: ARG002
        for rows, first in self._rows.batches(set(self._rows.columns), []):
            matrices = _matrix(rows, self._rows.columns).reshape(-1, 3, 4)
            frames = np.arange(first, first + len(matrices))
            columns = {}
            if self._stamps is not None:
                columns["stamp_ns"] = pa.array(self._stamps[frames])
            columns |= {
                "seq": numbers(frames, pa.int64()),
                "frame_id": constant("", len(frames)),
                "position": vectors(matrices[:, :, 3]),
                "orientation": vectors(self._quaternions(matrices[:, :, :3], first)),
            }
            yield pa.RecordBatch.from_pydict(columns), None

    def _quaternions(self, rotations: NDArray[np.float64], first: int) -> NDArray[np.float64]:
        """Quaternions (N, 4) wxyz of (N, 3, 3); NaN where a matrix is no rotation."""
        off = np.abs(rotations @ rotations.transpose(0, 2, 1) - np.eye(3)).max(axis=(1, 2))
        with np.errstate(invalid="ignore"):
            good = (off < MATRIX_TOLERANCE) & (np.linalg.det(rotations) > 0)
        if not good.all():
            self._notes.add(
                Problem.BAD_VALUE,
                f"{int((~good).sum())} rows hold no rotation; their orientation is NaN",
                Where(file=str(self._file), stream=self.stream.name, row=first + int(np.argmin(good))),
            )
        quaternions = np.full((len(rotations), 4), np.nan)
        if good.any():
            poses = np.tile(np.eye(4), (int(good.sum()), 1, 1))
            poses[:, :3, :3] = rotations[good]
            quaternions[good] = SE3.from_matrix(poses).rotation
        return quaternions


def _matrix(rows: pa.RecordBatch, names: tuple[str, ...]) -> NDArray[np.float64]:
    """Columns of numbers as (N, K); cells that are none become NaN."""
    columns = [rows.column(name).to_numpy(zero_copy_only=False) for name in names]
    return np.stack([np.asarray(column, np.float64) for column in columns], axis=1)
