"""Point clouds in files of their own as one stream: one sweep a batch, points as they lie in memory."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.core.errors import TwinloopError, Where
from twinloop.core.kinds import Kind, Role
from twinloop.core.recording import Problem
from twinloop.core.stream import Payload, Stream
from twinloop.formats.arrow_columns import constant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.formats.file_times import FileTimes
    from twinloop.formats.notes import Notes

    #: Reads the points (P,) of a file, a structured array; notes what of it cannot be read.
    Loader = Callable[[Path, Notes, Where], NDArray[np.void]]

#: As sensor_msgs/PointField counts types.
_DATATYPES = {"i1": 1, "u1": 2, "i2": 3, "u2": 4, "i4": 5, "u4": 6, "f4": 7, "f8": 8}
#: Points of a larger file are read as far as this.
_MOST_BYTES = 256 << 20


class PointFiles:
    """Files of sweeps (N) in the order of their samples; `load` gives a file's points."""

    def __init__(
        self,
        name: str,
        files: Sequence[Path],
        times: FileTimes,
        load: Loader,
        notes: Notes,
        *,
        frame_id: str = "",
        attributes: Mapping[str, str] | None = None,
    ) -> None:
        self._files, self._times, self._load, self._notes = files, times, load, notes
        self._frame = frame_id
        self.stream = times.on(
            Stream(
                name=name,
                kind=Kind.POINTS,
                role=Role.OBSERVATION,
                count=len(files),
                type_name="point cloud",
                encoding="points",
                bytes=sum(file.stat().st_size for file in files if file.is_file()),
                attributes=attributes or {},
            )
        )

    def batches(self, payload: bool) -> Iterator[tuple[pa.RecordBatch, Payload | None]]:
        for row, file in enumerate(self._files):
            where = Where(file=str(file), stream=self.stream.name, row=row)
            try:
                points = self._load(file, self._notes, where)
            except TwinloopError as error:
                self._notes.add(Problem.CORRUPT, error.what, where, 1)
                continue
            except OSError as error:
                self._notes.add(Problem.MISSING_FILE, f"the sweep cannot be read: {error.strerror}", where, 1)
                continue
            columns = self._times.columns(np.array([row])) | cloud_columns(points, self._frame)
            yield pa.RecordBatch.from_pydict(columns), cloud_payload(points) if payload else None


def cloud_columns(points: NDArray[np.void], frame_id: str) -> dict[str, pa.Array]:
    """The one row of kind `points` that tells of a sweep's points (P,)."""
    step = points.dtype.itemsize
    return {
        "frame_id": constant(frame_id, 1),
        "width": pa.array([len(points)], pa.int32()),
        "height": pa.array([1], pa.int32()),
        "fields": constant(_fields(points.dtype), 1),
        "point_step": pa.array([step], pa.int32()),
        "row_step": pa.array([step * len(points)], pa.int32()),
        "is_bigendian": pa.array([False]),
        "is_dense": pa.array([True]),
    }


def cloud_payload(points: NDArray[np.void]) -> Payload:
    """The points as bytes of one sample."""
    data = np.frombuffer(points.tobytes(), np.uint8)
    return Payload(data, np.zeros(1, np.int64), np.array([len(data)], np.int64))


def load_floats(*names: str) -> Loader:
    """A loader of files that hold nothing but rows of little-endian float32 under these names."""
    dtype = np.dtype([(name, "<f4") for name in names])

    def load(file: Path, notes: Notes, where: Where) -> NDArray[np.void]:
        size = file.stat().st_size
        count = min(size, _MOST_BYTES) // dtype.itemsize
        if rest := size - count * dtype.itemsize:
            message = f"{rest} bytes at the end of the sweep are no whole point of {dtype.itemsize} bytes"
            notes.add(Problem.TRUNCATED, message, where, None)
        return np.fromfile(file, dtype, count)

    return load


def _fields(dtype: np.dtype[np.void]) -> str:
    assert dtype.fields is not None
    return json.dumps(
        [
            {
                "name": name,
                "offset": dtype.fields[name][1],
                "datatype": _DATATYPES[dtype.fields[name][0].str[1:]],
                "count": 1,
            }
            for name in dtype.names or ()
        ]
    )
