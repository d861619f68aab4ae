"""From ranges to points: directions of beams, and frames as organised clouds.

Ouster's firmware manual, "Lidar range to XYZ": for column m of w, range r, the beam's altitude phi, azimuth
theta_a and origin n from the axis,

    theta_e = 2 pi (1 - m / w),  theta_a = -2 pi azimuth / 360
    x = (r - n) cos(theta_e + theta_a) cos(phi) + b_x cos(theta_e)
    y = (r - n) sin(theta_e + theta_a) cos(phi) + b_x sin(theta_e)
    z = (r - n) sin(phi) + b_z

in the lidar's frame, with b the translation of `beam_to_lidar_transform` and n its length.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.formats.arrow_columns import constant

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from twinloop.formats.ouster.metadata import Sensor
    from twinloop.formats.ouster.packets import LidarPackets
    from twinloop.formats.ouster.profiles import PacketLayout

#: sensor_msgs/PointField's numbers of types.
_TYPES = {"<u1": 2, "<u2": 4, "<u4": 6, "<f4": 7}
_FIELD_TYPES = {"signal": "<u2", "reflectivity": "<u2", "near_ir": "<u2", "zone_mask": "<u2", "window": "<u1"}


@dataclass(frozen=True, slots=True)
class Beams:
    """`direction` and `offset` (3, H, W) float32 [m]: a point is range times direction plus offset."""

    direction: NDArray[np.float32]
    offset: NDArray[np.float32]


def beams_of(sensor: Sensor) -> Beams:
    """The look-up table of a sensor's beams."""
    beam = sensor.beam_to_lidar or (0.0,) * 16
    b_x, b_z = beam[3], beam[11]
    n = float(np.hypot(b_x, b_z))
    turn = (2 * np.pi * (1 - np.arange(sensor.columns) / sensor.columns))[None, :]
    phi = np.radians(np.asarray(sensor.altitude))[:, None]
    angle = turn - np.radians(np.asarray(sensor.azimuth))[:, None]
    height = np.broadcast_to(np.sin(phi), angle.shape)
    direction = np.stack([np.cos(angle) * np.cos(phi), np.sin(angle) * np.cos(phi), height])
    ones = np.ones_like(angle)
    base = np.stack([b_x * np.cos(turn) * ones, b_x * np.sin(turn) * ones, b_z * ones])
    return Beams(direction.astype(np.float32), ((base - n * direction) / 1000).astype(np.float32))


def point_type(layout: PacketLayout, second: bool) -> np.dtype[np.void]:
    """The fields of a point: x y z, then what the profile has of the return, time, ring and range."""
    fields: list[tuple[str, str]] = [("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("t", "<u4"), ("range", "<u4")]
    fields.append(("ring", "<u2"))
    for name, type_ in _FIELD_TYPES.items():
        if source_field(layout, name, second) is not None:
            fields.append((name, type_))
    return np.dtype(fields)


def source_field(layout: PacketLayout, name: str, second: bool) -> str | None:
    """The packet's field for a point's field: of the second return where it has one of its own."""
    if second and f"{name}2" in layout.fields:
        return f"{name}2"
    return name if name in layout.fields else None


def fields_text(points: np.dtype[np.void]) -> str:
    """The layout of points as the column `fields` has it."""
    described = []
    for name in points.names or ():
        type_, offset = points.fields[name][:2]  # type: ignore[index]
        described.append({"name": name, "offset": offset, "datatype": _TYPES["<" + type_.str[1:]], "count": 1})
    return json.dumps(described)


@dataclass(frozen=True, slots=True)
class Frame:
    """One turn of the sensor, of what packets there are.

    `number`: as counted on from the first. `columns` (K,): measurement of each column that was seen.
    `rows` (K,): where the column lies among all columns of `packets`.
    """

    number: int
    packets: LidarPackets
    columns: NDArray[np.int64]
    rows: NDArray[np.int64]

    @property
    def stamp_ns(self) -> int:
        """The sensor's time of the first column."""
        return int(self.packets.column_time_ns.reshape(-1)[self.rows].min())


def cloud_of(sensor: Sensor, beams: Beams, frame: Frame, second: bool) -> NDArray[np.void]:
    """The frame's points (H, W): row is the ring, column the measurement; no return: NaN and range 0."""
    layout = frame.packets.layout
    pixels = frame.packets.pixels
    flat = pixels.reshape(-1, layout.pixels, layout.pixel_size) if pixels.flags.c_contiguous else None
    if flat is None:
        packet, column = np.divmod(frame.rows, layout.columns)
        flat = pixels[packet, column]
    else:
        flat = flat[frame.rows]
    points = np.zeros((layout.pixels, sensor.columns), point_type(layout, second))
    at = _place(frame.columns)
    if len(frame.columns) < sensor.columns:
        for axis in "xyz":
            points[axis] = np.nan
    name = source_field(layout, "range", second)
    assert name is not None
    millimetres = _rows(layout.fields[name].of(flat))
    metres = millimetres.astype(np.float32) * np.float32(1e-3)
    metres[millimetres == 0] = np.nan
    for number, axis in enumerate("xyz"):
        points[axis][:, at] = metres * beams.direction[number][:, at] + beams.offset[number][:, at]
    points["range"][:, at] = millimetres
    times = frame.packets.column_time_ns.reshape(-1)[frame.rows]
    points["t"][:, at] = np.clip(times - frame.stamp_ns, 0, (1 << 32) - 1).astype(np.uint32)[None, :]
    points["ring"] = np.arange(layout.pixels, dtype=np.uint16)[:, None]
    for field in points.dtype.names or ():
        source = source_field(layout, field, second) if field in _FIELD_TYPES else None
        if source is not None:
            points[field][:, at] = _rows(layout.fields[source].of(flat).astype(points[field].dtype))
    return points


def _rows(columns: NDArray[np.generic]) -> NDArray[np.generic]:
    """Values by column and ring (K, H), as (H, K)."""
    return np.ascontiguousarray(columns.T)


def _place(columns: NDArray[np.int64]) -> slice | NDArray[np.int64]:
    """Sorted columns as a slice where none is missing between them."""
    first, last = int(columns[0]), int(columns[-1])
    return slice(first, last + 1) if last - first + 1 == len(columns) else columns


def cloud_columns(sensor: Sensor, points: np.dtype[np.void], rows: int, frame_id: str) -> dict[str, pa.Array]:
    """The columns of kind points for `rows` frames."""

    def whole(value: int) -> pa.Array:
        return pa.array(np.full(rows, value, np.int32))

    return {
        "frame_id": constant(frame_id, rows),
        "width": whole(sensor.columns),
        "height": whole(len(sensor.altitude)),
        "fields": constant(fields_text(points), rows),
        "point_step": whole(points.itemsize),
        "row_step": whole(points.itemsize * sensor.columns),
        "is_bigendian": pa.array([False] * rows),
        "is_dense": pa.array([False] * rows),
    }
