"""The tables that are known, by their header: which kind of stream each is, and how its rows become columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.core.kinds import Kind, StampSource
from twinloop.core.se3 import from_xyzw
from twinloop.formats.arrow_columns import constant, vectors, words
from twinloop.formats.mps.grouping import grouped, matrix, numbers, whole
from twinloop.formats.vrs.aria import GEN1

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Columns = dict[str, pa.Array]

#: Landmarks of a hand, and what is tracked of one.
_LANDMARKS = 21
_SIDES = ("left", "right")
#: Columns whose digits are identities or times, kept exactly.
_EXACT = re.compile(
    r"(^|_)(uid|timestamp_(us|ns)|time_ns|id)(\[ns\])?$|^timestamp\[ns\]$|Time_ns$|object_uid|stream_id"
)


@dataclass(frozen=True, slots=True)
class Layout:
    """One known table.

    Attributes:
        needs: columns that tell it from all others. kind: of the stream.
        time, unit: the column that orders it; None: it has no times.
        build: rows to columns, and the names of the columns that it used.
        message: for kinds of several rows a message: the columns that change from one to the next.
        attributes, units: what is known of its columns.
    """

    needs: tuple[str, ...]
    kind: Kind
    time: str | None
    unit: str
    build: Callable[[pa.RecordBatch], tuple[Columns, set[str]]]
    source: StampSource = StampSource.SENSOR
    message: tuple[str, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)

    def columns(self, rows: pa.RecordBatch) -> Columns:
        """All columns but the stamp: the kind's, then the rest, axes put together."""
        made, used = self.build(rows)
        rest = [name for name in rows.schema.names if name not in used and name != self.time]
        extra: Columns = {}
        for name in ("utc_timestamp_ns",):
            if name in rest:
                extra[name] = whole(rows, name)
                rest.remove(name)
        extra |= grouped(rows, rest)
        return made | {(f"{name}_" if name in made else name): column for name, column in extra.items()}


def layout_of(columns: Sequence[str]) -> Layout | None:
    """The layout of a table with this header; None: it is none of these."""
    there = set(columns)
    return next((one for one in LAYOUTS if there.issuperset(one.needs)), None)


def exact_columns(columns: Sequence[str]) -> list[str]:
    """The columns that are read as text, so that no digit is lost."""
    return [name for name in columns if _EXACT.search(name)]


