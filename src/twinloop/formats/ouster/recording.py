"""A capture as a recording: points, motion, sentences and zones of each sensor."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.core.calibration import encode_calibration
from twinloop.core.errors import Where
from twinloop.core.recording import Problem, Recording
from twinloop.core.stream import Batch, Payload
from twinloop.core.timeline import cut_to_window, timeline_ns
from twinloop.formats.notes import Notes
from twinloop.formats.ouster.capture import read_capture
from twinloop.formats.ouster.cloud import Beams, Frame, beams_of, cloud_columns, cloud_of, point_type
from twinloop.formats.ouster.datagrams import Assembler, Datagrams
from twinloop.formats.ouster.frames import Framer
from twinloop.formats.ouster.motion import imu_columns, sentence_columns
from twinloop.formats.ouster.packets import LidarPackets
from twinloop.formats.ouster.sensors import SAMPLE_BYTES, Traffic, find_members, sample_traffic
from twinloop.formats.ouster.units import (
    MOTION,
    POINTS,
    SECOND,
    SENTENCES,
    ZONES,
    Unit,
    beam_angles,
    clock_of,
    metadata_of,
    poses_of,
    streams_of,
    unit_of,
)
from twinloop.formats.ouster.zones import zone_columns

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path


#: Captures up to this size are gone through when they are opened, so that counts and spans are known.
_COUNTED = 12 << 20
#: Points of several frames are handed on together up to this many bytes.
_CLOUD_BYTES = 16 << 20


class OusterRecording(Recording):
    """Every sensor that metadata beside the capture describes; of several, streams have the serial number."""

    def __init__(self, path: Path, *, verify: bool) -> None:
        notes, quiet = Notes(), Notes()
        traffic = sample_traffic(path, quiet, SAMPLE_BYTES)
        members = find_members(path, traffic)
        self._note, self._verify = notes, verify
        self._units = [unit_of(member, len(members) > 1) for member in members]
        self._beams: dict[str, Beams] = {}
        sensors = [member.sensor for member in members]
        super().__init__(
            path,
            "ouster",
            files=(path, *dict.fromkeys(sensor.file for sensor in sensors)),
            streams={s.name: s for unit in self._units for s in streams_of(unit, traffic)},
            metadata=metadata_of(self._units),
            calibration=encode_calibration(pose for unit in self._units for pose in poses_of(unit))
            | beam_angles(self._units),
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
            elif (part := cut_to_window(self.streams[batch.stream], batch, start_ns, end_ns)) is not None:
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

    def _small(self, unit: Unit, datagrams: Datagrams, names: set[str]) -> Iterator[Batch]:
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

    def _clouds(self, unit: Unit, frames: Iterator[Frame], names: set[str], payload: bool) -> Iterator[Batch]:
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

    def _cloud_batch(self, unit: Unit, frames: list[Frame], what: str, payload: bool) -> Batch:
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
            clock = clock_of(unit.member.sensor, next(iter(starts), None))
            for name in unit.names.values():
                span = spans.get(name, (None, None))
                stream = replace(self.streams[name], count=counts[name], start_ns=span[0], end_ns=span[1])
                self.streams[name] = replace(stream, stamp_clock=clock)

    def _note_metadata(self, unit: Unit, traffic: Traffic) -> None:
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


def _packets(unit: Unit, datagrams: Datagrams) -> LidarPackets:
    """A block's lidar packets of a sensor; of several on one port, those that carry its serial number."""
    layout = unit.member.sensor.lidar
    assert layout is not None
    packets = LidarPackets.of(layout, datagrams.take(unit.member.lidar(datagrams)))
    identity = unit.member.identity
    if identity is None or not len(packets):
        return packets
    return packets.take(np.flatnonzero(packets.identity[:, 0] == identity[0]))


def _note_strangers(strangers: Traffic, notes: Notes, path: str) -> None:
    for (port, size), count in strangers.counts.most_common(8):
        message = f"{count} packets of {size} bytes to port {port} are of no sensor that is described"
        notes.add(Problem.SCHEMA, message, Where(path))
