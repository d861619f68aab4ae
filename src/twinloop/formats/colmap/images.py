"""COLMAP's images: where each picture was taken from."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.core.errors import Where
from twinloop.core.kinds import Kind
from twinloop.core.recording import Problem
from twinloop.core.se3 import SE3
from twinloop.core.stream import Stream
from twinloop.core.units import UNDECLARED
from twinloop.formats.arrow_columns import constant, vectors, words
from twinloop.formats.colmap.cameras import camera_name
from twinloop.formats.gathered import TableInMemory

if TYPE_CHECKING:
    from pathlib import Path

    from twinloop.formats.notes import Notes

#: Image, rotation wxyz and translation of the world to the camera, camera.
_HEAD = struct.Struct("<i7di")
_LONGEST_NAME = 4096
_POINT_BYTES = 24


@dataclass
class _Images:
    ids: list[int] = field(default_factory=list)
    poses: list[tuple[float, ...]] = field(default_factory=list)
    cameras: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    seen: list[int] = field(default_factory=list)  # points seen in it

    def add(self, id: int, pose: tuple[float, ...], camera: int, name: str, seen: int) -> None:
        self.ids.append(id)
        self.poses.append(pose)
        self.cameras.append(camera)
        self.names.append(name)
        self.seen.append(seen)


def image_poses(path: Path, notes: Notes) -> TableInMemory:
    """The stream ``images``: places of the cameras in the world, in the file's order."""
    found = _binary(path, notes) if path.suffix == ".bin" else _text(path, notes)
    poses = np.array(found.poses).reshape(-1, 7)
    norms = np.linalg.norm(poses[:, :4], axis=1)
    with np.errstate(invalid="ignore"):
        sound = np.isfinite(poses).all(axis=1) & (np.abs(norms - 1) < 1e-2)
    if not sound.all():
        message = f"{int((~sound).sum())} images have no rotation: their places are NaN"
        notes.add(Problem.BAD_VALUE, message, Where(file=str(path), stream="images", row=int(np.argmin(sound))))
    places = np.full((len(poses), 3), np.nan)
    turns = np.full((len(poses), 4), np.nan)
    if sound.any():
        T_world_camera = SE3(poses[sound, :4], poses[sound, 4:]).inverse()
        places[sound], turns[sound] = T_world_camera.translation, T_world_camera.rotation
    stream = Stream(
        name="images",
        kind=Kind.POSE,
        count=len(poses),
        timeline="stamp_ns",
        type_name="COLMAP images",
        encoding=path.suffix.lstrip("."),
        bytes=path.stat().st_size,
        units={"position": UNDECLARED},
    )
    columns = {
        "frame_id": constant("world", len(poses)),
        "position": vectors(places),
        "orientation": vectors(turns),
        "name": pa.array(found.names, pa.string()),
        "image_id": pa.array(found.ids, pa.int64()),
        "camera": words([camera_name(id) for id in found.cameras]),
        "points_seen": pa.array(found.seen, pa.int64()),
    }
    return TableInMemory(stream, columns)


def _binary(path: Path, notes: Notes) -> _Images:
    found = _Images()
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(8)
        count = struct.unpack("<Q", head)[0] if len(head) == 8 else 0
        place = len(head)
        for number in range(count):
            file.seek(place)
            record = file.read(_HEAD.size + _LONGEST_NAME + 8)
            end = record.find(b"\0", _HEAD.size)
            if end < 0 or end + 9 > len(record):
                _note_end(path, count, number, place, notes)
                break
            id, *pose, camera = _HEAD.unpack_from(record)
            (points,) = struct.unpack_from("<Q", record, end + 1)
            place += end + 9
            if points > (size - place) // _POINT_BYTES:
                _note_end(path, count, number, place, notes)
                break
            place += points * _POINT_BYTES
            found.add(id, tuple(pose), camera, record[_HEAD.size : end].decode("utf-8", "replace"), points)
        if len(head) < 8:
            _note_end(path, 1, 0, place, notes)
    return found


def _text(path: Path, notes: Notes) -> _Images:
    """Two lines an image: the pose, and the points seen in it (which may be none)."""
    found = _Images()
    wrong, pose_next = 0, True
    with path.open("r", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("#"):
                continue
            if not pose_next:
                if found.ids:
                    found.seen[-1] = len(line.split()) // 3
                pose_next = True
                continue
            cells = line.split(maxsplit=9)
            if not cells:
                continue
            pose_next = False
            try:
                pose = tuple(float(cell) for cell in cells[1:8])
                found.add(int(cells[0][:18]), pose, int(cells[8][:18]), cells[9].rstrip("\n"), 0)
            except (ValueError, IndexError):
                wrong += 1
    if wrong:
        notes.add(
            Problem.CORRUPT, f"{wrong} lines are no images", Where(file=str(path), stream="images"), wrong
        )
    return found


def _note_end(path: Path, count: int, number: int, place: int, notes: Notes) -> None:
    message = f"{count} images are declared, {number} can be read"
    notes.add(Problem.TRUNCATED, message, Where(file=str(path), stream="images", byte=place), count - number)
