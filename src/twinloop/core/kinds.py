"""The words for streams: kinds with their column layouts, roles, and what a stamp is.

Columns are Arrow. Four time columns, each optional, each ``int64`` nanoseconds (``seq`` a count), stand
first in every table and are never filled from one another; zero is kept as read:

    stamp_ns    when the sensor says it happened (what that means: `StampSource`)
    publish_ns  when the producer sent it
    log_ns      when the recorder received it
    seq         the producer's sequence number
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from twinloop.core.units import UNDECLARED

TIME_COLUMNS = ("stamp_ns", "publish_ns", "log_ns", "seq")


class Kind(StrEnum):
    """A stream's column layout."""

    JOINTS = "joints"
    TWIST = "twist"
    WRENCH = "wrench"
    IMU = "imu"
    MAGNETOMETER = "magnetometer"
    BAROMETER = "barometer"
    GNSS = "gnss"
    POSE = "pose"
    TRANSFORMS = "transforms"
    ODOMETRY = "odometry"
    IMAGE = "image"
    DEPTH = "depth"
    POINTS = "points"
    SCAN = "scan"
    TACTILE = "tactile"
    AUDIO = "audio"
    KEYPOINTS = "keypoints"
    GAZE = "gaze"
    DETECTIONS = "detections"
    CAMERA_INFO = "camera_info"
    JOY = "joy"
    TEXT = "text"
    EVENT = "event"
    LABEL = "label"  # statements about spans, imported: action segments, phases, captions
    SCALAR = "scalar"
    TABLE = "table"  # flat columns of the type's own definition
    RAW = "raw"  # bytes kept as they are: no definition was found for them


#: Kinds whose bulk is bytes, held by reference (a `Payload`), not in Arrow columns.
PAYLOAD_KINDS = frozenset({Kind.IMAGE, Kind.DEPTH, Kind.POINTS, Kind.AUDIO, Kind.RAW})


#: Kinds of which several rows make one message: their column `message` counts messages.
GROUPED_KINDS = frozenset({Kind.TRANSFORMS, Kind.DETECTIONS})


class Role(StrEnum):
    """A stream's part in learning."""

    OBSERVATION = "observation"
    ACTION = "action"
    LEADER = "leader"
    POLICY_SHADOW = "policy_shadow"
    REFERENCE = "reference"
    TRUTH = "truth"


