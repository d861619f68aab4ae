"""A folder of object frames: pictures, sweeps and labels of the same numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.core.errors import UnreadableError, Where
from twinloop.core.kinds import Kind, Role
from twinloop.core.recording import Problem
from twinloop.core.stream import Stream
from twinloop.formats.file_times import FileTimes
from twinloop.formats.image_files import ImageFiles
from twinloop.formats.kitti.boxes import OBJECT, TYPES, box_columns
from twinloop.formats.kitti.calib import frame_calibration, read_values
from twinloop.formats.point_files import PointFiles, load_floats

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from twinloop.core.calibration import CalibrationItem
    from twinloop.core.stream import Payload
    from twinloop.formats.gathered import Source
    from twinloop.formats.notes import Notes

PICTURES = ("image_0", "image_1", "image_2", "image_3")
SWEEPS = "velodyne"
_LABELS = "label_2"
_BATCH_FILES = 256
_MOST_BYTES = 1 << 20
#: Digits of a frame's number.
_DIGITS = 18

load_velodyne = load_floats("x", "y", "z", "intensity")


def frame_sources(path: Path, notes: Notes) -> Iterator[Source]:
    """The streams of a folder of object frames."""
    for name in PICTURES:
        files, seq = numbered(path / name, (".png", ".jpg"))
        if files:
            yield ImageFiles(name, files, FileTimes(None, seq), notes, frame_id=name)
    for name in (SWEEPS, "velodyne_reduced"):
        files, seq = numbered(path / name, (".bin",))
        if files:
            yield PointFiles(name, files, FileTimes(None, seq), load_velodyne, notes, frame_id=SWEEPS)
    files, seq = numbered(path / _LABELS, (".txt",))
    if files:
        yield FrameLabels(files, seq, notes)


def frame_items(path: Path, notes: Notes) -> list[CalibrationItem]:
    """The calibration of the first frame, which stands for all; what does not read is noted."""
    files, _ = numbered(path / "calib", (".txt",))
    try:
        return list(frame_calibration(read_values(files[0]))) if files else []
    except UnreadableError as error:
        notes.add(Problem.BAD_VALUE, f"the calibration does not read: {error.what}", Where(file=str(files[0])))
        return []


def numbered(folder: Path, suffixes: tuple[str, ...]) -> tuple[list[Path], np.ndarray]:
    """The files of a folder that are named by numbers, in their order, and these (N,)."""
    try:
        found = [
            (int(file.stem), file)
            for file in folder.iterdir()
            if file.suffix.lower() in suffixes and file.stem.isdecimal() and len(file.stem) <= _DIGITS
        ]
    except OSError:
        return [], np.empty(0, np.int64)
    found.sort()
    return [file for _, file in found], np.array([number for number, _ in found], np.int64)


class FrameLabels:
    """Labels in a file a frame; frames in which nothing is labelled have no rows."""

    def __init__(self, files: Sequence[Path], seq: np.ndarray, notes: Notes) -> None:
        self._files, self._seq, self._notes = files, seq, notes
        self.stream = Stream(
            name=_LABELS,
            kind=Kind.DETECTIONS,
            role=Role.TRUTH,
            timeline="stamp_ns",
            type_name="KITTI objects",
            encoding="text",
            bytes=sum(file.stat().st_size for file in files if file.is_file()),
            attributes={"frames": str(len(files))},
        )

    def batches(self, payload: bool) -> Iterator[tuple[pa.RecordBatch, Payload | None]]:  # noqa: ARG002
        for first in range(0, len(self._files), _BATCH_FILES):
            rows: list[tuple[int, list[str]]] = []
            for number, file in enumerate(self._files[first : first + _BATCH_FILES], first):
                rows += [(number, words) for words in self._rows_of(file)]
            if not rows:
                continue
            index = np.array([number for number, _ in rows])
            cells = np.array([words[1 : len(OBJECT)] for _, words in rows], np.float64)
            values = dict(zip(OBJECT[1:], cells.T, strict=True))
            types = pa.array([words[0] for _, words in rows], pa.string())
            if any(len(words) > len(OBJECT) for _, words in rows):
                scores = [float(words[-1]) if len(words) > len(OBJECT) else np.nan for _, words in rows]
                values["score"] = np.array(scores)
            yield pa.RecordBatch.from_pydict(box_columns(index, self._seq[index], values, types)), None

    def _rows_of(self, file: Path) -> list[list[str]]:
        """The sound lines of a file; others are noted."""
        where = Where(file=str(file), stream=self.stream.name)
        try:
            with file.open("rb") as opened:
                lines = opened.read(_MOST_BYTES).decode("ascii", "replace").splitlines()
        except OSError as error:
            self._notes.add(Problem.MISSING_FILE, f"the labels cannot be read: {error.strerror}", where, None)
            return []
        rows = [line.split() for line in lines if line.strip()]
        sound = [words for words in rows if is_object(words)]
        if len(sound) < len(rows):
            message = f"{len(rows) - len(sound)} lines are no labels of KITTI"
            self._notes.add(Problem.BAD_VALUE, message, where, len(rows) - len(sound))
        return sound


def is_object(words: Sequence[str]) -> bool:
    """Whether the words of a line are a label: a type and fourteen or, in results, fifteen numbers."""
    if len(words) not in (len(OBJECT), len(OBJECT) + 1) or words[0] not in TYPES:
        return False
    try:
        return bool(np.isfinite([float(word) for word in words[1:]]).all())
    except ValueError:
        return False
