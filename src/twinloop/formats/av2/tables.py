"""The tables of a log: cuboids, poses, flow, calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinloop.core.calibration import CameraCalibration, CameraModel, FramePose
from twinloop.core.clock import Clock, Epoch
from twinloop.core.errors import TwinloopError, UnreadableError, Where
from twinloop.core.kinds import Kind, Role, StampSource
from twinloop.core.recording import Problem
from twinloop.core.stream import Stream
from twinloop.formats.arrow_columns import constant, vectors, words
from twinloop.formats.feather import read_feather

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.core.calibration import CalibrationItem
    from twinloop.core.stream import Payload
    from twinloop.formats.notes import Notes

CLOCK = Clock(Epoch.UNKNOWN, "vehicle")
EGO, CITY = "egovehicle", "city"
_TIME = "timestamp_ns"
_ROTATION = ("qw", "qx", "qy", "qz")
_TRANSLATION = ("tx_m", "ty_m", "tz_m")
_SIZE = ("length_m", "width_m", "height_m")
_BATCH_ROWS = 16_384


class _TimedTable:
    """A table with a column of times, in their order; it is read anew by each scan."""

    columns: tuple[str, ...] = ()

    def __init__(self, file: Path, stream: Stream, notes: Notes) -> None:
        self._file, self._notes = file, notes
        self.stream = stream

    def batches(self, payload: bool) -> Iterator[tuple[pa.RecordBatch, Payload | None]]:  # noqa: ARG002
        try:
            table = read_feather(self._file, self.columns)
            order = np.argsort(table.column(_TIME).cast(pa.int64()).to_numpy(), kind="stable")
            table = table.take(pa.array(order)).combine_chunks()
            stamps = np.asarray(table.column(_TIME).cast(pa.int64()).to_numpy())
            for first in range(0, len(stamps), _BATCH_ROWS):
                rows = table.slice(first, _BATCH_ROWS)
                yield pa.RecordBatch.from_pydict(self.made(rows, stamps, first)), None
        except TwinloopError as error:
            self._note(error.what)
        except (pa.ArrowException, ValueError, TypeError) as error:
            self._note(f"the columns are not as they should be: {error}")

    def made(self, rows: pa.Table, stamps: NDArray[np.int64], first: int) -> dict[str, pa.Array]:
        """The kind's columns of some rows; `stamps` are of all, `first` is the number of the first row."""
        raise NotImplementedError

    def _note(self, message: str) -> None:
        self._notes.add(Problem.CORRUPT, message, Where(file=str(self._file), stream=self.stream.name), None)


class Cuboids(_TimedTable):
    """Annotations: one message a time."""

    columns = (_TIME, "track_uuid", "category", *_SIZE, *_ROTATION, *_TRANSLATION, "num_interior_pts")

    def __init__(self, file: Path, notes: Notes) -> None:
        stamps = _times(file)
        sweeps, boxes = len(np.unique(stamps)), {"boxes": str(len(stamps))}
        stream = _stream(
            "annotations", Kind.DETECTIONS, file, stamps, sweeps, role=Role.TRUTH, attributes=boxes
        )
        super().__init__(file, stream, notes)

    def made(self, rows: pa.Table, stamps: NDArray[np.int64], first: int) -> dict[str, pa.Array]:
        here = stamps[first : first + rows.num_rows]
        message = np.concatenate([[0], np.cumsum(np.diff(stamps) != 0)])[first : first + rows.num_rows]
        return {
            "stamp_ns": pa.array(here),
            "message": pa.array(message, pa.int64()),
            "frame_id": constant(EGO, rows.num_rows),
            "category": words(_texts(rows, "category")),
            "track": words(_texts(rows, "track_uuid")),
            "position": vectors(_matrix(rows, _TRANSLATION)),
            "orientation": vectors(_matrix(rows, _ROTATION)),
            "size": vectors(_matrix(rows, _SIZE)),
            "num_interior_pts": rows.column("num_interior_pts").combine_chunks().cast(pa.int64()),
        }


class EgoPoses(_TimedTable):
    """Poses of the vehicle in the city."""

    columns = (_TIME, *_ROTATION, *_TRANSLATION)

    def __init__(self, file: Path, notes: Notes) -> None:
        stamps = _times(file)
        attributes = {"child_frame_id": EGO}
        stream = _stream(file.stem, Kind.POSE, file, stamps, len(stamps), attributes=attributes)
        super().__init__(file, stream, notes)

    def made(self, rows: pa.Table, stamps: NDArray[np.int64], first: int) -> dict[str, pa.Array]:
        return {
            "stamp_ns": pa.array(stamps[first : first + rows.num_rows]),
            "frame_id": constant(CITY, rows.num_rows),
            "position": vectors(_matrix(rows, _TRANSLATION)),
            "orientation": vectors(_matrix(rows, _ROTATION)),
        }


