"""Ground truth of Aria Digital Twin: objects with their boxes, and skeletons.

An object's box is given in its own frame (`3d_bounding_box.csv`), the object's pose in the scene apart
(`scene_objects.csv`; time -1: it never moves). Here the two are one row: the box where it stands.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.core.errors import Where
from twinloop.core.kinds import Kind, Role, StampSource
from twinloop.core.recording import Problem
from twinloop.core.stream import Stream
from twinloop.formats.arrow_columns import constant, vectors, words
from twinloop.formats.mps.grouping import matrix
from twinloop.formats.mps.rows import open_rows
from twinloop.formats.mps.sources import DEVICE, MessageCounter
from twinloop.formats.time_column import to_ns

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.formats.notes import Notes

_PLACE = tuple(f"t_wo_{axis}[m]" for axis in "xyz")
_TURN = tuple(f"q_wo_{axis}" for axis in "wxyz")
_SIDES = tuple(f"p_local_obj_{axis}{end}[m]" for axis in "xyz" for end in ("min", "max"))
OBJECTS = ("object_uid", "timestamp[ns]", *_PLACE, *_TURN)
BOXES = ("object_uid", "timestamp[ns]", *_SIDES)
_MOST_JSON = 64 << 20
_STEP = 1 << 20
_FRAMES = 64
#: Tables up to this size are gone through when opened, to count their moments.
_COUNTED = 16 << 20


STATIC, MOVING = "truth/objects_static", "truth/objects_moving"


class ObjectSource:
    """Objects that stand still (they have no times) and objects that move, as boxes in the world."""

    def __init__(
        self,
        path: Path,
        boxes: Path | None,
        head: bytes,
        instances: Mapping[str, dict],
        notes: Notes,
    ) -> None:
        self.files: tuple[Path, ...] = (path, boxes) if boxes else (path,)
        self._rows = open_rows(path, head, notes)
        self._instances = instances
        self._bounds = _bounds(boxes, notes) if boxes else {}
        still = Stream(STATIC, Kind.DETECTIONS, Role.TRUTH, type_name=path.name, encoding="csv")
        moving = _truth(MOVING, Kind.DETECTIONS, path, "csv")
        if path.stat().st_size <= _COUNTED:
            stamps = np.concatenate([np.empty(0, np.int64), *(stamps for _, stamps, _ in self._timed())])
            times = np.unique(stamps[stamps >= 0])
            start, end = (int(times[0]), int(times[-1])) if len(times) else (None, None)
            moving = replace(moving, count=len(times), start_ns=start, end_ns=end)
            still = replace(still, count=int((stamps < 0).any()))
        self.streams = {STATIC: still, MOVING: moving}

    def batches(self, names: Collection[str]) -> Iterator[tuple[str, pa.RecordBatch]]:
        messages = MessageCounter(("timestamp[ns]",))
        for batch, stamps, valid in self._timed():
            for name in names:
                mine = valid & ((stamps >= 0) == (name == MOVING))
                rows = batch.filter(pa.array(mine))
                if not rows.num_rows:
                    continue
                still = np.zeros(rows.num_rows, np.int64)
                number = messages.number(rows) if name == MOVING else still
                times = {"stamp_ns": pa.array(stamps[mine])} if name == MOVING else {}
                columns = times | {"message": pa.array(number)} | self._boxes(rows)
                yield name, pa.RecordBatch.from_pydict(columns)

    def _boxes(self, rows: pa.RecordBatch) -> dict[str, pa.Array]:
        uids = rows.column("object_uid").cast(pa.string()).to_pylist()
        place = matrix(rows, _PLACE)
        turn = matrix(rows, _TURN)
        bounds = np.array([self._bounds.get(uid, (np.nan,) * 6) for uid in uids], np.float64).reshape(-1, 3, 2)
        middle = place + _turned(turn, bounds.mean(axis=2))
        known = np.asarray(np.isfinite(middle).all(axis=1))
        size = pa.FixedSizeListArray.from_arrays(
            pa.array((bounds[:, :, 1] - bounds[:, :, 0]).reshape(-1)), 3, mask=pa.array(~known)
        )
        named = [self._instances.get(uid, {}) for uid in uids]
        return {
            "frame_id": constant("world", rows.num_rows),
            "category": words([str(one.get("category", "")) for one in named]),
            "track": words(uids),
            "position": vectors(np.where(known[:, None], middle, place)),
            "orientation": vectors(turn),
            "size": size,
            "data": pa.array([_said(one) for one in named], pa.string()),
            "object_position": vectors(place),
        }

    def _timed(self) -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64], NDArray[np.bool_]]]:
        for batch in self._rows.batches():
            yield (batch, *to_ns(batch.column("timestamp[ns]"), "ns"))


def _truth(
    name: str, kind: Kind, path: Path, encoding: str, attributes: Mapping[str, str] | None = None
) -> Stream:
    """A stream of ground truth in a file, on the device's clock."""
    return Stream(
        name,
        kind,
        Role.TRUTH,
        timeline="stamp_ns",
        stamp_source=StampSource.SENSOR,
        stamp_clock=DEVICE,
        type_name=path.name,
        encoding=encoding,
        bytes=path.stat().st_size,
        attributes=attributes or {},
    )


