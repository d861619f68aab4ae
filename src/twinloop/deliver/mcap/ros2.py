"""Which standard ROS 2 message a stream is written as: the reader's recipes, turned round."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from twinloop.core.kinds import Kind
from twinloop.deliver.mcap.cdr import encode_cdr
from twinloop.deliver.mcap.definition_text import definition_text
from twinloop.deliver.mcap.message import Fill, Message, apart, into, point_fields, wxyz
from twinloop.formats.ros.columns import Field, Quaternion, Vector
from twinloop.formats.ros.definitions import Many, Moment, Primitive, Struct, Text, parse_definition
from twinloop.formats.ros.kinds import RECIPES
from twinloop.formats.ros.points import PointFields
from twinloop.formats.ros.standard import standard_definition

if TYPE_CHECKING:
    from twinloop.core.stream import Stream
    from twinloop.deliver.mcap.survey import Survey
    from twinloop.formats.ros.columns import Source
    from twinloop.formats.ros.definitions import Type

_TYPES = {
    Kind.JOINTS: "sensor_msgs/msg/JointState",
    Kind.TWIST: "geometry_msgs/msg/TwistStamped",
    Kind.WRENCH: "geometry_msgs/msg/WrenchStamped",
    Kind.IMU: "sensor_msgs/msg/Imu",
    Kind.MAGNETOMETER: "sensor_msgs/msg/MagneticField",
    Kind.BAROMETER: "sensor_msgs/msg/FluidPressure",
    Kind.GNSS: "sensor_msgs/msg/NavSatFix",
    Kind.POSE: "geometry_msgs/msg/PoseStamped",
    Kind.TRANSFORMS: "tf2_msgs/msg/TFMessage",
    Kind.ODOMETRY: "nav_msgs/msg/Odometry",
    Kind.POINTS: "sensor_msgs/msg/PointCloud2",
    Kind.SCAN: "sensor_msgs/msg/LaserScan",
    Kind.CAMERA_INFO: "sensor_msgs/msg/CameraInfo",
    Kind.JOY: "sensor_msgs/msg/Joy",
}
_WITH_COVARIANCE = {
    Kind.TWIST: "geometry_msgs/msg/TwistWithCovarianceStamped",
    Kind.POSE: "geometry_msgs/msg/PoseWithCovarianceStamped",
}
RAW_IMAGE, COMPRESSED_IMAGE = "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage"
VIDEO = "foxglove_msgs/msg/CompressedVideo"
#: foxglove_msgs is in no ROS distribution's base; the fields are those of https://docs.foxglove.dev.
_VIDEO = Struct(
    VIDEO,
    (
        ("timestamp", Moment("i4")),
        ("frame_id", Text()),
        ("data", Many(Primitive("u1"))),
        ("format", Text()),
    ),
)


def ros2_message(stream: Stream, found: Survey, picture_type: str = "") -> Message | None:
    """The standard message for a stream of these columns; None where there is none for its kind.

    `picture_type`: what its images are written as (of image streams only).
    """
    name = picture_type or _TYPES.get(stream.kind, "")
    if "covariance" in found.types and not picture_type:
        name = _WITH_COVARIANCE.get(stream.kind, name)
    if not name:
        return None
    struct = _struct(name)
    recipe = RECIPES[name][0]
    leaves = dict(_leaves(struct, ""))
    fills: dict[str, Fill] = {}
    for column, source in _sources(name, leaves).items():
        if column in found.types and (fill := _fill(source, leaves, found, column)):
            fills[column] = fill
    used = {path for source in recipe.columns.values() for path in source.paths} | {recipe.payload}
    for column in found.types:
        is_free = column not in fills and column in leaves and column not in used
        if is_free and (fill := _fill(Field(column), leaves, found, column)):
            fills[column] = fill
    return Message(
        type_name=name,
        schema_encoding="ros2msg",
        schema=_text(name).encode(),
        encoding="cdr",
        struct=struct,
        encode=encode_cdr,
        fills=fills,
        payload=recipe.payload,
        rows=recipe.rows,
    )


@cache
def _text(name: str) -> str:
    return definition_text(_VIDEO) if name == VIDEO else standard_definition(name, ros2=True) or ""


@cache
def _struct(name: str) -> Struct:
    return _VIDEO if name == VIDEO else parse_definition(name, _text(name), "ros2msg")


def _leaves(type: Type, path: str) -> list[tuple[str, Type]]:
    """(dotted path, type) of all fields that hold values; lists of structures by their elements' fields."""
    if isinstance(type, Struct):
        inner = ((f"{path}.{name}" if path else name, field) for name, field in type.fields)
        return [leaf for name, field in inner for leaf in _leaves(field, name)]
    if isinstance(type, Many) and isinstance(type.element, Struct):
        return _leaves(type.element, path)
    return [(path, type)]


def _sources(name: str, leaves: dict[str, Type]) -> dict[str, Source]:
    """The recipe's columns, and those that a header gives by itself."""
    sources: dict[str, Source] = dict(RECIPES[name][0].columns)
    if "header.stamp" in leaves:
        sources |= {"stamp_ns": Field("header.stamp"), "frame_id": Field("header.frame_id")}
    if name in (COMPRESSED_IMAGE, VIDEO):  # the codec is all that the format says
        sources["encoding"] = Field("format")
        sources.pop("format", None)
    return sources


def _fill(source: Source, leaves: dict[str, Type], found: Survey, column: str) -> Fill | None:
    """How a column fills what the reader makes it of; None where the fields cannot hold it exactly."""
    match source:
        case Vector(paths):
            return apart(paths) if all(_holds(leaves[p], found, column) for p in paths) else None
        case Quaternion(path):
            return wxyz(path)
        case PointFields():
            return point_fields("fields", _ros_point_fields)
        case Field(path) if path in leaves and _holds(leaves[path], found, column):
            return into(path)
    return None


def _holds(field: Type, found: Survey, name: str) -> bool:
    """Whether a field holds every value of a column as it is."""
    column = found.types[name]
    if isinstance(field, Moment):
        return bool(pa.types.is_int64(column))
    while pa.types.is_list(column) or pa.types.is_fixed_size_list(column):
        column = column.value_type
    while isinstance(field, Many):
        field = field.element
    if isinstance(field, Text):
        return bool(pa.types.is_string(column) or pa.types.is_dictionary(column))
    if not isinstance(field, Primitive) or pa.types.is_dictionary(column) or pa.types.is_string(column):
        return False
    if field.dtype == "b1" or pa.types.is_boolean(column):
        return field.dtype in ("b1", "u1") and bool(pa.types.is_boolean(column))
    theirs, ours = np.dtype(column.to_pandas_dtype()), np.dtype(field.dtype)
    if theirs.kind in "iu" and ours.kind in "iu":
        low, high = found.extents.get(name, (0, 0))
        return bool(np.iinfo(ours).min <= low and high <= np.iinfo(ours).max)
    if (theirs, ours) == (np.float64, np.float32):
        return name not in found.doubles
    return bool(np.can_cast(theirs, ours, "safe"))


def _ros_point_fields(fields: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [field.get(name, 1) for field in fields] for name in ("name", "offset", "datatype", "count")}
