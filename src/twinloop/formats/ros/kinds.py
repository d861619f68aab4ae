"""Which standard message type is of which kind, and which of its fields make the kind's columns.

A `Recipe` names them by dotted path. Fields that it does not name follow as extra columns under their
own paths, so that nothing of a message is lost. A type whose fields are not those of its name, and any
type not listed here, becomes a table of all its fields.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from twinloop.core.kinds import Kind
from twinloop.formats.ros.columns import Constant, Field, Quaternion, Vector
from twinloop.formats.ros.pictures import Codec, DepthQuantum
from twinloop.formats.ros.points import FoxglovePointFields, FoxglovePointShape, PointFields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from twinloop.formats.ros.columns import Source


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a message type becomes a kind.

    Attributes:
        columns: column -> what it is made of. A header's `stamp_ns`, `seq`, `frame_id` come by themselves;
            those of the layout that nothing is named for are null.
        rows: the list whose elements are the rows (empty: messages are).
        payload: the byte sequence that is left where it is; `format`: the field that may say it has a header.
        units: column -> unit, where the type's documentation declares one that the kind's layout does not.
    """

    kind: Kind
    columns: Mapping[str, Source] = field(default_factory=dict)
    rows: str = ""
    payload: str | None = None
    format: str | None = None
    units: Mapping[str, str] = field(default_factory=dict)


def _fields(**columns: str) -> dict[str, Source]:
    return {name: Field(path) for name, path in columns.items()}


def _xyz(path: str) -> Vector:
    return Vector(tuple(f"{path}.{axis}" for axis in "xyz"))


def _pose(path: str) -> dict[str, Source]:
    return {"position": _xyz(f"{path}.position"), "orientation": Quaternion(f"{path}.orientation")}


def _twist(path: str) -> dict[str, Source]:
    return {"linear": _xyz(f"{path}linear"), "angular": _xyz(f"{path}angular")}


def _wrench(path: str) -> dict[str, Source]:
    return {"force": _xyz(f"{path}force"), "torque": _xyz(f"{path}torque")}


def _transforms(list_path: str, header: str, child: str, transform: str) -> Recipe:
    """One row a transform; `list_path` is empty for a message that is one transform."""
    return Recipe(
        Kind.TRANSFORMS,
        {
            "stamp_ns": Field(f"{header}stamp"),
            "parent": Field(f"{header}frame_id"),
            "child": Field(child),
            "translation": _xyz(f"{transform}translation"),
            "rotation": Quaternion(f"{transform}rotation"),
        },
        rows=list_path,
    )


def _foxglove_transforms(list_path: str, before: str) -> Recipe:
    return Recipe(
        Kind.TRANSFORMS,
        {
            "stamp_ns": Field(f"{before}timestamp"),
            "parent": Field(f"{before}parent_frame_id"),
            "child": Field(f"{before}child_frame_id"),
            "translation": _xyz(f"{before}translation"),
            "rotation": Quaternion(f"{before}rotation"),
        },
        rows=list_path,
    )


_FOXGLOVE = _fields(stamp_ns="timestamp", frame_id="frame_id")
_COMPRESSED: dict[str, Source] = {
    "encoding": Codec(),
    "format": Field("format"),
    "depth_quant_a": DepthQuantum(0),
    "depth_quant_b": DepthQuantum(1),
}
_CONTROLLER_STATE = {
    state: Recipe(
        Kind.JOINTS,
        _fields(
            name="joint_names",
            position=f"{state}.positions",
            velocity=f"{state}.velocities",
            effort=f"{state}.effort",
        ),
    )
    for state in ("actual", "feedback")
}
_TRANSFORM_LIST = _transforms(
    "transforms", "transforms.header.", "transforms.child_frame_id", "transforms.transform."
)

