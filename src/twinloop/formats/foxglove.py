"""Foxglove's schemas as kinds, in any encoding (https://docs.foxglove.dev/docs/sdk/schemas)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinloop.core.kinds import Kind
from twinloop.core.se3 import from_xyzw
from twinloop.formats.flat import Flat, Recipe, Source, is_time
from twinloop.formats.ros.pictures import codec_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PACKAGES = ("foxglove", "foxglove_msgs")
#: foxglove's NumericType, by number and by name, as sensor_msgs/PointField counts.
_POINT_DATATYPES = {"INT8": 1, "UINT8": 2, "INT16": 3, "UINT16": 4, "INT32": 5, "UINT32": 6} | {
    "FLOAT32": 7,
    "FLOAT64": 8,
}
_NUMERIC_TYPES = ("", "UINT8", "INT8", "UINT16", "INT16", "UINT32", "INT32", "FLOAT32", "FLOAT64")


def recipe_for(type_name: str) -> Recipe | None:
    """The recipe of ``foxglove.Name`` (also ``foxglove_msgs/msg/Name``); None for any other type."""
    package, _, name = type_name.replace("/msg/", ".").replace("/", ".").rpartition(".")
    return _RECIPES.get(name) if package in _PACKAGES else None


def _take(path: str) -> Source:
    return lambda flat: flat.columns.get(path)


def _time(path: str) -> Source:
    def column(flat: Flat) -> pa.Array | None:
        found = flat.columns.get(path)
        return found.cast(pa.int64()) if found is not None and is_time(found) else None

    return column


def _block(flat: Flat, paths: list[str]) -> tuple[NDArray[np.float64], NDArray[np.bool_]] | None:
    """(N, len(paths)) float64 of some fields side by side, and which rows (N,) lack one."""
    found = [flat.columns.get(path) for path in paths]
    if any(array is None for array in found):
        return None
    arrays = [array.cast(pa.float64(), safe=False) for array in found if array is not None]
    missing = np.zeros(flat.count, bool)
    for array in arrays:
        if array.null_count:
            missing |= np.asarray(array.is_null())
    return np.stack([np.asarray(array.fill_null(0.0)) for array in arrays], axis=1), missing


def _fixed(values: NDArray[np.float64], missing: NDArray[np.bool_]) -> pa.Array:
    mask = pa.array(missing) if missing.any() else None
    return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1], mask=mask)


def _xyz(path: str) -> Source:
    def column(flat: Flat) -> pa.Array | None:
        block = _block(flat, [f"{path}.{axis}" for axis in "xyz"])
        return None if block is None else _fixed(*block)

    return column


def _quaternion(path: str) -> Source:
    def column(flat: Flat) -> pa.Array | None:
        block = _block(flat, [f"{path}.{axis}" for axis in "xyzw"])
        return None if block is None else _fixed(from_xyzw(block[0]), block[1])

    return column


def _codec(flat: Flat) -> pa.Array | None:
    """`encoding` from the free text `format`."""
    found = flat.columns.get("format")
    if found is None:
        return None
    texts = found.cast(pa.string()).dictionary_encode()
    names = pa.array([codec_of(text) for text in texts.dictionary.to_pylist()], pa.string())
    return pa.DictionaryArray.from_arrays(texts.indices, names).cast(pa.string()).dictionary_encode()


def _fixed_list(path: str, size: int) -> Source:
    """A repeated field that must have so many elements as a fixed-size list; null where it has not."""

    def column(flat: Flat) -> pa.Array | None:
        found = flat.columns.get(path)
        if found is None:
            return None
        lengths = np.asarray(pc.list_value_length(found).fill_null(0))
        values = np.zeros((flat.count, size))
        right = lengths == size
        kept = found.filter(pa.array(right)).flatten().cast(pa.float64(), safe=False)
        values[right] = np.asarray(kept.fill_null(np.nan)).reshape(-1, size)
        return _fixed(values, ~right)

    return column


def _point_fields(flat: Flat) -> pa.Array | None:
    """`fields` of a cloud as JSON, in sensor_msgs' terms; clouds of one stream hardly ever differ."""
    found = [flat.columns.get(f"fields.{name}") for name in ("name", "offset", "type")]
    if any(array is None for array in found):
        return None
    lists = zip(*(array.to_pylist() for array in found if array is not None), strict=True)
    texts = [_point_fields_text(*fields) for fields in lists]
    return pa.array(texts, pa.string()).dictionary_encode()


def _point_fields_text(
    names: list[str] | None, offsets: list[int] | None, types: list[str | int] | None
) -> str:
    entries = zip(names or (), offsets or (), types or (), strict=False)
    return json.dumps(
        [
            {"name": name, "offset": offset, "datatype": _point_datatype(type), "count": 1}
            for name, offset, type in entries
        ]
    )


def _point_datatype(type: str | int) -> int:
    if isinstance(type, int):
        type = _NUMERIC_TYPES[type] if 0 < type < len(_NUMERIC_TYPES) else ""
    return _POINT_DATATYPES.get(type, 0)