class PlainRows:
    """A table without times, as it is: labels of scene flow, one row a point of the first sweep."""

    def __init__(self, file: Path, notes: Notes) -> None:
        self._file, self._notes = file, notes
        self.stream = Stream(
            name=file.stem,
            kind=Kind.TABLE,
            role=Role.TRUTH,
            count=read_feather(file).num_rows,
            timeline="stamp_ns",
            type_name=file.stem,
            encoding="feather",
            bytes=file.stat().st_size,
        )

    def batches(self, payload: bool) -> Iterator[tuple[pa.RecordBatch, Payload | None]]:  # noqa: ARG002
        try:
            table = read_feather(self._file)
        except UnreadableError as error:
            where = Where(file=str(self._file), stream=self.stream.name)
            self._notes.add(Problem.CORRUPT, error.what, where, None)
            return
        for rows in table.to_batches(max_chunksize=_BATCH_ROWS):
            yield rows, None


def calibration_of(folder: Path, notes: Notes) -> list[CalibrationItem]:
    """Cameras and where all sensors sit on the vehicle; what does not read is noted."""
    items: list[CalibrationItem] = []
    for name, read in (("intrinsics.feather", _cameras), ("egovehicle_SE3_sensor.feather", _mounts)):
        file = folder / name
        if not file.is_file():
            continue
        try:
            items += read(file)
        except TwinloopError as error:
            notes.add(Problem.CORRUPT, error.what, Where(file=str(file)))
        except (pa.ArrowException, ValueError, TypeError) as error:
            notes.add(Problem.CORRUPT, f"the calibration does not read: {error}", Where(file=str(file)))
    return items


def _cameras(file: Path) -> Iterator[CalibrationItem]:
    lens = ("fx_px", "fy_px", "cx_px", "cy_px", "k1", "k2", "k3")
    table = read_feather(file, ("sensor_name", *lens, "width_px", "height_px"))
    sizes = _matrix(table, ("width_px", "height_px")).astype(np.int64)
    for name, row, (width, height) in zip(
        _texts(table, "sensor_name").to_pylist(), _matrix(table, lens).tolist(), sizes.tolist(), strict=True
    ):
        fx, fy, cx, cy, k1, k2, k3 = row
        yield CameraCalibration(
            str(name), CameraModel.RADTAN, width, height, (fx, fy, cx, cy), (k1, k2, 0.0, 0.0, k3)
        )


def _mounts(file: Path) -> Iterator[CalibrationItem]:
    table = read_feather(file, ("sensor_name", *_ROTATION, *_TRANSLATION))
    names = _texts(table, "sensor_name").to_pylist()
    rotations, translations = _matrix(table, _ROTATION).tolist(), _matrix(table, _TRANSLATION).tolist()
    for name, rotation, translation in zip(names, rotations, translations, strict=True):
        yield FramePose(EGO, str(name), tuple(translation), tuple(rotation))


def _times(file: Path) -> NDArray[np.int64]:
    """The times (N,) of a table.

    Raises:
        UnreadableError: the file is damaged, or its times are no integers.
    """
    try:
        return np.asarray(read_feather(file, (_TIME,)).column(_TIME).cast(pa.int64()).to_numpy(), np.int64)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise UnreadableError(f"the times do not read: {error}", where=str(file)) from None


def _stream(
    name: str,
    kind: Kind,
    file: Path,
    stamps: NDArray[np.int64],
    count: int,
    *,
    role: Role | None = None,
    attributes: dict[str, str] | None = None,
) -> Stream:
    return Stream(
        name=name,
        kind=kind,
        role=role,
        count=count,
        start_ns=int(stamps.min()) if len(stamps) else None,
        end_ns=int(stamps.max()) if len(stamps) else None,
        timeline="stamp_ns",
        stamp_source=StampSource.SENSOR,
        stamp_clock=CLOCK,
        type_name=f"Argoverse 2 {name}",
        encoding="feather",
        bytes=file.stat().st_size,
        attributes=attributes or {},
    )


def _texts(rows: pa.Table, name: str) -> pa.Array:
    return pc.fill_null(rows.column(name).combine_chunks().cast(pa.string()), "")


def _matrix(rows: pa.Table, names: tuple[str, ...]) -> NDArray[np.float64]:
    """Columns of numbers as (N, K)."""
    return np.stack([np.asarray(rows.column(name).cast(pa.float64()).to_numpy()) for name in names], axis=1)
