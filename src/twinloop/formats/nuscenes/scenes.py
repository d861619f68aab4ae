"""Tables as streams: sensors, boxes, the car's poses; scenes as episodes."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pyarrow as pa

from twinloop.core.calibration import CameraCalibration, CameraModel, FramePose
from twinloop.core.clock import Clock, Epoch
from twinloop.core.errors import TwinloopError, UnreadableError, Where
from twinloop.core.kinds import Kind, Role, StampSource
from twinloop.core.recording import EpisodeSpan, Problem
from twinloop.core.stream import Stream
from twinloop.formats.boxes import detections
from twinloop.formats.calibrations.values import floats, intrinsics_of
from twinloop.formats.file_times import FileTimes
from twinloop.formats.gathered import TableInMemory
from twinloop.formats.image_files import ImageFiles
from twinloop.formats.nuscenes import tables as t
from twinloop.formats.nuscenes.pcd import load_pcd
from twinloop.formats.nuscenes.poses import EGO, GLOBAL, pose_stream
from twinloop.formats.point_files import PointFiles, load_floats
from twinloop.formats.scene_files import find_file, note_missing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from twinloop.core.calibration import CalibrationItem
    from twinloop.formats.gathered import Source
    from twinloop.formats.notes import Notes

_CLOCK = Clock(Epoch.UNIX, "vehicle")
_LIDAR = load_floats("x", "y", "z", "intensity", "ring")


class Scenes:
    """The tables of a folder, joined.

    Raises:
        UnreadableError: the tables of data and sensors do not read.
    """

    def __init__(self, root: Path, folder: Path, notes: Notes) -> None:
        self._root, self._folder, self._notes = root, folder, notes
        self.files: list[Path] = sorted(folder.glob("*.json"))
        self._calibrated = {
            row.token: row for row in t.read_table(folder, "calibrated_sensor", t.CalibratedSensor)
        }
        self._sensors = {row.token: row for row in t.read_table(folder, "sensor", t.Sensor)}
        self._data: dict[str, list[t.SampleData]] = defaultdict(list)
        unknown = 0
        for row in t.read_table(folder, "sample_data", t.SampleData):
            if sensor := self._sensor(row.calibrated_sensor_token):
                self._data[sensor.channel].append(row)
            else:
                unknown += 1
        if unknown:
            where = Where(file=str(folder / "sample_data.json"))
            notes.add(Problem.BAD_VALUE, f"{unknown} files are of sensors that no table knows", where, unknown)
        self._samples = {row.token: row for row in self._optional("sample", t.Sample)}

    def sources(self) -> Iterator[Source]:
        """The streams of all sensors, of the boxes and of the car's poses."""
        for channel, rows in sorted(self._data.items()):
            try:
                if source := self._files_of(channel, sorted(rows, key=lambda row: row.timestamp)):
                    yield source
            except UnreadableError as error:
                self._noted(error, "sample_data", channel)
        poses = sorted(self._optional("ego_pose", t.EgoPose), key=lambda row: row.timestamp)
        for name, make in (("ego_pose", self._poses), ("sample_annotation", self._boxes)):
            try:
                yield from make(poses)
            except UnreadableError as error:
                self._noted(error, name)

    def episodes(self) -> tuple[EpisodeSpan, ...]:
        """The scenes, from their first key frame to their last."""
        times = defaultdict(list)
        for sample in self._samples.values():
            times[sample.scene_token].append(sample.timestamp)
        spans = []
        scenes = [scene for scene in self._optional("scene", t.Scene) if scene.token in times]
        for index, scene in enumerate(sorted(scenes, key=lambda scene: min(times[scene.token]))):
            try:
                start, end = t.to_ns([min(times[scene.token]), max(times[scene.token])]).tolist()
            except UnreadableError as error:
                self._noted(error, "sample")
                continue
            said = {"scene": scene.name, "description": scene.description}
            spans.append(EpisodeSpan(index, start, end + 1, attributes=said))
        return tuple(spans)

    def calibration(self) -> Iterator[CalibrationItem]:
        """Cameras and places of the sensors, as the first file of each was taken with."""
        for channel, rows in sorted(self._data.items()):
            used = list(dict.fromkeys(row.calibrated_sensor_token for row in rows))
            sensor = self._calibrated[used[0]]
            try:
                yield FramePose(EGO, channel, floats(sensor.translation, 3), floats(sensor.rotation, 4))
                if sensor.camera_intrinsic:
                    extra: dict[str, object] = {"calibrations": len(used)} if len(used) > 1 else {}
                    intrinsics = intrinsics_of(sensor.camera_intrinsic)
                    width, height = rows[0].width or None, rows[0].height or None
                    yield CameraCalibration(
                        channel, CameraModel.PINHOLE, width, height, intrinsics, extra=extra
                    )
            except UnreadableError as error:
                self._noted(error, "calibrated_sensor", channel)

    def _files_of(self, channel: str, rows: list[t.SampleData]) -> Source | None:
        found = [(row, find_file(self._root, row.filename)) for row in rows]
        note_missing(channel, [row.filename for row, file in found if file is None], self._root, self._notes)
        files = [file for _, file in found if file is not None]
        self.files += files
        if not files:
            return None
        sensor = self._sensor(rows[0].calibrated_sensor_token)
        stamps = t.to_ns([row.timestamp for row, file in found if file is not None])
        keys = sum(row.is_key_frame for row, file in found if file is not None)
        said = {"key_frames": str(keys)}
        if sensor and sensor.modality == "camera":
            times = FileTimes(stamps, None, StampSource.EXPOSURE_START, _CLOCK)
            return ImageFiles(channel, files, times, self._notes, frame_id=channel, attributes=said)
        load = load_pcd if files[0].suffix == ".pcd" else _LIDAR
        times = FileTimes(stamps, None, StampSource.SENSOR, _CLOCK)
        return PointFiles(channel, files, times, load, self._notes, frame_id=channel, attributes=said)

    def _poses(self, poses: list[t.EgoPose]) -> Iterator[Source]:
        if poses:
            rotations = [floats(pose.rotation, 4) for pose in poses]
            stamps = t.to_ns([pose.timestamp for pose in poses])
            yield pose_stream(stamps, [floats(pose.translation, 3) for pose in poses], rotations)

    def _boxes(self, _: list[t.EgoPose]) -> Iterator[Source]:
        instances = {row.token: row.category_token for row in self._optional("instance", t.Instance)}
        categories = {row.token: row.name for row in self._optional("category", t.Named)}
        attributes = {row.token: row.name for row in self._optional("attribute", t.Named)}
        rows = [
            row
            for row in self._optional("sample_annotation", t.Annotation)
            if row.sample_token in self._samples
        ]
        if not rows:
            return
        rows.sort(key=lambda row: self._samples[row.sample_token].timestamp)
        stamps = t.to_ns([self._samples[row.sample_token].timestamp for row in rows])
        samples = {
            token: number for number, token in enumerate(dict.fromkeys(row.sample_token for row in rows))
        }
        columns = detections(
            [samples[row.sample_token] for row in rows],
            [categories.get(instances.get(row.instance_token, ""), "") for row in rows],
            GLOBAL,
            track=[row.instance_token for row in rows],
            position=[floats(row.translation, 3) for row in rows],
            orientation=[floats(row.rotation, 4) for row in rows],
            size=np.array([floats(row.size, 3) for row in rows])[:, [1, 0, 2]],
            data=[_rest(row, attributes) for row in rows],
        )
        stream = Stream(
            name="boxes",
            kind=Kind.DETECTIONS,
            role=Role.TRUTH,
            count=len(samples),
            start_ns=int(stamps.min()),
            end_ns=int(stamps.max()),
            timeline="stamp_ns",
            stamp_source=StampSource.SENSOR,
            stamp_clock=_CLOCK,
            type_name="sample_annotation",
            encoding="json",
            attributes={"boxes": str(len(rows))},
        )
        yield TableInMemory(stream, {"stamp_ns": pa.array(stamps)} | columns)

    def _sensor(self, calibrated: str) -> t.Sensor | None:
        found = self._calibrated.get(calibrated)
        return self._sensors.get(found.sensor_token) if found else None

    def _optional(self, name: str, row: type[t.T]) -> list[t.T]:
        """The rows of a table that a scene can do without; what is wrong with it is noted."""
        try:
            return t.read_table(self._folder, name, row)
        except TwinloopError as error:
            self._noted(error, name)
            return []

    def _noted(self, error: TwinloopError, table: str, stream: str | None = None) -> None:
        where = Where(file=str(self._folder / f"{table}.json"), stream=stream)
        self._notes.add(Problem.CORRUPT, error.what, where, None)


def _rest(row: t.Annotation, attributes: dict[str, str]) -> str:
    said = {
        "token": row.token,
        "num_lidar_pts": row.num_lidar_pts,
        "num_radar_pts": row.num_radar_pts,
        "visibility": row.visibility_token,
        "attributes": [attributes.get(token, token) for token in row.attribute_tokens],
    }
    return msgspec.json.encode(said).decode()