def _cloud(column: str) -> Source:
    """What foxglove's clouds leave unsaid: they are one row of little-endian points."""

    def made(flat: Flat) -> pa.Array | None:
        stride = flat.columns.get("point_stride")
        if flat.sizes is None or stride is None:
            return None
        if column == "row_step":
            return pa.array(flat.sizes)
        return pa.array(flat.sizes // np.maximum(np.asarray(stride.fill_null(1), np.int64), 1))

    return made


def _constant(value: int | bool) -> Source:
    return lambda flat: pa.array([value] * flat.count)


def _angle_increment(flat: Flat) -> pa.Array | None:
    """The beams are evenly spaced from the start to the end angle."""
    block, ranges = _block(flat, ["start_angle", "end_angle"]), flat.columns.get("ranges")
    if block is None or ranges is None:
        return None
    beams = np.asarray(pc.list_value_length(ranges).fill_null(0), np.int64)
    angles, missing = block
    step = (angles[:, 1] - angles[:, 0]) / np.maximum(beams - 1, 1)
    return pa.array(step, mask=missing | (beams < 2))


def _letter(letter: str, size: int | None = None) -> Source:
    """A matrix of a camera calibration: ``K`` in the schema, ``k`` in ROS 2's."""

    def column(flat: Flat) -> pa.Array | None:
        path = letter.upper() if letter.upper() in flat.columns else letter
        return (_take(path) if size is None else _fixed_list(path, size))(flat)

    return column


_COMMON: dict[str, Source] = {"stamp_ns": _time("timestamp"), "frame_id": _take("frame_id")}
_COMMON_USED = ("timestamp", "frame_id")


def _same(*names: str) -> dict[str, Source]:
    return {name: _take(name) for name in names}


def _recipe(
    kind: Kind, columns: Mapping[str, Source], used: tuple[str, ...], payload: str | None = None
) -> Recipe:
    return Recipe(kind, {**_COMMON, **columns}, (*_COMMON_USED, *used), payload=payload)


def _transforms(rows: str) -> Recipe:
    columns: dict[str, Source] = {
        "stamp_ns": _time("timestamp"),
        "parent": _take("parent_frame_id"),
        "child": _take("child_frame_id"),
        "translation": _xyz("translation"),
        "rotation": _quaternion("rotation"),
    }
    used = ("timestamp", "parent_frame_id", "child_frame_id", "translation", "rotation")
    return Recipe(Kind.TRANSFORMS, columns, used, rows=rows)


_COMPRESSED = _recipe(Kind.IMAGE, {"encoding": _codec}, (), "data")
_RECIPES: dict[str, Recipe] = {
    "CompressedImage": _COMPRESSED,
    "CompressedVideo": _COMPRESSED,
    "RawImage": _recipe(
        Kind.IMAGE,
        {**_same("width", "height", "encoding", "step"), "is_bigendian": _constant(False)},
        ("width", "height", "encoding", "step"),
        "data",
    ),
    "PointCloud": _recipe(
        Kind.POINTS,
        {
            "width": _cloud("width"),
            "height": _constant(1),
            "fields": _point_fields,
            "point_step": _take("point_stride"),
            "row_step": _cloud("row_step"),
            "is_bigendian": _constant(False),
        },
        ("point_stride", "fields"),
        "data",
    ),
    "RawAudio": Recipe(
        Kind.AUDIO,
        {
            "stamp_ns": _time("timestamp"),
            "encoding": _take("format"),
            "sample_rate": _take("sample_rate"),
            "channels": _take("number_of_channels"),
        },
        ("timestamp", "format", "sample_rate", "number_of_channels"),
        payload="data",
    ),
    "LaserScan": _recipe(
        Kind.SCAN,
        {
            "angle_min": _take("start_angle"),
            "angle_max": _take("end_angle"),
            "angle_increment": _angle_increment,
            **_same("ranges", "intensities"),
        },
        ("start_angle", "end_angle", "ranges", "intensities"),
    ),
    "PoseInFrame": _recipe(
        Kind.POSE,
        {"position": _xyz("pose.position"), "orientation": _quaternion("pose.orientation")},
        ("pose.position", "pose.orientation"),
    ),
    "FrameTransform": _transforms(""),
    "FrameTransforms": _transforms("transforms"),
    "CameraCalibration": _recipe(
        Kind.CAMERA_INFO,
        {
            **_same("width", "height", "distortion_model"),
            "d": _letter("d"),
            "k": _letter("k", 9),
            "r": _letter("r", 9),
            "p": _letter("p", 12),
        },
        ("width", "height", "distortion_model", *"DKRPdkrp"),
    ),
    "LocationFix": _recipe(
        Kind.GNSS,
        {
            **_same("latitude", "longitude", "altitude"),
            "covariance": _fixed_list("position_covariance", 9),
        },
        ("latitude", "longitude", "altitude", "position_covariance"),
    ),
    "Imu": _recipe(
        Kind.IMU,
        {
            "orientation": _quaternion("orientation"),
            "angular_velocity": _xyz("angular_velocity"),
            "linear_acceleration": _xyz("linear_acceleration"),
        },
        ("orientation", "angular_velocity", "linear_acceleration"),
    ),
    "JointStates": Recipe(
        Kind.JOINTS,
        {
            "stamp_ns": _time("timestamp"),
            "name": _take("joints.name"),
            **{column: _take(f"joints.{column}") for column in ("position", "velocity", "effort")},
        },
        ("timestamp", "joints.name", "joints.position", "joints.velocity", "joints.effort"),
    ),
    "Log": Recipe(
        Kind.TEXT, {"stamp_ns": _time("timestamp"), "text": _take("message")}, ("timestamp", "message")
    ),
}