def gaze_direction(yaw: NDArray[np.float64], pitch: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unit vectors (N, 3) in the central pupil frame, x left, y up, z ahead: (tan yaw, tan pitch, 1) / norm."""
    ahead = np.stack([np.tan(yaw), np.tan(pitch), np.ones(len(yaw))], axis=1)
    return ahead / np.linalg.norm(ahead, axis=1, keepdims=True)


def _gaze(rows: pa.RecordBatch) -> tuple[Columns, set[str]]:
    direction = gaze_direction(numbers(rows, "yaw_rads_cpf"), numbers(rows, "pitch_rads_cpf"))
    return _gaze_columns(rows, direction), {"depth_m"}


def _gaze_of_two(rows: pa.RecordBatch) -> tuple[Columns, set[str]]:
    """Each eye has a yaw; the combined ray runs from between the eyes to where theirs meet.

    Eyes 2 h apart whose rays meet: x = h (tan l + tan r) / (tan r - tan l), z = 2 h / (tan r - tan l); so x / z
    is the mean of the tangents, whatever h is.
    """
    left, right = (np.tan(numbers(rows, f"{side}_yaw_rads_cpf")) for side in _SIDES)
    yaw = np.arctan((left + right) / 2)
    return _gaze_columns(rows, gaze_direction(yaw, numbers(rows, "pitch_rads_cpf"))), {"depth_m"}


def _gaze_columns(rows: pa.RecordBatch, direction: NDArray[np.float64]) -> Columns:
    made = {"frame_id": constant("cpf", rows.num_rows), "direction": vectors(direction)}
    if "depth_m" in rows.schema.names:
        depth = numbers(rows, "depth_m")
        made["depth"] = pa.array(depth, mask=~np.isfinite(depth))
    return made


def _pose_columns(rows: pa.RecordBatch, parent: str) -> tuple[Columns, set[str]]:
    place = [f"t{axis}_{parent}_device" for axis in "xyz"]
    turn = [f"q{axis}_{parent}_device" for axis in "xyzw"]
    return {
        "frame_id": constant(parent, rows.num_rows),
        "position": vectors(matrix(rows, place)),
        "orientation": vectors(from_xyzw(matrix(rows, turn))),
    }, {*place, *turn}


def _closed_loop(rows: pa.RecordBatch) -> tuple[Columns, set[str]]:
    """Velocities are in the device's frame, as a twist is in its child's."""
    made, used = _pose_columns(rows, "world")
    linear = [f"device_linear_velocity_{axis}_device" for axis in "xyz"]
    angular = [f"angular_velocity_{axis}_device" for axis in "xyz"]
    return made | {
        "child_frame_id": constant("device", rows.num_rows),
        "linear": vectors(matrix(rows, linear)),
        "angular": vectors(matrix(rows, angular)),
    }, {*used, *linear, *angular}


def _open_loop(rows: pa.RecordBatch) -> tuple[Columns, set[str]]:
    return _pose_columns(rows, "odometry")


def _hands(rows: pa.RecordBatch) -> tuple[Columns, set[str]]:
    points = [
        (side, f"landmark_{number}", f"{side}/{number}") for side in _SIDES for number in range(_LANDMARKS)
    ]
    return _keypoints(rows, points)


def _wrists(rows: pa.RecordBatch) -> tuple[Columns, set[str]]:
    return _keypoints(rows, [(side, part, f"{side}/{part}") for side in _SIDES for part in ("wrist", "palm")])


def _keypoints(rows: pa.RecordBatch, points: list[tuple[str, str, str]]) -> tuple[Columns, set[str]]:
    """Points in the device's frame; a hand that was not tracked (confidence below 0) has none."""
    there = [(s, part, name) for s, part, name in points if f"tx_{s}_{part}_device" in rows.schema.names]
    sources = [f"t{axis}_{side}_{part}_device" for side, part, _ in there for axis in "xyz"]
    tracked = np.ones((rows.num_rows, len(there)), np.bool_)
    for side in _SIDES:
        confidence = f"{side}_tracking_confidence"
        if confidence in rows.schema.names:
            tracked[:, [one == side for one, _, _ in there]] = (numbers(rows, confidence) >= 0)[:, None]
    xyz = matrix(rows, sources).reshape(rows.num_rows, len(there), 3)[tracked]
    codes = np.broadcast_to(np.arange(len(there), dtype=np.int32), tracked.shape)[tracked]
    ends = np.concatenate([[0], np.cumsum(tracked.sum(axis=1))]).astype(np.int32)
    names = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array([name for *_, name in there], pa.string()))
    return {
        "frame_id": constant("device", rows.num_rows),
        "name": pa.ListArray.from_arrays(pa.array(ends), names),
        "xyz": pa.ListArray.from_arrays(pa.array(ends * 3), pa.array(np.ascontiguousarray(xyz).reshape(-1))),
    }, set(sources)


def _points(rows: pa.RecordBatch) -> tuple[Columns, set[str]]:
    return {"frame_id": constant("world", rows.num_rows)}, set()


def _plain(_rows: pa.RecordBatch) -> tuple[Columns, set[str]]:
    return {}, set()


def _speech(rows: pa.RecordBatch) -> tuple[Columns, set[str]]:
    from twinloop.formats.time_column import to_ns

    end, valid = to_ns(rows.column("endTime_ns"), "ns")
    made = {"end_ns": pa.array(end, mask=~valid), "name": rows.column("written").cast(pa.string())}
    if "confidence" in rows.schema.names:
        made["confidence"] = pa.array(numbers(rows, "confidence"))
    return made, {"endTime_ns", "written", "confidence"}


