"""Which Foxglove protobuf message a stream is written as (https://docs.foxglove.dev/docs/sdk/schemas).

Fields stand in the order of their numbers, which the schemas count from 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twinloop.core.kinds import Kind
from twinloop.deliver.mcap.message import Fill, Message, apart, into, point_fields, wxyz
from twinloop.deliver.mcap.protobuf import Fixed32, descriptor_set, encode_protobuf
from twinloop.formats.ros.definitions import Many, Moment, Primitive, Struct, Text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from twinloop.core.stream import Stream
    from twinloop.deliver.mcap.survey import Survey

_F8, _U4, _ENUM = Primitive("f8"), Fixed32(), Primitive("u4")
_TIME, _TEXT, _BYTES = Moment("i4"), Text(), Many(Primitive("u1"))
_MATRIX = Many(_F8)


def _struct(title: str, /, **fields: Any) -> Struct:
    return Struct(f"foxglove.{title}", tuple(fields.items()))


_VECTOR3 = _struct("Vector3", x=_F8, y=_F8, z=_F8)
_QUATERNION = _struct("Quaternion", x=_F8, y=_F8, z=_F8, w=_F8)
_POSE = _struct("Pose", position=_VECTOR3, orientation=_QUATERNION)
_PACKED_FIELD = _struct("PackedElementField", name=_TEXT, offset=_U4, type=_ENUM)
_TRANSFORM = _struct(
    "FrameTransform",
    timestamp=_TIME,
    parent_frame_id=_TEXT,
    child_frame_id=_TEXT,
    translation=_VECTOR3,
    rotation=_QUATERNION,
)
_NUMERIC = ("UNKNOWN", "UINT8", "INT8", "UINT16", "INT16", "UINT32", "INT32", "FLOAT32", "FLOAT64")
_COVARIANCES = ("UNKNOWN", "APPROXIMATED", "DIAGONAL_KNOWN", "KNOWN")
_ENUMS = {
    "PackedElementField.type": {name: number for number, name in enumerate(_NUMERIC)},
    "LocationFix.position_covariance_type": {name: number for number, name in enumerate(_COVARIANCES)},
    "Log.level": {
        name: number for number, name in enumerate(("UNKNOWN", "DEBUG", "INFO", "WARNING", "ERROR", "FATAL"))
    },
}
#: sensor_msgs/PointField's datatypes as foxglove's NumericType: INT8 comes second there, first here.
_NUMERIC_OF_ROS = (0, 2, 1, 4, 3, 6, 5, 7, 8)

RAW_IMAGE = _struct(
    "RawImage",
    timestamp=_TIME,
    width=_U4,
    height=_U4,
    encoding=_TEXT,
    step=_U4,
    data=_BYTES,
    frame_id=_TEXT,
)
COMPRESSED_IMAGE = _struct("CompressedImage", timestamp=_TIME, data=_BYTES, format=_TEXT, frame_id=_TEXT)
VIDEO = _struct("CompressedVideo", timestamp=_TIME, frame_id=_TEXT, data=_BYTES, format=_TEXT)
_CLOUD = _struct(
    "PointCloud",
    timestamp=_TIME,
    frame_id=_TEXT,
    pose=_POSE,
    point_stride=_U4,
    fields=Many(_PACKED_FIELD),
    data=_BYTES,
)
_COMMON: dict[str, Fill] = {"stamp_ns": into("timestamp"), "frame_id": into("frame_id")}


def _xyz(path: str) -> Fill:
    return apart(tuple(f"{path}.{axis}" for axis in "xyz"))


def _cloud_fields(fields: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {
        "name": [field.get("name", "") for field in fields],
        "offset": [field.get("offset", 0) for field in fields],
        "type": [_numeric(field.get("datatype")) for field in fields],
    }


def _numeric(datatype: object) -> int:
    if isinstance(datatype, int) and 0 <= datatype < len(_NUMERIC_OF_ROS):
        return _NUMERIC_OF_ROS[datatype]
    return 0


_PICTURES: dict[Struct, dict[str, Fill]] = {
    RAW_IMAGE: {**_COMMON, **{n: into(n) for n in ("width", "height", "encoding", "step")}},
    COMPRESSED_IMAGE: {**_COMMON, "encoding": into("format")},
    VIDEO: {**_COMMON, "encoding": into("format")},
}
_KINDS: dict[Kind, tuple[Struct, dict[str, Fill], str, str]] = {
    Kind.POINTS: (
        _CLOUD,
        {**_COMMON, "point_step": into("point_stride"), "fields": point_fields("fields", _cloud_fields)},
        "data",
        "",
    ),
    Kind.TRANSFORMS: (
        _struct("FrameTransforms", transforms=Many(_TRANSFORM)),
        {
            "stamp_ns": into("transforms.timestamp"),
            "parent": into("transforms.parent_frame_id"),
            "child": into("transforms.child_frame_id"),
            "translation": _xyz("transforms.translation"),
            "rotation": wxyz("transforms.rotation"),
        },
        "",
        "transforms",
    ),
    Kind.POSE: (
        _struct("PoseInFrame", timestamp=_TIME, frame_id=_TEXT, pose=_POSE),
        {**_COMMON, "position": _xyz("pose.position"), "orientation": wxyz("pose.orientation")},
        "",
        "",
    ),
    Kind.CAMERA_INFO: (
        _struct(
            "CameraCalibration",
            timestamp=_TIME,
            width=_U4,
            height=_U4,
            distortion_model=_TEXT,
            D=_MATRIX,
            K=_MATRIX,
            R=_MATRIX,
            P=_MATRIX,
            frame_id=_TEXT,
        ),
        {
            **_COMMON,
            **{name: into(name) for name in ("width", "height", "distortion_model")},
            **{letter: into(letter.upper()) for letter in "dkrp"},
        },
        "",
        "",
    ),
    Kind.GNSS: (
        _struct(
            "LocationFix",
            latitude=_F8,
            longitude=_F8,
            altitude=_F8,
            position_covariance=_MATRIX,
            position_covariance_type=_ENUM,
            timestamp=_TIME,
            frame_id=_TEXT,
        ),
        {
            **_COMMON,
            **{name: into(name) for name in ("latitude", "longitude", "altitude")},
            "covariance": into("position_covariance"),
        },
        "",
        "",
    ),
    Kind.TEXT: (
        _struct("Log", timestamp=_TIME, level=_ENUM, message=_TEXT),
        {"stamp_ns": into("timestamp"), "text": into("message")},
        "",
        "",
    ),
}


def foxglove_message(stream: Stream, found: Survey, picture: Struct | None = None) -> Message | None:
    """The Foxglove message for a stream of these columns; None where there is none for its kind.

    `picture`: what its images are written as (of image streams only).
    """
    if picture is not None:
        struct, fills, payload, rows = picture, _PICTURES[picture], "data", ""
    elif stream.kind in _KINDS:
        struct, fills, payload, rows = _KINDS[stream.kind]
    else:
        return None
    return message_of(
        struct, {n: f for n, f in fills.items() if n in found.types}, payload or None, rows, _ENUMS
    )


def message_of(
    struct: Struct,
    fills: Mapping[str, Fill],
    payload: str | None = None,
    rows: str = "",
    enums: Mapping[str, Mapping[str, int]] | None = None,
) -> Message:
    """A protobuf message of a struct."""
    return Message(
        type_name=struct.name,
        schema_encoding="protobuf",
        schema=descriptor_set(struct, enums),
        encoding="protobuf",
        struct=struct,
        encode=encode_protobuf,
        fills=fills,
        payload=payload,
        rows=rows,
    )
