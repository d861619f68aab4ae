"""A raw drive: folders of pictures, sweeps and navigation data with the times of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.core.clock import Clock, Epoch
from twinloop.core.errors import UnreadableError, Where
from twinloop.core.kinds import Kind, StampSource
from twinloop.core.recording import Problem
from twinloop.core.stream import Stream
from twinloop.formats.arrow_columns import constant, vectors
from twinloop.formats.file_times import FileTimes
from twinloop.formats.image_files import ImageFiles
from twinloop.formats.kitti.calib import drive_calibration
from twinloop.formats.kitti.object_frames import load_velodyne, numbered
from twinloop.formats.point_files import PointFiles
from twinloop.formats.time_column import ISO, to_ns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from twinloop.core.calibration import CalibrationItem
    from twinloop.core.stream import Payload
    from twinloop.formats.gathered import Source
    from twinloop.formats.notes import Notes

CAMERAS = ("image_00", "image_01", "image_02", "image_03")
_CLOCK = Clock(Epoch.UNIX, "drive")
_BATCH_FILES = 1024
_MOST_BYTES = 64 << 20
_VALUES = 30
_MORE = ("roll", "pitch", "yaw", "vn", "ve", "vf", "vl", "vu")


def drive_sources(path: Path, notes: Notes) -> Iterator[Source]:
    """The streams of a drive."""
    for name in CAMERAS:
        files, times = _timed(path / name, (".png", ".jpg"), notes)
        if files:
            yield ImageFiles(name, files, times, notes, frame_id=name)
    files, times = _timed(path / "velodyne_points", (".bin",), notes)
    if files:
        yield PointFiles("velodyne", files, times, load_velodyne, notes, frame_id="velodyne")
    files, times = _timed(path / "oxts", (".txt",), notes)
    if files:
        yield Navigation("gnss", Kind.GNSS, files, times, _place, notes)
        yield Navigation("imu", Kind.IMU, files, times, _motion, notes)


def drive_items(path: Path, notes: Notes) -> list[CalibrationItem]:
    """The calibration of the day, which lies in the folder above; what does not read is noted."""
    folder = path.parent
    if not (folder / "calib_cam_to_cam.txt").is_file():
        return []
    try:
        return list(drive_calibration(folder))
    except UnreadableError as error:
        notes.add(Problem.BAD_VALUE, f"the calibration does not read: {error.what}", Where(file=str(folder)))
        return []


class Navigation:
    """Packets of the navigation unit (OXTS), a file each: one of the streams that are made of them."""

    def __init__(
        self,
        name: str,
        kind: Kind,
        files: Sequence[Path],
        times: FileTimes,
        make: Callable[[np.ndarray], dict[str, pa.Array]],
        notes: Notes,
    ) -> None:
        self._files, self._times, self._make, self._notes = files, times, make, notes
        self.stream = times.on(
            Stream(
                name=name,
                kind=kind,
                count=len(files),
                type_name="oxts packet",
                encoding="text",
            )
        )

    def batches(self, payload: bool) -> Iterator[tuple[pa.RecordBatch, Payload | None]]:  # noqa: ARG002
        for first in range(0, len(self._files), _BATCH_FILES):
            rows, packets = [], []
            for row, file in enumerate(self._files[first : first + _BATCH_FILES], first):
                if (packet := self._packet(file, row)) is not None:
                    rows.append(row)
                    packets.append(packet)
            if rows:
                columns = self._times.columns(np.array(rows)) | {"frame_id": constant("imu", len(rows))}
                yield pa.RecordBatch.from_pydict(columns | self._make(np.array(packets))), None

    def _packet(self, file: Path, row: int) -> list[float] | None:
        where = Where(file=str(file), stream=self.stream.name, row=row)
        try:
            with file.open("rb") as opened:
                values = [float(word) for word in opened.read(4096).split()]
        except (OSError, ValueError):
            values = []
        if len(values) != _VALUES:
            self._notes.add(Problem.CORRUPT, f"the packet has not {_VALUES} numbers", where, 1)
            return None
        return values


def _place(packets: np.ndarray) -> dict[str, pa.Array]:
    named = {
        name: pa.array(packets[:, column]) for column, name in enumerate(("latitude", "longitude", "altitude"))
    }
    return named | {name: pa.array(packets[:, column]) for column, name in enumerate(_MORE, 3)}


def _motion(packets: np.ndarray) -> dict[str, pa.Array]:
    return {"angular_velocity": vectors(packets[:, 17:20]), "linear_acceleration": vectors(packets[:, 11:14])}


def _timed(folder: Path, suffixes: tuple[str, ...], notes: Notes) -> tuple[list[Path], FileTimes]:
    """The files of a sensor and their times: line k of ``timestamps.txt`` is of frame k."""
    files, seq = numbered(folder / "data", suffixes)
    table = folder / "timestamps.txt"
    stamps = _stamps(table)
    if not files or len(stamps) <= int(seq.max()) or (stamps[seq] == 0).any():
        if files:
            message = "there are frames without a time: the stream is left without times"
            notes.add(Problem.COUNT, message, Where(file=str(table), stream=folder.name))
        return files, FileTimes(None, seq)
    return files, FileTimes(stamps[seq], seq, StampSource.SENSOR, _CLOCK)


def _stamps(table: Path) -> np.ndarray:
    """Times (N,) int64 ns of the lines of a file; zero where there is none."""
    try:
        with table.open("rb") as opened:
            lines = opened.read(_MOST_BYTES).decode("ascii", "replace").splitlines()
    except OSError:
        return np.empty(0, np.int64)
    stamps, valid = to_ns(pa.array([line.strip() for line in lines], pa.string()), ISO)
    return np.where(valid, stamps, 0)