def _boxes(rows: pa.RecordBatch) -> tuple[Columns, set[str]]:
    """Boxes in pictures; `message` and `category` are put in by who knows the rows before and the objects."""
    sides = [f"{axis}_{end}[pixel]" for end in ("min", "max") for axis in "xy"]
    return {
        "frame_id": words(
            [GEN1.get(one, one) for one in rows.column("stream_id").cast(pa.string()).to_pylist()]
        ),
        "track": words(rows.column("object_uid").cast(pa.string())),
        "box": vectors(matrix(rows, sides)),
    }, {*sides, "stream_id", "object_uid"}


_GAZE = {"frame": "cpf: between the pupils, x left, y up, z ahead", "rotation": "yaw and pitch are kept beside"}
LAYOUTS = (
    Layout(
        ("tracking_timestamp_us", "left_yaw_rads_cpf", "right_yaw_rads_cpf", "pitch_rads_cpf"),
        Kind.GAZE,
        "tracking_timestamp_us",
        "us",
        _gaze_of_two,
        attributes=_GAZE,
    ),
    Layout(
        ("tracking_timestamp_us", "yaw_rads_cpf", "pitch_rads_cpf"),
        Kind.GAZE,
        "tracking_timestamp_us",
        "us",
        _gaze,
        attributes=_GAZE,
    ),
    Layout(
        (
            "tracking_timestamp_us",
            "tx_world_device",
            "qw_world_device",
            "device_linear_velocity_x_device",
            "angular_velocity_x_device",
        ),
        Kind.ODOMETRY,
        "tracking_timestamp_us",
        "us",
        _closed_loop,
        attributes={"pose": "T_world_device"},
        units={"gravity_world": "m/s2"},
    ),
    Layout(
        ("tracking_timestamp_us", "tx_odometry_device", "qw_odometry_device"),
        Kind.POSE,
        "tracking_timestamp_us",
        "us",
        _open_loop,
        attributes={"pose": "T_odometry_device"},
        units={
            "device_linear_velocity_odometry": "m/s",
            "angular_velocity_device": "rad/s",
            "gravity_odometry": "m/s2",
        },
    ),
    Layout(
        ("tracking_timestamp_us", "left_tracking_confidence", "tx_left_landmark_0_device"),
        Kind.KEYPOINTS,
        "tracking_timestamp_us",
        "us",
        _hands,
    ),
    Layout(
        ("tracking_timestamp_us", "left_tracking_confidence", "tx_left_wrist_device"),
        Kind.KEYPOINTS,
        "tracking_timestamp_us",
        "us",
        _wrists,
    ),
    Layout(
        ("uid", "px_world", "py_world", "pz_world", "dist_std"),
        Kind.TABLE,
        None,
        "",
        _points,
        source=StampSource.NONE,
        attributes={"content": "semi-dense points of the map"},
        units={"position_world": "m", "dist_std": "m", "inv_dist_std": "1/m"},
    ),
    Layout(
        ("uid", "frame_tracking_timestamp_us", "camera_serial", "u", "v"),
        Kind.TABLE,
        "frame_tracking_timestamp_us",
        "us",
        _plain,
        source=StampSource.EXPOSURE_MID,
        attributes={"content": "where the points of the map were seen"},
        units={"u": "px", "v": "px"},
    ),
    Layout(("startTime_ns", "endTime_ns", "written"), Kind.LABEL, "startTime_ns", "ns", _speech),
    Layout(
        ("stream_id", "object_uid", "timestamp[ns]", "x_min[pixel]", "y_max[pixel]"),
        Kind.DETECTIONS,
        "timestamp[ns]",
        "ns",
        _boxes,
        source=StampSource.EXPOSURE_MID,
        message=("stream_id", "timestamp[ns]"),
    ),
)
