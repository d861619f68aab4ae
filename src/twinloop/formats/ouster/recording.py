"""A capture as a recording: points, motion, sentences and zones of each sensor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.core.calibration import FramePose, encode_calibration
from twinloop.core.clock import Clock, Epoch
from twinloop.core.errors import Where
from twinloop.core.kinds import Kind, StampSource
from twinloop.core.recording import Problem, Recording
from twinloop.core.stream import Batch, Payload, Stream
from twinloop.core.timeline import timeline_ns
from twinloop.formats.notes import Notes
from twinloop.formats.ouster.capture import read_capture
from twinloop.formats.ouster.cloud import Beams, Frame, beams_of, cloud_columns, cloud_of, point_type
from twinloop.formats.ouster.datagrams import Assembler, Datagrams
from twinloop.formats.ouster.frames import Framer
from twinloop.formats.ouster.motion import imu_columns, sentence_columns
from twinloop.formats.ouster.packets import LidarPackets
from twinloop.formats.ouster.sensors import SAMPLE_BYTES, Member, Traffic, find_members, sample_traffic
from twinloop.formats.ouster.zones import zone_columns
from twinloop.formats.time_column import epoch_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from twinloop.formats.ouster.metadata import Sensor

#: Captures up to this size are gone through when they are opened, so that counts and spans are known.
_COUNTED = 12 << 20
#: Points of several frames are handed on together up to this many bytes.
_CLOUD_BYTES = 16 << 20
POINTS, SECOND, MOTION, SENTENCES, ZONES = "points", "points2", "imu", "nmea", "zones"
_KINDS = {
    POINTS: Kind.POINTS,
    SECOND: Kind.POINTS,
    MOTION: Kind.IMU,
    SENTENCES: Kind.TEXT,
    ZONES: Kind.TABLE,
}


@dataclass(frozen=True, slots=True)
class _Unit:
    """One sensor's part in the recording: its streams' names by what they hold."""

    member: Member
    prefix: str
    names: dict[str, str]

    def frame(self, what: str) -> str:
        return f"{self.prefix}os_{what}"


class OusterRecording(Recording):
    """Every sensor that metadata beside the capture describes; of several, streams have the serial number."""

    def __init__(self, path: Path, *, verify: bool) -> None:
        notes, quiet = Notes(), Notes()
        traffic = sample_traffic(path, quiet, SAMPLE_BYTES)
        members = find_members(path, traffic)
        self._note, self._verify = notes, verify
        self._units = [_unit(member, len(members) > 1) for member in members]
        self._beams: dict[str, Beams] = {}
        sensors = [member.sensor for member in members]
        super().__init__(
            path,
            "ouster",
            files=(path, *dict.fromkeys(sensor.file for sensor in sensors)),
            streams={s.name: s for unit in self._units for s in _streams(unit, traffic)},
            metadata=_metadata(self._units),
            calibration=encode_calibration(pose for unit in self._units for pose in _poses(unit))
            | _beam_angles(self._units),
            notes=notes.all,
        )
        for unit in self._units:
            self._note_metadata(unit, traffic)
        if path.stat().st_size <= _COUNTED:
            self._measure()

    def scan(
        self,
        streams: Collection[str] | None = None,
        *,
        start_ns: int | None = None,
        end_ns: int | None = None,
        payload: bool = True,
    ) -> Iterator[Batch]:
        names = set(self.check_names(streams))
        for batch in self._scan(names, payload, self._note):
            if start_ns is None and end_ns is None:
                yield batch
            elif (part := _window(self.streams[batch.stream], batch, start_ns, end_ns)) is not None:
                yield part

    def _scan(self, names: set[str], payload: bool, notes: Notes) -> Iterator[Batch]:
        units = [unit for unit in self._units if names & set(unit.names.values())]
        framers = {
            id(unit): Framer(unit.member.sensor, verify=self._verify)
            for unit in units
            if names & {unit.names.get(POINTS), unit.names.get(SECOND)}
        }
        assembler = Assembler(self.path, notes)
        strangers = Traffic()
        for records in read_capture(self.path, notes):
            datagrams = assembler.datagrams(records)
            if not len(datagrams):
                continue
            known = np.zeros(len(datagrams), np.bool_)
            for unit in self._units:
                known[unit.member.lidar(datagrams)] = True
                known[unit.member.imu(datagrams)] = True
                known[unit.member.zones(datagrams)] = True
            if not known.all():
                strangers.add(datagrams.take(np.flatnonzero(~known)))
            for unit in units:
                yield from self._small(unit, datagrams, names)
                if id(unit) in framers:
                    packets = _packets(unit, datagrams)
                    yield from self._clouds(unit, framers[id(unit)].frames(packets), names, payload)
        for unit in units:
            if id(unit) in framers:
                yield from self._clouds(unit, framers[id(unit)].finish(), names, payload)
                framers[id(unit)].note(notes, str(self.path), unit.names[POINTS])
        assembler.finish()
        _note_strangers(strangers, notes, str(self.path))

    def _small(self, unit: _Unit, datagrams: Datagrams, names: set[str]) -> Iterator[Batch]:
        """Motion, sentences and zones of a block."""
        sensor = unit.member.sensor
        made: list[tuple[str, dict[str, pa.Array]]] = []
        motion = datagrams.take(unit.member.imu(datagrams))
        if len(motion) and unit.names.get(MOTION) in names:
            made.append((unit.names[MOTION], imu_columns(sensor, motion, unit.frame("imu"))))
        if len(motion) and unit.names.get(SENTENCES) in names:
            made.append((unit.names[SENTENCES], sentence_columns(motion)))
        if unit.names.get(ZONES) in names and len(rows := unit.member.zones(datagrams)):
            made.append((unit.names[ZONES], zone_columns(datagrams.take(rows))))
        for name, columns in made:
            batch = pa.RecordBatch.from_pydict(columns)
            if batch.num_rows:
                yield Batch(name, batch)

    def _clouds(self, unit: _Unit, frames: Iterator[Frame], names: set[str], payload: bool) -> Iterator[Batch]:
        """Frames as clouds, several a batch."""
        sensor = unit.member.sensor
        wanted = [what for what in (POINTS, SECOND) if unit.names.get(what) in names]
        assert sensor.lidar is not None
        size = sensor.columns * sensor.lidar.pixels * point_type(sensor.lidar, False).itemsize
        group: list[Frame] = []
        for frame in frames:
            group.append(frame)
            if len(group) * size >= _CLOUD_BYTES:
                yield from (self._cloud_batch(unit, group, what, payload) for what in wanted)
                group = []
        if group:
            yield from (self._cloud_batch(unit, group, what, payload) for what in wanted)

    def _cloud_batch(self, unit: _Unit, frames: list[Frame], what: str, payload: bool) -> Batch:
        sensor = unit.member.sensor
        assert sensor.lidar is not None
        second = what == SECOND
        columns = {
            "stamp_ns": pa.array([frame.stamp_ns for frame in frames], pa.int64()),
            "log_ns": pa.array([int(frame.packets.time_ns.min()) for frame in frames], pa.int64()),
            "seq": pa.array([frame.number for frame in frames], pa.int64()),
        }
        columns |= cloud_columns(sensor, point_type(sensor.lidar, second), len(frames), unit.frame("lidar"))
        columns["columns_seen"] = pa.array([len(frame.columns) for frame in frames], pa.int32())
        bulk = None
        if payload:
            beams = self._beams.setdefault(unit.prefix, beams_of(sensor))
            clouds = [cloud_of(sensor, beams, frame, second).view(np.uint8).reshape(-1) for frame in frames]
            length = np.array([len(cloud) for cloud in clouds], np.int64)
            bulk = Payload(np.concatenate(clouds), np.cumsum(length) - length, length)
        return Batch(unit.names[what], pa.RecordBatch.from_pydict(columns), bulk)

    def _measure(self) -> None:
        """Counts and spans of a small capture, by going through it once without its points."""
        counts = dict.fromkeys(self.streams, 0)
        spans: dict[str, tuple[int, int]] = {}
        for batch in self._scan(set(self.streams), False, Notes()):
            times = timeline_ns(self.streams[batch.stream], batch.columns)
            counts[batch.stream] += len(batch)
            start, end = int(times.min()), int(times.max())
            before = spans.get(batch.stream, (start, end))
            spans[batch.stream] = (min(before[0], start), max(before[1], end))
        for unit in self._units:
            starts = [spans[name][0] for name in unit.names.values() if name in spans]
            clock = _clock(unit.member.sensor, next(iter(starts), None))
            for name in unit.names.values():
                span = spans.get(name, (None, None))
                stream = replace(self.streams[name], count=counts[name], start_ns=span[0], end_ns=span[1])
                self.streams[name] = replace(stream, stamp_clock=clock)

    def _note_metadata(self, unit: _Unit, traffic: Traffic) -> None:
        sensor = unit.member.sensor
        where = Where(str(sensor.file))
        if sensor.lidar is None and sensor.profile != "OFF":
            message = f"the lidar profile {sensor.profile} is not known; its packets are left out"
            self._note.add(Problem.SCHEMA, message, where, None)
        if sensor.beam_to_lidar is None:
            message = "the metadata does not state where beams begin; points are up to 3 cm off"
            self._note.add(Problem.SCHEMA, message, where)
        identity = unit.member.identity
        layout = sensor.lidar
        if identity is None or layout is None:
            return
        for (_, size, _), sample in traffic.samples.items():
            if size == layout.size:
                serial, init = LidarPackets.of(layout, sample).identity[0].tolist()
                if serial == identity[0] and init != identity[1] and sensor.init_id is not None:
                    message = (
                        f"the metadata is of start {identity[1]} of the sensor, the packets are of start {init}"
                    )
                    self._note.add(Problem.SCHEMA, message, where)
                    return


def _unit(member: Member, several: bool) -> _Unit:
    sensor = member.sensor
    prefix = f"{sensor.serial or sensor.file.stem}/" if several else ""
    held = [MOTION] if sensor.imu_size else []
    if sensor.imu_count:
        held.append(SENTENCES)
    if sensor.ports[2]:
        held.append(ZONES)
    if sensor.lidar is not None:
        held = [POINTS, *([SECOND] if sensor.lidar.returns == 2 else []), *held]
    return _Unit(member, prefix, {what: f"{prefix}{what}" for what in held})


def _streams(unit: _Unit, traffic: Traffic) -> Iterator[Stream]:
    sensor = unit.member.sensor
    first = _first_stamp(sensor, traffic)
    for what, name in unit.names.items():
        lidar = what in (POINTS, SECOND)
        attributes = {"sensor": sensor.name, "timestamp_mode": sensor.timestamp_mode or "not stated"}
        if lidar:
            attributes["log_ns"] = "capture of the first packet"
            attributes["t"] = "ns after the stamp, of each point"
        yield Stream(
            name,
            _KINDS[what],
            timeline="stamp_ns",
            stamp_source=StampSource.SENSOR,
            stamp_clock=_clock(sensor, first),
            log_clock=Clock(Epoch.UNIX, "capture"),
            type_name=sensor.profile
            if lidar
            else sensor.imu_profile
            if what in (MOTION, SENTENCES)
            else "zone",
            encoding="ouster",
            rate_hz=sensor.rate_hz if lidar else None,
            units={"min_range_m": "m", "max_range_m": "m", "mean_range_m": "m"} if what == ZONES else {},
            attributes=attributes,
        )


def _first_stamp(sensor: Sensor, traffic: Traffic) -> int | None:
    for (_, size, _), sample in traffic.samples.items():
        if sensor.lidar is not None and size == sensor.lidar.size:
            return int(LidarPackets.of(sensor.lidar, sample).column_time_ns[0, 0])
    return None


def _clock(sensor: Sensor, stamp_ns: int | None) -> Clock:
    """Its own oscillator counts from when it was switched on; what it takes from outside tells by its size."""
    outside = sensor.timestamp_mode in ("TIME_FROM_PTP_1588", "TIME_FROM_SYNC_PULSE_IN")
    unix = stamp_ns is not None and epoch_of(stamp_ns) is Epoch.UNIX
    if unix and (outside or not sensor.timestamp_mode):
        return Clock(Epoch.UNIX, "ptp" if outside else "")
    return Clock(Epoch.DEVICE, sensor.serial)


def _packets(unit: _Unit, datagrams: Datagrams) -> LidarPackets:
    """A block's lidar packets of a sensor; of several on one port, those that carry its serial number."""
    layout = unit.member.sensor.lidar
    assert layout is not None
    packets = LidarPackets.of(layout, datagrams.take(unit.member.lidar(datagrams)))
    identity = unit.member.identity
    if identity is None or not len(packets):
        return packets
    return packets.take(np.flatnonzero(packets.identity[:, 0] == identity[0]))


