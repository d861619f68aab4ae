"""COLMAP's points as a cloud, in parts where it is large."""

from __future__ import annotations

import mmap
import struct
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.core.errors import Where
from twinloop.core.kinds import Kind
from twinloop.core.recording import Problem
from twinloop.core.stream import Stream
from twinloop.formats.point_files import cloud_columns, cloud_payload

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.core.stream import Payload
    from twinloop.formats.notes import Notes

_PART = 500_000
#: What is kept of a point; tracks (which images saw it) stay in the raw file.
_POINT = np.dtype(
    [(name, "<f8") for name in ("x", "y", "z")]
    + [(name, "<u1") for name in ("r", "g", "b")]
    + [("error", "<f8"), ("track", "<u4")]
)
#: As the binary file has it: a number, place, colour, error, length of the track, the track.
_RECORD = np.dtype([("id", "<u8"), ("xyz", "<f8", 3), ("rgb", "<u1", 3), ("error", "<f8"), ("track", "<u8")])
_TRACK = struct.Struct("<Q")
_SEEN_BYTES = 8


class PointCloud:
    """The stream ``points3D``."""

    def __init__(self, path: Path, notes: Notes) -> None:
        self._path, self._notes = path, notes
        size = path.stat().st_size
        declared = None
        if path.suffix == ".bin":
            with path.open("rb") as file:
                head = file.read(8)
            declared = _TRACK.unpack(head)[0] if len(head) == 8 else 0
        most = size // _RECORD.itemsize
        self.stream = Stream(
            name="points3D",
            kind=Kind.POINTS,
            count=None if declared is None else -(-min(declared, most) // _PART),
            timeline="stamp_ns",
            type_name="COLMAP points",
            encoding=path.suffix.lstrip("."),
            bytes=size,
            attributes={} if declared is None else {"points": str(declared)},
        )

    def batches(self, payload: bool) -> Iterator[tuple[pa.RecordBatch, Payload | None]]:
        for points in self._binary() if self._path.suffix == ".bin" else self._text():
            columns = cloud_columns(points, "world")
            yield pa.RecordBatch.from_pydict(columns), cloud_payload(points) if payload else None

    def _binary(self) -> Iterator[NDArray[np.void]]:
        """Points by the places of their records: each tells the length of its track, and so the next place."""
        size = self._path.stat().st_size
        if size < 8:
            self._note_end("the file ends in its count", 0, None)
            return
        with self._path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            (count,) = _TRACK.unpack_from(data)
            place, read = 8, 0
            last = _RECORD.itemsize - _TRACK.size
            while read < count:
                places: list[int] = []
                while len(places) < _PART and read + len(places) < count:
                    if place + _RECORD.itemsize > size:
                        break
                    places.append(place)
                    (track,) = _TRACK.unpack_from(data, place + last)
                    place += _RECORD.itemsize + _SEEN_BYTES * track
                if not places:
                    break
                read += len(places)
                yield _points_at(data, places)
            if read < count or place > size:
                self._note_end(f"{count} points are declared, {read} are there", size, count - read)

    def _text(self) -> Iterator[NDArray[np.void]]:
        rows: list[tuple[float, ...]] = []
        wrong = 0
        with self._path.open("r", encoding="ascii", errors="replace") as file:
            for line in file:
                cells = line.split()
                if not cells or cells[0].startswith("#"):
                    continue
                try:
                    x, y, z, error = (float(cells[k]) for k in (1, 2, 3, 7))
                    r, g, b = (min(max(int(cells[k]), 0), 255) for k in (4, 5, 6))
                except (ValueError, IndexError):
                    wrong += 1
                    continue
                rows.append((x, y, z, r, g, b, error, (len(cells) - 8) // 2))
                if len(rows) == _PART:
                    yield np.array(rows, _POINT)
                    rows = []
        if rows:
            yield np.array(rows, _POINT)
        if wrong:
            where = Where(file=str(self._path), stream=self.stream.name)
            self._notes.add(Problem.CORRUPT, f"{wrong} lines are no points", where, None)

    def _note_end(self, message: str, byte: int, lost: int | None) -> None:
        where = Where(file=str(self._path), stream=self.stream.name, byte=byte)
        self._notes.add(Problem.TRUNCATED, message, where, lost)


def _points_at(data: mmap.mmap, places: list[int]) -> NDArray[np.void]:
    start = places[0]
    whole = np.frombuffer(data[start : places[-1] + _RECORD.itemsize], np.uint8)
    offsets = np.array(places) - start
    records = whole[offsets[:, None] + np.arange(_RECORD.itemsize)].view(_RECORD)[:, 0]
    points = np.empty(len(places), _POINT)
    for column, name in enumerate(("x", "y", "z")):
        points[name] = records["xyz"][:, column]
    for column, name in enumerate(("r", "g", "b")):
        points[name] = records["rgb"][:, column]
    points["error"], points["track"] = records["error"], np.minimum(records["track"], 2**32 - 1)
    return points
