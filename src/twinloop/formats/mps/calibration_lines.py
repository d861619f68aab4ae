"""Calibration over time: one JSON document a line, each with all cameras and IMUs at one moment."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from twinloop.core.calibration import CameraCalibration, FramePose, ImuCalibration
from twinloop.core.errors import Where
from twinloop.core.kinds import Kind, StampSource
from twinloop.core.recording import Problem
from twinloop.core.stream import Stream
from twinloop.formats.arrow_columns import constant, vectors, words
from twinloop.formats.mps.sources import DEVICE
from twinloop.formats.notes import Notes
from twinloop.formats.vrs.calibration import aria_calibration

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

#: A line of more bytes than this is no calibration; lines taken together.
_LONGEST_LINE = 1 << 20
_LINES = 256
#: Files up to this size are gone through when opened, to count their lines.
_COUNTED = 16 << 20

#: Device time, UTC, and the sensors of one line.
_Line = tuple[int, int | None, dict[str, object]]


class CalibrationSource:
    """A file of calibrations: a stream for each sensor that its first line names, one row a line."""

    def __init__(self, path: Path, prefix: str, notes: Notes) -> None:
        self.files: tuple[Path, ...] = (path,)
        self.streams: dict[str, Stream] = {}
        self._notes = notes
        size = path.stat().st_size
        lines = list(self._lines(Notes())) if size <= _COUNTED else [*_first(self._lines(Notes()))]
        first = lines[0][2] if lines else {}
        self._keys = {f"{prefix}/{key.partition('/')[2]}": key for key in first if _is_sensor(key)}
        for name, key in self._keys.items():
            stamps = [stamp for stamp, _, found in lines if key in found] if size <= _COUNTED else []
            self.streams[name] = Stream(
                name,
                Kind.CAMERA_INFO if key.startswith("camera/") else Kind.TABLE,
                count=len(stamps) if size <= _COUNTED else None,
                start_ns=min(stamps, default=None),
                end_ns=max(stamps, default=None),
                timeline="stamp_ns",
                stamp_source=StampSource.SENSOR,
                stamp_clock=DEVICE,
                type_name=path.name,
                encoding="jsonl",
                bytes=size // len(self._keys),
                attributes={"pose": "position and orientation are T_device_sensor"},
            )

    def batches(self, names: Collection[str]) -> Iterator[tuple[str, pa.RecordBatch]]:
        group: list[_Line] = []
        for line in self._lines(self._notes):
            group.append(line)
            if len(group) >= _LINES:
                yield from self._made(names, group)
                group = []
        yield from self._made(names, group)

    def _made(self, names: Collection[str], lines: list[_Line]) -> Iterator[tuple[str, pa.RecordBatch]]:
        for name in names:
            key = self._keys[name]
            mine = [line for line in lines if key in line[2]]
            if not mine:
                continue
            values = [found[key] for _, _, found in mine]
            poses = [
                msgspec.convert(found[f"frame/{key.partition('/')[2]}"], FramePose) for _, _, found in mine
            ]
            build = _cameras if key.startswith("camera/") else _imus
            yield (
                name,
                pa.RecordBatch.from_pydict(
                    {"stamp_ns": pa.array([stamp for stamp, _, _ in mine], pa.int64())}
                    | build(values)
                    | {
                        "utc_timestamp_ns": pa.array([utc for _, utc, _ in mine], pa.int64()),
                        "position": vectors([pose.translation for pose in poses]),
                        "orientation": vectors([pose.rotation for pose in poses]),
                    }
                ),
            )

    def _lines(self, notes: Notes) -> Iterator[_Line]:
        """The lines that parse; those that do not, and sensors that the first line does not name, are noted."""
        path = str(self.files[0])
        known: set[str] | None = None
        with self.files[0].open("rb") as file:
            number = -1
            while line := file.readline(_LONGEST_LINE):
                number += 1
                if not line.strip():
                    continue
                try:
                    document = json.loads(line)
                    stamp, utc = (
                        int(document["tracking_timestamp_us"]) * 1000,
                        int(document["utc_timestamp_ns"]),
                    )
                    if max(abs(stamp), abs(utc)) >= 1 << 62:
                        raise ValueError("a time out of range")
                except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
                    message = f"a line of calibrations does not parse ({type(error).__name__})"
                    notes.add(Problem.UNDECODABLE, message, Where(path, row=number), 1)
                    continue
                found = aria_calibration(document, notes, path)
                sensors = {key for key in found if _is_sensor(key)}
                known = sensors if known is None else known
                if sensors != known:
                    words = ", ".join(sorted(sensors ^ known))
                    notes.add(
                        Problem.SCHEMA,
                        f"a line has other sensors than the first: {words}",
                        Where(path, row=number),
                    )
                yield stamp, utc if utc >= 0 else None, found


def _first(lines: Iterator[_Line]) -> Iterator[_Line]:
    line = next(lines, None)
    if line is not None:
        yield line


def _is_sensor(key: str) -> bool:
    return key.startswith(("camera/", "imu/"))


def _cameras(values: list[object]) -> dict[str, pa.Array]:
    """`distortion_model` and the order of `d` are those of `core.calibration`; what is not declared is null."""
    cameras = [msgspec.convert(value, CameraCalibration) for value in values]
    k = [(fx, 0, cx, 0, fy, cy, 0, 0, 1) for fx, fy, cx, cy in (camera.intrinsics for camera in cameras)]
    return {
        "frame_id": constant(cameras[0].name, len(cameras)),
        "width": pa.array([camera.width for camera in cameras], pa.int32()),
        "height": pa.array([camera.height for camera in cameras], pa.int32()),
        "distortion_model": words([camera.model.value for camera in cameras]),
        "d": pa.array([list(camera.distortion) for camera in cameras], pa.list_(pa.float64())),
        "k": vectors(k),
        "r": pa.nulls(len(cameras), pa.list_(pa.float64(), 9)),
        "p": pa.nulls(len(cameras), pa.list_(pa.float64(), 12)),
        "data": pa.array([json.dumps(camera.extra) for camera in cameras], pa.string()),
    }


def _imus(values: list[object]) -> dict[str, pa.Array]:
    """Biases [m/s2, rad/s] and rectifications as `core.calibration.ImuCalibration` has them."""
    imus = [msgspec.convert(value, ImuCalibration) for value in values]
    return {
        "frame_id": constant(imus[0].name, len(imus)),
        "accel_bias": vectors([imu.accel_bias for imu in imus]),
        "gyro_bias": vectors([imu.gyro_bias for imu in imus]),
        "accel_rectification": vectors([imu.accel_rectification for imu in imus]),
        "gyro_rectification": vectors([imu.gyro_rectification for imu in imus]),
        "data": pa.array([json.dumps(imu.extra) for imu in imus], pa.string()),
    }
