"""Texts of boxes, frame by frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinloop.core.errors import Where
from twinloop.core.kinds import Kind, Role
from twinloop.core.recording import Problem
from twinloop.core.stream import Stream
from twinloop.formats.kitti.boxes import DETECTION, NUMBERED, TRACKING, TYPES, box_columns
from twinloop.formats.table.dialect import is_text
from twinloop.formats.table.spaced import SpacedSource, first_rows, tidy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from twinloop.core.stream import Payload
    from twinloop.formats.notes import Notes

_LARGEST_M = 60.0
_ANGLES_APART = 0.05


def columns_of(head: bytes) -> tuple[str, ...] | None:
    """The names of the columns of a text that starts with `head`; None where it is none of boxes."""
    if not is_text(head):
        return None
    whole = head if len(head) < 4096 else head[: head.rfind(b"\n") + 1]
    lines = [line.decode("ascii", "replace").split(" ") for line in tidy(whole + b"\n").splitlines()[:8]]
    if not lines:
        return None
    if all(_is_tracked(line) for line in lines):
        width = {len(line) for line in lines}
        return (*TRACKING, "score") if width == {len(TRACKING) + 1} else TRACKING
    return DETECTION if _are_detections(head) else None


class TrackedBoxes:
    """The boxes of one text."""

    def __init__(self, file: Path, columns: tuple[str, ...], notes: Notes) -> None:
        self._file, self._notes = file, notes
        self._rows = SpacedSource(file, columns, notes)
        self._columns = columns
        messages, boxes = 0, 0
        last: int | None = None
        for rows, _ in self._rows.batches(["frame"], []):
            frames = _whole(rows, "frame")
            messages += int((np.diff(frames) != 0).sum()) + int(len(frames) > 0 and frames[0] != last)
            boxes += len(frames)
            last = int(frames[-1]) if len(frames) else last
        truth = "score" not in columns
        self.stream = Stream(
            name="labels" if truth else "detections",
            kind=Kind.DETECTIONS,
            role=Role.TRUTH if truth else None,
            count=messages,
            timeline="stamp_ns",
            type_name="KITTI tracking",
            encoding="text",
            bytes=file.stat().st_size,
            attributes={"boxes": str(boxes), "sequence": file.stem},
        )

    def batches(self, payload: bool) -> Iterator[tuple[pa.RecordBatch, Payload | None]]:  # noqa: ARG002
        message, last = -1, None
        numbers = [name for name in self._columns if name != "type"]
        for rows, first in self._rows.batches(numbers, ["type"]):
            if not rows.num_rows:
                continue
            values = {name: _numbers(rows, name) for name in numbers}
            types = rows.column("type")
            if self._columns == DETECTION:
                types = pa.array([NUMBERED.get(word, word) for word in types.to_pylist()], pa.string())
            self._note_wrong(types, first)
            frames = _whole(rows, "frame")
            index = message + np.cumsum(np.append(frames[0] != last, np.diff(frames) != 0))
            message, last = int(index[-1]), int(frames[-1])
            values.pop("frame")
            yield pa.RecordBatch.from_pydict(box_columns(index, frames, values, types)), None

    def _note_wrong(self, types: pa.Array, first: int) -> None:
        wrong = np.flatnonzero(~np.asarray(pc.is_in(types, pa.array(sorted(TYPES)))))
        if len(wrong):
            where = Where(file=str(self._file), stream=self.stream.name, row=first + int(wrong[0]))
            self._notes.add(Problem.BAD_VALUE, f"{len(wrong)} boxes are of a type that KITTI has not", where)


def _is_tracked(words: list[str]) -> bool:
    if len(words) not in (len(TRACKING), len(TRACKING) + 1) or words[2] not in TYPES:
        return False
    try:
        int(words[0]), int(words[1])
        return bool(np.isfinite([float(word) for word in words[3:]]).all())
    except ValueError:
        return False


def _are_detections(head: bytes) -> bool:
    """Fifteen numbers that can be nothing but boxes: corners in order, sizes of things, and two angles of which
    one follows from the other and the place."""
    if b"," not in head.split(b"\n", 1)[0]:
        return False
    rows = first_rows(head)
    if not rows or {len(row) for row in rows} != {len(DETECTION)}:
        return False
    values = dict(zip(DETECTION, np.array(rows).T, strict=True))
    sizes = np.stack([values[name] for name in ("height", "width", "length")])
    turn = values["rotation_y"] - np.arctan2(values["x"], values["z"])
    return bool(
        (values["frame"] >= 0).all()
        and (np.diff(values["frame"]) >= 0).all()
        and (values["frame"] % 1 == 0).all()
        and np.isin(values["type"], [1, 2, 3]).all()
        and (values["x2"] >= values["x1"]).all()
        and (values["y2"] >= values["y1"]).all()
        and ((sizes > 0) & (sizes < _LARGEST_M)).all()
        and (np.abs(np.sin((turn - values["alpha"]) / 2)) < _ANGLES_APART).all()
    )


def _numbers(rows: pa.RecordBatch, name: str) -> np.ndarray:
    return np.asarray(rows.column(name).cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64)


def _whole(rows: pa.RecordBatch, name: str) -> np.ndarray:
    """A column of numbers as int64; what is none, or too large, becomes -1."""
    values = np.nan_to_num(_numbers(rows, name), nan=-1, posinf=-1, neginf=-1)
    return np.where(np.abs(values) < 2**53, values, -1).astype(np.int64)