def _poses(unit: _Unit) -> Iterator[FramePose]:
    """Where lidar and IMU sit in the sensor; metadata give millimetres."""
    from twinloop.core.se3 import SE3

    sensor = unit.member.sensor
    for what, values in (("lidar", sensor.lidar_to_sensor), ("imu", sensor.imu_to_sensor)):
        if values is None:
            continue
        matrix = np.asarray(values, np.float64).reshape(4, 4)
        if abs(np.linalg.det(matrix[:3, :3]) - 1) > 1e-3:
            continue
        pose = SE3.from_matrix(matrix)
        translation = tuple((pose.translation[0] / 1000).tolist())
        yield FramePose(unit.frame("sensor"), unit.frame(what), translation, tuple(pose.rotation[0].tolist()))


def _beam_angles(units: list[_Unit]) -> dict[str, object]:
    """The beams of each lidar, in the metadata's own units."""
    return {
        f"lidar/{unit.frame('lidar')}": {
            "beam_altitude_angles_deg": list(unit.member.sensor.altitude),
            "beam_azimuth_angles_deg": list(unit.member.sensor.azimuth),
            "beam_to_lidar_transform_mm": list(unit.member.sensor.beam_to_lidar or ()),
            "columns_per_frame": unit.member.sensor.columns,
            "column_window": list(unit.member.sensor.window),
        }
        for unit in units
    }


def _metadata(units: list[_Unit]) -> dict[str, str]:
    found: dict[str, str] = {}
    for unit in units:
        found[f"{unit.prefix}metadata_file"] = unit.member.sensor.file.name
        found |= {f"{unit.prefix}{key}": value for key, value in unit.member.sensor.flat.items()}
    return found


def _window(stream: Stream, batch: Batch, start_ns: int | None, end_ns: int | None) -> Batch | None:
    times = timeline_ns(stream, batch.columns)
    keep = np.ones(len(times), np.bool_)
    if start_ns is not None:
        keep &= times >= start_ns
    if end_ns is not None:
        keep &= times < end_ns
    rows = np.flatnonzero(keep)
    if not len(rows):
        return None
    bulk = batch.payload
    if bulk is not None:
        bulk = Payload(bulk.buffer, bulk.offset[rows], bulk.length[rows])
    return Batch(batch.stream, batch.columns.take(pa.array(rows)), bulk)


def _note_strangers(strangers: Traffic, notes: Notes, path: str) -> None:
    for (port, size), count in strangers.counts.most_common(8):
        message = f"{count} packets of {size} bytes to port {port} are of no sensor that is described"
        notes.add(Problem.SCHEMA, message, Where(path))