#: Recipes by type; of several, the first that fits the definition is taken.
RECIPES: dict[str, tuple[Recipe, ...]] = {
    name: recipe if isinstance(recipe, tuple) else (recipe,)
    for name, recipe in {
        "sensor_msgs/msg/JointState": Recipe(
            Kind.JOINTS, _fields(name="name", position="position", velocity="velocity", effort="effort")
        ),
        "control_msgs/msg/JointTrajectoryControllerState": tuple(_CONTROLLER_STATE.values()),
        "sensor_msgs/msg/Image": Recipe(
            Kind.IMAGE,
            _fields(width="width", height="height", encoding="encoding", step="step")
            | _fields(is_bigendian="is_bigendian"),
            payload="data",
        ),
        "sensor_msgs/msg/CompressedImage": Recipe(Kind.IMAGE, _COMPRESSED, payload="data", format="format"),
        "foxglove_msgs/msg/RawImage": Recipe(
            Kind.IMAGE,
            _FOXGLOVE | _fields(width="width", height="height", encoding="encoding", step="step"),
            payload="data",
        ),
        "foxglove_msgs/msg/CompressedImage": Recipe(
            Kind.IMAGE, {**_FOXGLOVE, **_COMPRESSED}, payload="data", format="format"
        ),
        "foxglove_msgs/msg/CompressedVideo": Recipe(
            Kind.IMAGE,
            {**_FOXGLOVE, "encoding": Codec()} | _fields(format="format"),
            payload="data",
        ),
        "sensor_msgs/msg/PointCloud2": Recipe(
            Kind.POINTS,
            _fields(width="width", height="height")
            | {"fields": PointFields()}
            | _fields(
                point_step="point_step", row_step="row_step", is_bigendian="is_bigendian", is_dense="is_dense"
            ),
            payload="data",
        ),
        "foxglove_msgs/msg/PointCloud": Recipe(
            Kind.POINTS,
            {
                **_FOXGLOVE,
                "width": FoxglovePointShape("width"),
                "height": FoxglovePointShape("height"),
                "fields": FoxglovePointFields(),
                "point_step": Field("point_stride"),
                "row_step": FoxglovePointShape("row_step"),
                "is_bigendian": FoxglovePointShape("is_bigendian"),
                "is_dense": FoxglovePointShape("is_dense"),
            },
            payload="data",
        ),
        "sensor_msgs/msg/LaserScan": Recipe(
            Kind.SCAN,
            {
                name: Field(name)
                for name in (
                    "angle_min",
                    "angle_max",
                    "angle_increment",
                    "time_increment",
                    "scan_time",
                    "range_min",
                    "range_max",
                    "ranges",
                    "intensities",
                )
            },
        ),
        "sensor_msgs/msg/Imu": Recipe(
            Kind.IMU,
            {
                "orientation": Quaternion("orientation"),
                "orientation_covariance": Field("orientation_covariance"),
                "angular_velocity": _xyz("angular_velocity"),
                "angular_velocity_covariance": Field("angular_velocity_covariance"),
                "linear_acceleration": _xyz("linear_acceleration"),
                "linear_acceleration_covariance": Field("linear_acceleration_covariance"),
            },
        ),
        "sensor_msgs/msg/MagneticField": Recipe(
            Kind.MAGNETOMETER,
            {"field": _xyz("magnetic_field"), "covariance": Field("magnetic_field_covariance")},
        ),
        "sensor_msgs/msg/FluidPressure": Recipe(
            Kind.BAROMETER, _fields(pressure="fluid_pressure", variance="variance")
        ),
        "sensor_msgs/msg/NavSatFix": Recipe(
            Kind.GNSS,
            _fields(
                latitude="latitude",
                longitude="longitude",
                altitude="altitude",
                status="status.status",
                service="status.service",
                covariance="position_covariance",
                covariance_type="position_covariance_type",
            ),
        ),
        "foxglove_msgs/msg/LocationFix": Recipe(
            Kind.GNSS,
            _FOXGLOVE
            | _fields(
                latitude="latitude",
                longitude="longitude",
                altitude="altitude",
                covariance="position_covariance",
                covariance_type="position_covariance_type",
            ),
        ),
        "sensor_msgs/msg/CameraInfo": tuple(
            Recipe(
                Kind.CAMERA_INFO,
                _fields(width="width", height="height", distortion_model="distortion_model")
                | {letter: Field(letter.upper() if upper else letter) for letter in "dkrp"},
            )
            for upper in (False, True)
        ),
        "foxglove_msgs/msg/CameraCalibration": tuple(
            Recipe(
                Kind.CAMERA_INFO,
                _FOXGLOVE
                | _fields(width="width", height="height", distortion_model="distortion_model")
                | {letter: Field(letter.upper() if upper else letter) for letter in "dkrp"},
            )
            for upper in (False, True)
        ),
        "sensor_msgs/msg/Joy": Recipe(Kind.JOY, _fields(axes="axes", buttons="buttons")),
        "sensor_msgs/msg/Temperature": Recipe(
            Kind.SCALAR, _fields(value="temperature"), units={"value": "Cel", "variance": "Cel2"}
        ),
        "sensor_msgs/msg/Range": Recipe(Kind.SCALAR, _fields(value="range"), units={"value": "m"}),
        "sensor_msgs/msg/Illuminance": Recipe(Kind.SCALAR, _fields(value="illuminance"), units={"value": "lx"}),
        "sensor_msgs/msg/RelativeHumidity": Recipe(
            Kind.SCALAR, _fields(value="relative_humidity"), units={"value": "1"}
        ),
        "geometry_msgs/msg/Twist": Recipe(Kind.TWIST, _twist("")),
        "geometry_msgs/msg/TwistStamped": Recipe(Kind.TWIST, _twist("twist.")),
        "geometry_msgs/msg/TwistWithCovariance": Recipe(
            Kind.TWIST, _twist("twist.") | _fields(covariance="covariance")
        ),
        "geometry_msgs/msg/TwistWithCovarianceStamped": Recipe(
            Kind.TWIST, _twist("twist.twist.") | _fields(covariance="twist.covariance")
        ),
        "geometry_msgs/msg/Wrench": Recipe(Kind.WRENCH, _wrench("")),
        "geometry_msgs/msg/WrenchStamped": Recipe(Kind.WRENCH, _wrench("wrench.")),
        "geometry_msgs/msg/Pose": Recipe(
            Kind.POSE,
            {"position": _xyz("position"), "orientation": Quaternion("orientation")},
        ),
        "geometry_msgs/msg/PoseStamped": Recipe(Kind.POSE, _pose("pose")),
        "geometry_msgs/msg/PoseWithCovariance": Recipe(
            Kind.POSE, _pose("pose") | _fields(covariance="covariance")
        ),
        "geometry_msgs/msg/PoseWithCovarianceStamped": Recipe(
            Kind.POSE, _pose("pose.pose") | _fields(covariance="pose.covariance")
        ),
        "foxglove_msgs/msg/PoseInFrame": Recipe(Kind.POSE, _FOXGLOVE | _pose("pose")),
        "geometry_msgs/msg/TransformStamped": _transforms("", "header.", "child_frame_id", "transform."),
        "foxglove_msgs/msg/FrameTransform": _foxglove_transforms("", ""),
        "foxglove_msgs/msg/FrameTransforms": _foxglove_transforms("transforms", "transforms."),
        "tf2_msgs/msg/TFMessage": _TRANSFORM_LIST,
        "tf/msg/tfMessage": _TRANSFORM_LIST,
        "nav_msgs/msg/Odometry": Recipe(
            Kind.ODOMETRY,
            _fields(child_frame_id="child_frame_id")
            | _pose("pose.pose")
            | _fields(pose_covariance="pose.covariance")
            | _twist("twist.twist.")
            | _fields(twist_covariance="twist.covariance"),
        ),
        "std_msgs/msg/String": Recipe(Kind.TEXT, _fields(text="data")),
        "std_msgs/msg/Empty": Recipe(Kind.EVENT, {"name": Constant("Empty")}),
        "audio_common_msgs/msg/AudioData": Recipe(Kind.AUDIO, payload="data"),
        "audio_common_msgs/msg/AudioDataStamped": Recipe(Kind.AUDIO, payload="audio.data"),
        **{
            f"std_msgs/msg/{name}": Recipe(Kind.SCALAR, _fields(value="data"))
            for name in (
                "Bool",
                "Byte",
                "Char",
                "Float32",
                "Float64",
                *(f"{sign}nt{bits}" for sign in ("I", "UI") for bits in (8, 16, 32, 64)),
            )
        },
    }.items()
}
