"""The reader `trajectory`: a file of poses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.errors import UnreadableError, Where
from twinloop.core.recording import Problem
from twinloop.formats.notes import Notes

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from twinloop.core.recording import Recording
    from twinloop.formats.reader import ReadOptions


class TrajectoryReader:
    """Poses over time: see the package's page for the layouts."""

    name = "trajectory"
    title = "Trajectory (TUM, EuRoC, KITTI)"
    keeps = "every pose, times exact to the nanosecond, comments; of EuRoC also velocity and biases"
    loses = "nothing; KITTI has times only where a times file lies beside it"
    extra: str | None = None

    def sniff(self, path: Path, head: bytes) -> bool:  # noqa: ARG002
        """Text whose first rows are poses: unit quaternions or rotation matrices."""
        if not head:
            return False
        from twinloop.formats.trajectories.layouts import layout_of

        return layout_of(head) is not None

    def open(self, path: Path, options: ReadOptions) -> Recording:  # noqa: ARG002
        """Read the first rows and the ends of the times; count the lines.

        Raises:
            UnreadableError: the first rows are no poses.
        """
        from twinloop.formats.gathered import GatheredRecording
        from twinloop.formats.reader import read_head
        from twinloop.formats.table.spaced import SpacedSource, first_rows
        from twinloop.formats.trajectories.layouts import (
            EUROC_COLUMNS,
            KITTI_COLUMNS,
            TUM_COLUMNS,
            Layout,
            layout_of,
        )
        from twinloop.formats.trajectories.poses import FramePoses, TimedPoses

        head = read_head(path)
        layout = layout_of(head)
        if layout is None:
            raise UnreadableError(
                "the first rows are no poses",
                where=str(path),
                expected="time x y z qx qy qz qw, EuRoC's columns, or the twelve numbers of a 3x4 matrix",
            )
        notes = Notes()
        metadata = {"layout": layout.value} | _comments(head)
        if layout is Layout.KITTI:
            rows = SpacedSource(path, KITTI_COLUMNS, notes)
            times = _times_file(path)
            stamps = _stamps(times, rows.rows, notes) if times else None
            used = times if stamps is not None else None
            return GatheredRecording(
                path,
                self.name,
                files=(path, times) if times else (path,),
                sources=[FramePoses(path, rows, stamps, used, notes)],
                metadata=metadata,
                notes=notes,
            )
        width = len((first_rows(head) or [[]])[0])
        columns = TUM_COLUMNS if layout is Layout.TUM else EUROC_COLUMNS[:width]
        poses = TimedPoses(path, layout, SpacedSource(path, columns, notes), notes)
        return GatheredRecording(
            path, self.name, files=(path,), sources=[poses], metadata=metadata, notes=notes
        )


def _times_file(path: Path) -> Path | None:
    """The file of KITTI's times that belongs to a file of poses."""
    places = (
        path.with_name(f"{path.stem}_times.txt"),
        path.with_name("times.txt"),
        path.parent.parent / "sequences" / path.stem / "times.txt",
    )
    return next((place for place in places if place.is_file()), None)


def _stamps(times: Path, poses: int | None, notes: Notes) -> NDArray[np.int64] | None:
    """The times (N,) int64 ns of as many poses; None, with a note, where they do not fit."""
    import numpy as np

    from twinloop.formats.table.spaced import SpacedSource
    from twinloop.formats.time_column import to_ns

    try:
        runs = [
            to_ns(rows.column("time"), "s")
            for rows, _ in SpacedSource(times, ("time",), notes).batches([], ["time"])
        ]
    except UnreadableError:
        runs = []
    stamps = np.concatenate([ns for ns, _ in runs]) if runs else np.empty(0, np.int64)
    if len(stamps) != poses or not all(valid.all() for _, valid in runs):
        notes.add(
            Problem.COUNT,
            f"{times.name} has {len(stamps)} times for {poses} poses: they are left without times",
            Where(file=str(times)),
        )
        return None
    return stamps


def _comments(head: bytes) -> dict[str, str]:
    lines = head.decode("utf-8", "replace").splitlines()
    said = [line.lstrip("# ").strip() for line in lines if line.startswith("#")]
    return {f"comment/{number}": line for number, line in enumerate(said) if line}


READER = TrajectoryReader()
