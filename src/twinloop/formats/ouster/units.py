"""Units: what each sensor of a capture has of streams, clock, calibration and facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.calibration import FramePose
from twinloop.core.clock import Clock, Epoch
from twinloop.core.kinds import Kind, StampSource
from twinloop.core.stream import Stream
from twinloop.formats.ouster.packets import LidarPackets
from twinloop.formats.time_column import epoch_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.formats.ouster.metadata import Sensor
    from twinloop.formats.ouster.sensors import Member, Traffic

POINTS, SECOND, MOTION, SENTENCES, ZONES = "points", "points2", "imu", "nmea", "zones"
_KINDS = {
    POINTS: Kind.POINTS,
    SECOND: Kind.POINTS,
    MOTION: Kind.IMU,
    SENTENCES: Kind.TEXT,
    ZONES: Kind.TABLE,
}


@dataclass(frozen=True, slots=True)
class Unit:
    """One sensor's part in the recording: its streams' names by what they hold."""

    member: Member
    prefix: str
    names: dict[str, str]

    def frame(self, what: str) -> str:
        return f"{self.prefix}os_{what}"


def unit_of(member: Member, several: bool) -> Unit:
    sensor = member.sensor
    prefix = f"{sensor.serial or sensor.file.stem}/" if several else ""
    held = [MOTION] if sensor.imu_size else []
    if sensor.imu_count:
        held.append(SENTENCES)
    if sensor.ports[2]:
        held.append(ZONES)
    if sensor.lidar is not None:
        held = [POINTS, *([SECOND] if sensor.lidar.returns == 2 else []), *held]
    return Unit(member, prefix, {what: f"{prefix}{what}" for what in held})


def streams_of(unit: Unit, traffic: Traffic) -> Iterator[Stream]:
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
            stamp_clock=clock_of(sensor, first),
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


def clock_of(sensor: Sensor, stamp_ns: int | None) -> Clock:
    """Its own oscillator counts from when it was switched on; what it takes from outside tells by its size."""
    outside = sensor.timestamp_mode in ("TIME_FROM_PTP_1588", "TIME_FROM_SYNC_PULSE_IN")
    unix = stamp_ns is not None and epoch_of(stamp_ns) is Epoch.UNIX
    if unix and (outside or not sensor.timestamp_mode):
        return Clock(Epoch.UNIX, "ptp" if outside else "")
    return Clock(Epoch.DEVICE, sensor.serial)


def poses_of(unit: Unit) -> Iterator[FramePose]:
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


def beam_angles(units: list[Unit]) -> dict[str, object]:
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


def metadata_of(units: list[Unit]) -> dict[str, str]:
    found: dict[str, str] = {}
    for unit in units:
        found[f"{unit.prefix}metadata_file"] = unit.member.sensor.file.name
        found |= {f"{unit.prefix}{key}": value for key, value in unit.member.sensor.flat.items()}
    return found
