"""The files of the frames, and their poses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.core.calibration import CameraCalibration, CameraModel
from twinloop.core.errors import UnreadableError, Where
from twinloop.core.kinds import Kind, Role
from twinloop.core.recording import Problem
from twinloop.core.se3 import SE3
from twinloop.core.stream import Stream
from twinloop.formats.arrow_columns import constant, vectors
from twinloop.formats.calibrations.values import intrinsics_of, pose_of_matrix

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from twinloop.core.stream import Payload
    from twinloop.formats.notes import Notes

_FRAME = re.compile(r"frame-(\d{1,12})\.(color\.(?:png|jpg)|depth\.png|pose\.txt)")
_MOST = 1_000_000
_BATCH_FILES = 4096
_POSE_BYTES = 4096


def frame_files(folder: Path) -> dict[str, list[tuple[int, Path]]]:
    """``color``, ``depth``, ``pose`` -> numbers and files, in order."""
    found: dict[str, list[tuple[int, Path]]] = {}
    try:
        for number, path in enumerate(folder.iterdir()):
            if number >= _MOST:
                break
            if match := _FRAME.fullmatch(path.name):
                found.setdefault(match[2].split(".")[0], []).append((int(match[1]), path))
    except OSError:
        return {}
    return {name: sorted(files) for name, files in sorted(found.items())}


class FramePoseFiles:
    """Poses of the camera, a file each."""

    def __init__(self, files: Sequence[tuple[int, Path]], notes: Notes) -> None:
        self._files, self._notes = files, notes
        self.stream = Stream(
            name="pose",
            kind=Kind.POSE,
            role=Role.OBSERVATION,
            count=len(files),
            timeline="stamp_ns",
            type_name="4x4 matrix",
            encoding="text",
            attributes={"child_frame_id": "camera"},
        )

    def batches(self, payload: bool) -> Iterator[tuple[pa.RecordBatch, Payload | None]]:  # noqa: ARG002
        for first in range(0, len(self._files), _BATCH_FILES):
            read = [(number, self._pose(file)) for number, file in self._files[first : first + _BATCH_FILES]]
            poses = [(number, pose) for number, pose in read if pose is not None]
            if not poses:
                continue
            yield (
                pa.RecordBatch.from_pydict(
                    {
                        "seq": pa.array([number for number, _ in poses], pa.int64()),
                        "frame_id": constant("world", len(poses)),
                        "position": vectors([pose.translation[0] for _, pose in poses]),
                        "orientation": vectors([pose.rotation[0] for _, pose in poses]),
                    }
                ),
                None,
            )

    def _pose(self, file: Path) -> SE3 | None:
        where = Where(file=str(file), stream=self.stream.name)
        try:
            with file.open("rb") as opened:
                return pose_of_matrix(opened.read(_POSE_BYTES).decode("ascii", "replace").split())
        except OSError as error:
            self._notes.add(Problem.MISSING_FILE, f"the pose cannot be read: {error.strerror}", where, 1)
        except UnreadableError as error:
            self._notes.add(Problem.BAD_VALUE, f"it is no pose: {error.what}", where, 1)
        return None


def camera_of(folder: Path, size: tuple[int, int] | None, notes: Notes) -> list[CameraCalibration]:
    """The camera of ``camera-intrinsics.txt``, that of the depth pictures; none without such a file."""
    for file in (folder / "camera-intrinsics.txt", folder.parent / "camera-intrinsics.txt"):
        if not file.is_file():
            continue
        try:
            with file.open("rb") as opened:
                matrix = intrinsics_of(opened.read(_POSE_BYTES).decode("ascii", "replace").split())
        except (OSError, UnreadableError) as error:
            what = error.what if isinstance(error, UnreadableError) else str(error)
            notes.add(Problem.BAD_VALUE, f"the intrinsics do not read: {what}", Where(file=str(file)))
            return []
        width, height = size or (None, None)
        return [CameraCalibration("depth", CameraModel.PINHOLE, width, height, matrix)]
    return []


def numbers_missing(files: Sequence[tuple[int, Path]], all_numbers: Sequence[int]) -> list[int]:
    """The numbers of frames that have other files but none of these."""
    return np.setdiff1d(np.array(all_numbers, np.int64), np.array([number for number, _ in files])).tolist()
