"""Which kind a stream is, and its columns from the fields of its records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.core.kinds import TIME_COLUMNS, Kind
from twinloop.core.se3 import from_xyzw
from twinloop.formats.arrow_columns import constant, vectors
from twinloop.formats.vrs.aria import NAN_IS_ABSENT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from twinloop.formats.vrs.content import RecordFormat
    from twinloop.formats.vrs.layout import Block, Layout

_MAGNETOMETER_TYPE = 1203
_COMBINED = "gaze_direction_combined_in_device"
_HANDS = ("left_hand", "right_hand")
_LANDMARKS = "hand_landmarks_3d_device_meter_xyz"
#: Translation, rotation (xyzw), parent, child of the poses that Aria's layouts hold.
_POSES = (
    ("txyz_odometry_device", "qxyzw_odometry_device", "odometry", "device"),
    ("txyz_odometry_bodyimu", "qxyzw_odometry_bodyimu", "odometry", "body_imu"),
)


@dataclass(frozen=True, slots=True)
class Shape:
    """What columns need beside the records: constants of the stream.

    Attributes:
        frame: its own coordinate frame. width, height, encoding, step: of pictures.
        sample_rate, channels: of sound. field_scale: from the stored magnetic field to tesla.
        times: fields that the time columns hold.
    """

    frame: str
    width: int = 0
    height: int = 0
    encoding: str = ""
    step: int = 0
    sample_rate: int = 0
    channels: int = 0
    field_scale: float = 1.0
    times: tuple[str, ...] = ()


Columns = dict[str, pa.Array]


def kind_of(format: RecordFormat, type: int) -> Kind:
    """The kind of records of a format: by their bulk bytes, else by the fields that are there.

    Aria's magnetometer has the fields of its IMUs; the stream's `type` tells them apart.
    """
    bulk = format.bulk
    if bulk is not None:
        return {"image": Kind.IMAGE, "audio": Kind.AUDIO}.get(bulk.form, Kind.RAW)
    names = _widths(format.layouts)
    fitting = [kind for kind, fits, _ in _KINDS if fits(names)]
    if type == _MAGNETOMETER_TYPE and Kind.MAGNETOMETER in fitting:
        return Kind.MAGNETOMETER
    return fitting[0] if fitting else Kind.TABLE


def columns_of(kind: Kind, block: Block, shape: Shape) -> Columns:
    """The columns of N records: those of the kind, then every other field under its own name."""
    made: Columns = {}
    used: set[str] = set()
    if kind in (Kind.IMAGE, Kind.DEPTH):
        made = _picture(len(block), shape)
    elif kind is Kind.AUDIO:
        made = {
            "encoding": constant(shape.encoding, len(block)),
            "sample_rate": _whole(shape.sample_rate, len(block)),
            "channels": _whole(shape.channels, len(block)),
        }
    else:
        build = next((build for known, _, build in _KINDS if known is kind), None)
        if build is not None:
            with np.errstate(invalid="ignore"):  # a broken record may hold what is no number
                made, used = build(block, shape)
    for name in block.names:
        if name in used or name in shape.times:
            continue
        column = name
        while column in made or column in TIME_COLUMNS:
            column += "_"
        made[column] = _present(block, name) if name in NAN_IS_ABSENT else block.arrow(name)
    return made


def _present(block: Block, name: str) -> pa.Array:
    values = block.fixed(name)
    return pa.array(values, mask=np.isnan(values))


def masked(values: NDArray[np.generic], valid: NDArray[np.bool_] | None = None) -> pa.Array:
    """Values (N, D) as a column of doubles; rows that are not valid have none."""
    if valid is None or valid.all():
        return vectors(values)
    flat = pa.array(np.ascontiguousarray(values, np.float64).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, values.shape[1], mask=pa.array(~valid))


def _picture(rows: int, shape: Shape) -> Columns:
    made = {
        "frame_id": constant(shape.frame, rows),
        "width": _whole(shape.width, rows),
        "height": _whole(shape.height, rows),
        "encoding": constant(shape.encoding, rows),
    }
    if shape.step:
        made["step"] = _whole(shape.step, rows)
    return made


def _whole(value: int, rows: int) -> pa.Array:
    return pa.array(np.full(rows, value, np.int32))


def _flag(block: Block, name: str) -> NDArray[np.bool_] | None:
    return np.asarray(block.fixed(name), np.bool_) if block.is_fixed(name) else None


def _imu(block: Block, shape: Shape) -> tuple[Columns, set[str]]:
    return {
        "frame_id": constant(shape.frame, len(block)),
        "angular_velocity": masked(block.fixed("gyroscope"), _flag(block, "gyroscope_valid")),
        "linear_acceleration": masked(block.fixed("accelerometer"), _flag(block, "accelerometer_valid")),
    }, {"gyroscope", "accelerometer"}


def _magnetometer(block: Block, shape: Shape) -> tuple[Columns, set[str]]:
    field = np.asarray(block.fixed("magnetometer"), np.float64) * shape.field_scale
    return {
        "frame_id": constant(shape.frame, len(block)),
        "field": masked(field, _flag(block, "magnetometer_valid")),
    }, {"magnetometer"}


def _barometer(block: Block, shape: Shape) -> tuple[Columns, set[str]]:
    return {
        "frame_id": constant(shape.frame, len(block)),
        "pressure": pa.array(np.asarray(block.fixed("pressure"), np.float64)),
    }, {"pressure"}


def _gnss(block: Block, shape: Shape) -> tuple[Columns, set[str]]:
    names = ("latitude", "longitude", "altitude")
    made = {name: pa.array(np.asarray(block.fixed(name), np.float64)) for name in names}
    return {"frame_id": constant(shape.frame, len(block)), **made}, set(names)


def _gaze(block: Block, shape: Shape) -> tuple[Columns, set[str]]:
    used = {f"{_COMBINED}_normalized_xyz"}
    made = {
        "frame_id": constant("device", len(block)),
        "direction": masked(block.fixed(f"{_COMBINED}_normalized_xyz"), _flag(block, f"{_COMBINED}_valid")),
    }
    if block.is_fixed("convergence_distance_meter"):
        depth = np.asarray(block.fixed("convergence_distance_meter"), np.float64)
        valid = _flag(block, "convergence_distance_valid")
        made["depth"] = pa.array(depth, mask=None if valid is None else ~valid)
        used.add("convergence_distance_meter")
    return made, used


def _hands(block: Block, shape: Shape) -> tuple[Columns, set[str]]:
    """Landmarks of both hands, in the device's frame."""
    fields = [f"{hand}/{_LANDMARKS}" for hand in _HANDS if f"{hand}/{_LANDMARKS}" in block]
    points = [np.asarray(block.fixed(name), np.float64) for name in fields]
    names = [
        f"{name.split('_')[0]}/{number}"
        for name, values in zip(fields, points, strict=True)
        for number in range(values.shape[1] // 3)
    ]
    return keypoints("device", names, np.concatenate(points, axis=1)), set(fields)


def keypoints(frame: str, names: list[str], xyz: NDArray[np.float64]) -> Columns:
    """The columns of keypoints that are the same in all rows: `xyz` (N, 3 K) of K names."""
    rows = len(xyz)
    codes = pa.array(np.tile(np.arange(len(names), dtype=np.int32), rows))
    words = pa.DictionaryArray.from_arrays(codes, pa.array(names, pa.string()))
    each = np.arange(rows + 1, dtype=np.int32)
    return {
        "frame_id": constant(frame, rows),
        "name": pa.ListArray.from_arrays(pa.array(each * len(names)), words),
        "xyz": pa.ListArray.from_arrays(
            pa.array(each * (3 * len(names))), pa.array(np.ascontiguousarray(xyz).reshape(-1))
        ),
    }


def _pose(block: Block, shape: Shape) -> tuple[Columns, set[str]]:
    place, turn, parent, _ = next(pose for pose in _POSES if pose[0] in block and pose[1] in block)
    return {
        "frame_id": constant(parent, len(block)),
        "position": vectors(block.fixed(place)),
        "orientation": vectors(from_xyzw(block.fixed(turn))),
    }, {place, turn}


def pose_child(format: RecordFormat) -> str | None:
    """The frame that the poses of a format place."""
    names = _widths(format.layouts)
    return next((child for place, turn, _, child in _POSES if place in names and turn in names), None)


def _widths(layouts: tuple[Layout, ...]) -> dict[str, int]:
    """The fixed fields of a record and how many numbers each holds."""
    return {f.name: f.width for layout in layouts for f in layout.fields if f.form == "fixed"}


def _needs(**widths: int) -> Callable[[dict[str, int]], bool]:
    return lambda names: all(names.get(name) == width for name, width in widths.items())


def _is_magnetometer(names: dict[str, int]) -> bool:
    return names.get("magnetometer") == 3


def _has_hands(names: dict[str, int]) -> bool:
    return any(
        names.get(f"{hand}/{_LANDMARKS}", 0) % 3 == 0 and f"{hand}/{_LANDMARKS}" in names for hand in _HANDS
    )


def _has_pose(names: dict[str, int]) -> bool:
    return any(names.get(place) == 3 and names.get(turn) == 4 for place, turn, _, _ in _POSES)


#: Kinds by the fields that a record must have, tried in this order, and how their columns are made.
_KINDS: tuple[tuple[Kind, Callable[[dict[str, int]], bool], Callable[..., tuple[Columns, set[str]]]], ...] = (
    (Kind.IMU, _needs(accelerometer=3, gyroscope=3), _imu),
    (Kind.MAGNETOMETER, _is_magnetometer, _magnetometer),
    (Kind.BAROMETER, _needs(pressure=1), _barometer),
    (Kind.GNSS, _needs(latitude=1, longitude=1, altitude=1), _gnss),
    (Kind.GAZE, _needs(**{f"{_COMBINED}_normalized_xyz": 3}), _gaze),
    (Kind.KEYPOINTS, _has_hands, _hands),
    (Kind.POSE, _has_pose, _pose),
)