def _turned(quaternion: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points (N, 3) rotated by quaternions wxyz (N, 4): p + 2 w (v x p) + 2 v x (v x p)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        unit = quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True)
    w, v = unit[:, :1], unit[:, 1:]
    cross = np.cross(v, points)
    return points + 2 * w * cross + 2 * np.cross(v, cross)


def _bounds(path: Path, notes: Notes) -> dict[str, tuple[float, ...]]:
    """Object -> (x min, x max, y min, y max, z min, z max) m, of the boxes that hold at all times."""
    from twinloop.core.errors import TwinloopError
    from twinloop.formats.mps.rows import table_head

    found: dict[str, tuple[float, ...]] = {}
    try:
        for rows in open_rows(path, table_head(path), notes).batches():
            values = matrix(rows, _SIDES)
            for uid, sides in zip(rows.column("object_uid").cast(pa.string()).to_pylist(), values, strict=True):
                found.setdefault(uid, tuple(sides))
    except TwinloopError as error:
        notes.add(Problem.CORRUPT, f"{error.what}: objects have no sizes", Where(str(path)), None)
    return found


def _said(instance: Mapping[str, object]) -> str | None:
    kept = {
        k: v for k, v in instance.items() if isinstance(v, str | int) and k not in ("category", "instance_id")
    }
    return json.dumps(kept) if kept else None


def read_json(path: Path, notes: Notes) -> dict:
    """A small JSON object; empty, with a note, where it does not parse."""
    try:
        if path.stat().st_size > _MOST_JSON:
            raise ValueError(f"{path.stat().st_size} bytes")
        value = json.loads(path.read_bytes())
        if not isinstance(value, dict):
            raise ValueError("no object")
    except (ValueError, OSError, RecursionError) as error:
        notes.add(
            Problem.CORRUPT, f"it does not parse as a JSON object: {str(error)[:120]}", Where(str(path)), None
        )
        return {}
    return value


class SkeletonSource:
    """A skeleton's joints over time: a JSON object whose list `frames` is read frame by frame."""

    def __init__(self, path: Path, name: str, notes: Notes) -> None:
        self.files: tuple[Path, ...] = (path,)
        self._notes = notes
        units = {"units": "markers and joints are in metres, in the world"}
        self.streams = {name: _truth(name, Kind.KEYPOINTS, path, "json", units)}

    def batches(self, names: Collection[str]) -> Iterator[tuple[str, pa.RecordBatch]]:
        for name in names:
            yield from ((name, rows) for rows in self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        group: list[tuple[int, list[list[float]], list[list[float]]]] = []
        for number, frame in enumerate(self._frames()):
            try:
                joints = np.asarray(frame["joints"], np.float64).reshape(-1, 3)
                markers = np.asarray(frame.get("markers", []), np.float64).reshape(-1, 3)
                group.append((int(frame["timestamp_ns"]), joints.tolist(), markers.tolist()))
            except (KeyError, TypeError, ValueError, AttributeError):
                self._notes.add(
                    Problem.UNDECODABLE, "a frame is not as expected", Where(str(self.files[0]), row=number), 1
                )
            if len(group) >= _FRAMES:
                yield _skeleton(group)
                group = []
        if group:
            yield _skeleton(group)

    def _frames(self) -> Iterator[dict]:
        decoder, text, ended = json.JSONDecoder(), "", False
        path = str(self.files[0])
        with self.files[0].open("r", encoding="utf-8", errors="replace") as file:
            while '"frames"' not in text:
                piece = file.read(_STEP)
                if not piece:
                    self._notes.add(Problem.CORRUPT, "it has no list of frames", Where(path), None)
                    return
                text = text[-16:] + piece
            text = text.partition('"frames"')[2].lstrip(": \n\r\t").removeprefix("[")
            while True:
                text = text.lstrip(", \n\r\t")
                if text.startswith("]"):
                    return
                try:
                    frame, at = decoder.raw_decode(text)
                except (ValueError, RecursionError):
                    piece = file.read(_STEP)
                    if ended or not piece or len(text) > 16 * _STEP:
                        message = "the list of frames ends in a frame, or does not parse from here on"
                        self._notes.add(Problem.TRUNCATED, message, Where(path), None)
                        return
                    text += piece
                    continue
                text = text[at:]
                yield frame


def _skeleton(group: list[tuple[int, list[list[float]], list[list[float]]]]) -> pa.RecordBatch:
    """Joints may differ in number from frame to frame; markers are kept beside them."""
    names = [[f"joint_{k}" for k in range(len(joints))] for _, joints, _ in group]
    flat = pa.array([name for one in names for name in one], pa.string()).dictionary_encode()
    ends = np.concatenate([[0], np.cumsum([len(one) for one in names])]).astype(np.int32)

    def listed(points: list[list[list[float]]]) -> pa.Array:
        return pa.array([[v for p in one for v in p] for one in points], pa.list_(pa.float64()))

    return pa.RecordBatch.from_pydict(
        {
            "stamp_ns": pa.array([stamp for stamp, _, _ in group], pa.int64()),
            "frame_id": constant("world", len(group)),
            "name": pa.ListArray.from_arrays(pa.array(ends), flat),
            "xyz": listed([joints for _, joints, _ in group]),
            "markers": listed([markers for _, _, markers in group]),
        }
    )
