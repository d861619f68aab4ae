"""IMU packets of old firmware (one measurement) and new (several, with a GNSS receiver's last sentence)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.formats.arrow_columns import constant, vectors
from twinloop.formats.ros.gather import gather

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from twinloop.formats.ouster.datagrams import Datagrams
    from twinloop.formats.ouster.metadata import Sensor

#: Old packets give g and degrees a second; new ones m/s2 and rad/s.
_G = 9.80665
LEGACY_IMU = np.dtype(
    [("system_ns", "<u8"), ("accel_ns", "<u8"), ("gyro_ns", "<u8"), ("accel", "<f4", 3), ("gyro", "<f4", 3)]
)
_MEASUREMENT = np.dtype(
    [("time_ns", "<u8"), ("number", "<u2"), ("status", "<u2"), ("accel", "<f4", 3), ("gyro", "<f4", 3)]
)
_HEADER, _SENTENCE = 32, 92


def imu_columns(sensor: Sensor, datagrams: Datagrams, frame_id: str) -> dict[str, pa.Array]:
    """The measurements of IMU packets; stamp: the sensor's time, receipt: when the packet was captured."""
    with np.errstate(invalid="ignore"):  # a broken packet may hold what is no number
        return _columns(sensor, datagrams, frame_id)


def _columns(sensor: Sensor, datagrams: Datagrams, frame_id: str) -> dict[str, pa.Array]:
    if not sensor.imu_count:
        packets = gather(datagrams.buffer, datagrams.start, LEGACY_IMU.itemsize).view(LEGACY_IMU).reshape(-1)
        return {
            "stamp_ns": _times(packets["accel_ns"]),
            "log_ns": pa.array(datagrams.time_ns),
            "frame_id": constant(frame_id, len(packets)),
            "angular_velocity": vectors(np.radians(packets["gyro"].astype(np.float64))),
            "linear_acceleration": vectors(packets["accel"].astype(np.float64) * _G),
            "gyro_ns": _times(packets["gyro_ns"]),
            "system_ns": _times(packets["system_ns"]),
        }
    size = _MEASUREMENT.itemsize * sensor.imu_count
    start = datagrams.start + _HEADER + 8 + _SENTENCE
    values = gather(datagrams.buffer, start, size).view(_MEASUREMENT).reshape(-1)
    log = np.repeat(datagrams.time_ns, sensor.imu_count)
    good = (values["status"] & 1).astype(np.bool_)
    values, log = values[good], log[good]
    return {
        "stamp_ns": _times(values["time_ns"]),
        "log_ns": pa.array(log),
        "frame_id": constant(frame_id, len(values)),
        "angular_velocity": vectors(values["gyro"].astype(np.float64)),
        "linear_acceleration": vectors(values["accel"].astype(np.float64)),
        "measurement": pa.array(values["number"].astype(np.int32)),
    }


def sentence_columns(datagrams: Datagrams) -> dict[str, pa.Array]:
    """The NMEA sentences in new IMU packets; a packet without one gives no row."""
    head = gather(datagrams.buffer, datagrams.start + _HEADER, 8 + _SENTENCE)
    stamps = np.ascontiguousarray(head[:, :8]).view("<u8")[:, 0]
    texts = [row.tobytes().split(b"\0", 1)[0].decode("ascii", "replace").strip() for row in head[:, 8:]]
    some = np.array([bool(text) for text in texts], np.bool_)
    return {
        "stamp_ns": _times(stamps[some]),
        "log_ns": pa.array(datagrams.time_ns[some]),
        "text": pa.array([text for text in texts if text], pa.string()),
    }


def _times(values: NDArray[np.uint64]) -> pa.Array:
    return pa.array(values.astype(np.int64))
