"""Calibration over time: one JSON document a line, each with all cameras and IMUs at one moment."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.core.calibration import CameraCalibration, FramePose, ImuCalibration, cameras_of, frames_of
from twinloop.core.errors import Where
from twinloop.core.kinds import Kind, StampSource
from twinloop.core.recording import Problem
from twinloop.core.stream import Stream
from twinloop.formats.arrow_columns import vectors, words
from twinloop.formats.mps.sources import DEVICE
from twinloop.formats.notes import Notes
from twinloop.formats.vrs.calibration import aria_calibration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

#: A line of more bytes than this is no calibration; lines read together.
_LONGEST_LINE = 1 << 20
_LINES = 256
#: Files up to this size are gone through when opened, to count their lines.
_COUNTED = 16 << 20

_Entries = list[tuple[int, int | None, dict[str, object]]]


class CalibrationSource:
    """The cameras, or the IMUs, of a file of calibrations: one row for each sensor and moment."""

    def __init__(self, path: Path, name: str, kind: Kind, notes: Notes) -> None:
        self.files: tuple[Path, ...] = (path,)
        self._notes, self._kind = notes, kind
        size = path.stat().st_size
        count = start = end = None
        if size <= _COUNTED:
            quiet = CalibrationSource.__new__(CalibrationSource)
            quiet.files, quiet._notes, quiet._kind = (path,), Notes(), kind
            batches = list(quiet.batches())
            stamps = np.concatenate(
                [np.empty(0, np.int64), *(b.column("stamp_ns").to_numpy() for b in batches)]
            )
            count = len(stamps)
            start, end = (int(stamps.min()), int(stamps.max())) if count else (None, None)
        self.stream = Stream(
            name,
            kind,
            count=count,
            start_ns=start,
            end_ns=end,
            timeline="stamp_ns",
            stamp_source=StampSource.SENSOR,
            stamp_clock=DEVICE,
            type_name=path.name,
            encoding="jsonl",
            bytes=size,
            attributes={"pose": "position and orientation are T_device_sensor"},
        )

    def batches(self) -> Iterator[pa.RecordBatch]:
        build = _cameras if self._kind is Kind.CAMERA_INFO else _imus
        entries: _Entries = []
        for entry in self._documents():
            entries.append(entry)
            if len(entries) >= _LINES:
                yield from self._made(build, entries)
                entries = []
        yield from self._made(build, entries)

    def _made(
        self,
        build: Callable[[list[tuple[int, int | None, dict[str, object]]]], pa.RecordBatch | None],
        entries: _Entries,
    ) -> Iterator[pa.RecordBatch]:
        batch = build(entries)
        if batch is not None:
            yield batch

    def _documents(self) -> Iterator[tuple[int, int | None, dict[str, object]]]:
        """(device time, UTC, sensors) of each line; lines that do not parse are noted."""
        path = str(self.files[0])
        with self.files[0].open("rb") as file:
            number = 0
            while line := file.readline(_LONGEST_LINE):
                number += 1
                if not line.strip():
                    continue
                try:
                    document = json.loads(line)
                    stamp = int(document["tracking_timestamp_us"]) * 1000
                    utc = int(document.get("utc_timestamp_ns", -1))
                    if abs(stamp) >= 1 << 62 or abs(utc) >= 1 << 62:
                        raise ValueError("a time out of range")
                except (ValueError, KeyError, TypeError, RecursionError) as error:
                    message = f"a line of calibrations does not parse ({type(error).__name__})"
                    self._notes.add(Problem.UNDECODABLE, message, Where(path, row=number - 1), 1)
                    continue
                yield stamp, utc if utc >= 0 else None, aria_calibration(document, self._notes, path)


def _cameras(entries: _Entries) -> pa.RecordBatch | None:
    """`distortion_model` and the order of `d` are those of `core.calibration`; what is not declared is null."""
    rows: list[tuple[int, int | None, CameraCalibration, FramePose]] = []
    for stamp, utc, found in entries:
        frames = frames_of(found)
        rows += [(stamp, utc, camera, frames[name]) for name, camera in cameras_of(found).items()]
    if not rows:
        return None
    cameras = [camera for _, _, camera, _ in rows]
    k = [(fx, 0, cx, 0, fy, cy, 0, 0, 1) for fx, fy, cx, cy in (camera.intrinsics for camera in cameras)]
    return pa.RecordBatch.from_pydict(
        {
            "stamp_ns": pa.array([stamp for stamp, _, _, _ in rows], pa.int64()),
            "frame_id": words([camera.name for camera in cameras]),
            "width": pa.array([camera.width for camera in cameras], pa.int32()),
            "height": pa.array([camera.height for camera in cameras], pa.int32()),
            "distortion_model": words([camera.model.value for camera in cameras]),
            "d": pa.array([list(camera.distortion) for camera in cameras], pa.list_(pa.float64())),
            "k": vectors(k),
            "r": pa.nulls(len(rows), pa.list_(pa.float64(), 9)),
            "p": pa.nulls(len(rows), pa.list_(pa.float64(), 12)),
        }
        | _placed([(utc, pose) for _, utc, _, pose in rows])
        | {"data": pa.array([json.dumps(camera.extra) for camera in cameras], pa.string())}
    )


def _imus(entries: _Entries) -> pa.RecordBatch | None:
    import msgspec

    rows: list[tuple[int, int | None, ImuCalibration, FramePose]] = []
    for stamp, utc, found in entries:
        frames = frames_of(found)
        imus = [msgspec.convert(v, ImuCalibration) for key, v in found.items() if key.startswith("imu/")]
        rows += [(stamp, utc, imu, frames[imu.name]) for imu in imus]
    rows = [row for row in rows if len(row[2].accel_rectification) == len(row[2].gyro_rectification) == 9]
    if not rows:
        return None
    imus = [imu for _, _, imu, _ in rows]
    return pa.RecordBatch.from_pydict(
        {
            "stamp_ns": pa.array([stamp for stamp, _, _, _ in rows], pa.int64()),
            "frame_id": words([imu.name for imu in imus]),
            "accel_bias": vectors([imu.accel_bias for imu in imus]),
            "gyro_bias": vectors([imu.gyro_bias for imu in imus]),
            "accel_rectification": vectors([imu.accel_rectification for imu in imus]),
            "gyro_rectification": vectors([imu.gyro_rectification for imu in imus]),
        }
        | _placed([(utc, pose) for _, utc, _, pose in rows])
        | {"data": pa.array([json.dumps(imu.extra) for imu in imus], pa.string())}
    )


def _placed(rows: list[tuple[int | None, FramePose]]) -> dict[str, pa.Array]:
    return {
        "utc_timestamp_ns": pa.array([utc for utc, _ in rows], pa.int64()),
        "position": vectors([pose.translation for _, pose in rows]),
        "orientation": vectors([pose.rotation for _, pose in rows]),
    }