class StampSource(StrEnum):
    """What `stamp_ns` is. From `GRID` nothing can be said about drops or skew."""

    EXPOSURE_START = "exposure_start"
    EXPOSURE_MID = "exposure_mid"
    SENSOR = "sensor"
    DRIVER = "driver"
    PUBLISH = "publish"
    LOG = "log"
    GRID = "grid"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a kind: Arrow type in words, unit, meaning. `?` after the name: may be absent."""

    name: str
    type: str
    unit: str = "1"
    meaning: str = ""


_FRAME = Column("frame_id", "dictionary<string>", meaning="coordinate frame of the values")
_VEC = "fixed_size_list<double>[3]"
_QUAT = "fixed_size_list<double>[4]"
_COV3 = "fixed_size_list<double>[9]"
_COV6 = "fixed_size_list<double>[36]"
_PICTURE = (
    _FRAME,
    Column("width", "int32", "px"),
    Column("height", "int32", "px"),
    Column(
        "encoding",
        "dictionary<string>",
        meaning="jpeg, png, h264, h265, av1, or ROS's raw names: rgb8, 16UC1...",
    ),
    Column("step?", "int32", "byte", "bytes a row of a raw image"),
    Column("is_bigendian?", "bool"),
)

#: The columns of each kind, after the time columns. Extra columns may follow; these keep their meaning.
LAYOUTS: dict[Kind, tuple[Column, ...]] = {
    Kind.JOINTS: (
        Column("frame_id?", "dictionary<string>"),
        Column("name", "list<dictionary<string>>", meaning="joint names of this sample"),
        Column("position?", "list<double>", UNDECLARED, "rad or m where the source says so"),
        Column("velocity?", "list<double>", UNDECLARED),
        Column("effort?", "list<double>", UNDECLARED),
    ),
    Kind.TWIST: (
        _FRAME,
        Column("linear", _VEC, "m/s"),
        Column("angular", _VEC, "rad/s"),
        Column("covariance?", _COV6),
    ),
    Kind.WRENCH: (_FRAME, Column("force", _VEC, "N"), Column("torque", _VEC, "N.m")),
    Kind.IMU: (
        _FRAME,
        Column("orientation?", _QUAT, "1", "wxyz"),
        Column("orientation_covariance?", _COV3),
        Column("angular_velocity?", _VEC, "rad/s"),
        Column("angular_velocity_covariance?", _COV3),
        Column("linear_acceleration?", _VEC, "m/s2"),
        Column("linear_acceleration_covariance?", _COV3),
    ),
    Kind.MAGNETOMETER: (_FRAME, Column("field", _VEC, "T"), Column("covariance?", _COV3)),
    Kind.BAROMETER: (_FRAME, Column("pressure", "double", "Pa"), Column("variance?", "double")),
    Kind.GNSS: (
        _FRAME,
        Column("latitude", "double", "deg"),
        Column("longitude", "double", "deg"),
        Column("altitude", "double", "m"),
        Column("status?", "int32"),
        Column("service?", "int32"),
        Column("covariance?", _COV3, "m2"),
        Column("covariance_type?", "int32"),
    ),
    Kind.POSE: (
        _FRAME,
        Column("position", _VEC, "m"),
        Column("orientation", _QUAT, "1", "wxyz"),
        Column("covariance?", _COV6),
    ),
    Kind.TRANSFORMS: (  # one row a transform; rows of one message share `message`
        Column("message", "int64", meaning="index of the message this row came in"),
        Column("parent", "dictionary<string>"),
        Column("child", "dictionary<string>"),
        Column("translation", _VEC, "m"),
        Column("rotation", _QUAT, "1", "wxyz; T_parent_child"),
    ),
    Kind.ODOMETRY: (
        _FRAME,
        Column("child_frame_id", "dictionary<string>"),
        Column("position", _VEC, "m"),
        Column("orientation", _QUAT, "1", "wxyz"),
        Column("pose_covariance?", _COV6),
        Column("linear", _VEC, "m/s"),
        Column("angular", _VEC, "rad/s"),
        Column("twist_covariance?", _COV6),
    ),
    Kind.IMAGE: _PICTURE,
    Kind.DEPTH: _PICTURE,
    Kind.POINTS: (
        _FRAME,
        Column("width", "int32"),
        Column("height", "int32"),
        Column("fields", "dictionary<string>", meaning='JSON list of {"name", "offset", "datatype", "count"}'),
        Column("point_step", "int32", "byte"),
        Column("row_step", "int32", "byte"),
        Column("is_bigendian", "bool"),
        Column("is_dense", "bool"),
    ),
    Kind.SCAN: (
        _FRAME,
        Column("angle_min", "double", "rad"),
        Column("angle_max", "double", "rad"),
        Column("angle_increment", "double", "rad"),
        Column("time_increment", "double", "s"),
        Column("scan_time", "double", "s"),
        Column("range_min", "double", "m"),
        Column("range_max", "double", "m"),
        Column("ranges", "list<float>", "m"),
        Column("intensities?", "list<float>"),
    ),
    Kind.TACTILE: (_FRAME, Column("values", "list<double>", UNDECLARED)),
    Kind.AUDIO: (
        Column("encoding", "dictionary<string>"),
        Column("sample_rate", "int32", "Hz"),
        Column("channels", "int32"),
    ),
    Kind.KEYPOINTS: (
        _FRAME,
        Column("name", "list<dictionary<string>>"),
        Column("xyz", "list<double>", "m", "x y z, x y z, ..."),
    ),
    Kind.GAZE: (_FRAME, Column("direction", _VEC), Column("depth?", "double", "m")),
    Kind.DETECTIONS: (  # one row a box; rows of one image or sweep share `message`
        Column("message", "int64", meaning="index of the message this row came in"),
        _FRAME,
        Column("category", "dictionary<string>"),
        Column("track?", "dictionary<string>", meaning="identity over time"),
        Column("score?", "double", meaning="the detector's own, on its own scale"),
        Column("position?", _VEC, "m", "centre of the box in frame_id"),
        Column("orientation?", _QUAT, "1", "wxyz; T_frame_box"),
        Column("size?", _VEC, "m", "along the box's x, y, z"),
        Column("box?", _QUAT, "px", "x_min y_min x_max y_max in the image"),
        Column("data?", "string", meaning="JSON of what else the source says"),
    ),
    Kind.CAMERA_INFO: (
        _FRAME,
        Column("width", "int32", "px"),
        Column("height", "int32", "px"),
        Column("distortion_model", "dictionary<string>"),
        Column("d", "list<double>"),
        Column("k", _COV3, "px", "row-major 3x3"),
        Column("r", _COV3, "1", "row-major 3x3"),
        Column("p", "fixed_size_list<double>[12]", "px", "row-major 3x4"),
    ),
    Kind.JOY: (_FRAME, Column("axes", "list<float>"), Column("buttons", "list<int32>")),
    Kind.TEXT: (Column("text", "string"),),
    Kind.EVENT: (Column("name", "string"), Column("data?", "string", meaning="JSON")),
    Kind.LABEL: (  # the stamp is the start of the span; who says so is in the stream's attributes
        Column("end_ns", "int64", "ns", "end of the span, on the stamp's clock; the stamp for a moment"),
        Column("name", "string", meaning="what is said, in the source's words"),
        Column("subject?", "dictionary<string>", meaning="of what: a stream, a video, an entity"),
        Column("confidence?", "double"),
        Column("data?", "string", meaning="JSON of what else the source says"),
    ),
    Kind.SCALAR: (Column("value", "double", UNDECLARED),),
    Kind.TABLE: (),
    Kind.RAW: (),
}
