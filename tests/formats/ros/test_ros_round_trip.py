"""What rosbags writes, in either byte order and in ROS 1's encoding, becomes the columns of its kind."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
import random_messages as rm
from hypothesis import given, settings
from hypothesis import strategies as st

from twinloop.core.kinds import LAYOUTS, TIME_COLUMNS, Kind
from twinloop.formats.ros.columns import arrow_type

if TYPE_CHECKING:
    from random_messages import Made, Wire

    from twinloop.formats.messages import Decoded
    from twinloop.formats.ros.decoder import RosDecoder

SEEDS = st.integers(0, 2**32)
FEW = settings(max_examples=6, deadline=None, derandomize=True)
WIRES: tuple[Wire, ...] = ("cdr", "cdr-big", "ros1")


def xyz(path: str) -> tuple[str, ...]:
    return tuple(f"{path}.{axis}" for axis in "xyz")


def wxyz(path: str) -> tuple[str, ...]:
    return tuple(f"{path}.{axis}" for axis in "wxyz")


def same(*names: str) -> dict[str, Made]:
    return {name: name for name in names}


HEADER: dict[str, Made] = {"stamp_ns": "header.stamp", "frame_id": "header.frame_id"}
POSE: dict[str, Made] = {"position": xyz("pose.pose.position"), "orientation": wxyz("pose.pose.orientation")}
CAMERA_INFO: dict[str, Made] = {
    **HEADER,
    **same("width", "height", "distortion_model", "binning_x", "binning_y"),
    **{f"roi.{name}": f"roi.{name}" for name in ("x_offset", "y_offset", "height", "width", "do_rectify")},
}
#: Type -> its kind and what each column is made of: all columns, in any order.
CASES: dict[str, tuple[Kind, dict[str, Made]]] = {
    "sensor_msgs/msg/JointState": (Kind.JOINTS, HEADER | same("name", "position", "velocity", "effort")),
    "sensor_msgs/msg/Imu": (
        Kind.IMU,
        {
            **HEADER,
            "orientation": wxyz("orientation"),
            "angular_velocity": xyz("angular_velocity"),
            "linear_acceleration": xyz("linear_acceleration"),
            **same("orientation_covariance", "angular_velocity_covariance", "linear_acceleration_covariance"),
        },
    ),
    "nav_msgs/msg/Odometry": (
        Kind.ODOMETRY,
        {
            **HEADER,
            **POSE,
            "child_frame_id": "child_frame_id",
            "pose_covariance": "pose.covariance",
            "linear": xyz("twist.twist.linear"),
            "angular": xyz("twist.twist.angular"),
            "twist_covariance": "twist.covariance",
        },
    ),
    "geometry_msgs/msg/PoseWithCovarianceStamped": (
        Kind.POSE,
        HEADER | POSE | {"covariance": "pose.covariance"},
    ),
    "geometry_msgs/msg/WrenchStamped": (
        Kind.WRENCH,
        HEADER | {"force": xyz("wrench.force"), "torque": xyz("wrench.torque")},
    ),
    "geometry_msgs/msg/Twist": (
        Kind.TWIST,
        {"frame_id": (), "linear": xyz("linear"), "angular": xyz("angular")},
    ),
    "sensor_msgs/msg/MagneticField": (
        Kind.MAGNETOMETER,
        HEADER | {"field": xyz("magnetic_field"), "covariance": "magnetic_field_covariance"},
    ),
    "sensor_msgs/msg/NavSatFix": (
        Kind.GNSS,
        {
            **HEADER,
            **same("latitude", "longitude", "altitude"),
            "status": "status.status",
            "service": "status.service",
            "covariance": "position_covariance",
            "covariance_type": "position_covariance_type",
        },
    ),
    "sensor_msgs/msg/LaserScan": (
        Kind.SCAN,
        HEADER
        | same("angle_min", "angle_max", "angle_increment", "time_increment", "scan_time", "range_min")
        | same("range_max", "ranges", "intensities"),
    ),
    "sensor_msgs/msg/Joy": (Kind.JOY, HEADER | same("axes", "buttons")),
    "sensor_msgs/msg/Temperature": (Kind.SCALAR, HEADER | {"value": "temperature", "variance": "variance"}),
    "std_msgs/msg/Float32": (Kind.SCALAR, {"value": "data"}),
    "std_msgs/msg/String": (Kind.TEXT, {"text": "data"}),
    "nav_msgs/msg/Path": (
        Kind.TABLE,
        HEADER
        | {
            f"poses.{path}": f"poses.{path}"
            for path in (
                "header.stamp",
                "header.frame_id",
                *(f"pose.position.{axis}" for axis in "xyz"),
                *(f"pose.orientation.{axis}" for axis in "xyzw"),
            )
        },
    ),
    "trajectory_msgs/msg/JointTrajectory": (
        Kind.TABLE,
        HEADER
        | same("joint_names", "points.positions", "points.velocities", "points.accelerations")
        | same("points.effort", "points.time_from_start"),
    ),
    "diagnostic_msgs/msg/DiagnosticArray": (
        Kind.TABLE,
        HEADER
        | same("status.level", "status.name", "status.message", "status.hardware_id")
        | same("status.values.key", "status.values.value"),
    ),
    "std_msgs/msg/Float64MultiArray": (
        Kind.TABLE,
        same("layout.dim.label", "layout.dim.size", "layout.dim.stride", "layout.data_offset", "data"),
    ),
    "std_msgs/msg/UInt8MultiArray": (
        Kind.TABLE,
        same("layout.dim.label", "layout.dim.size", "layout.dim.stride", "layout.data_offset", "data"),
    ),
    "shape_msgs/msg/Mesh": (
        Kind.TABLE,
        same("triangles.vertex_indices", "vertices.x", "vertices.y", "vertices.z"),
    ),
    "sensor_msgs/msg/MultiDOFJointState": (
        Kind.TABLE,
        HEADER
        | same("joint_names")
        | {f"transforms.translation.{axis}": f"transforms.translation.{axis}" for axis in "xyz"}
        | {f"transforms.rotation.{axis}": f"transforms.rotation.{axis}" for axis in "xyzw"}
        | {f"twist.{part}.{axis}": f"twist.{part}.{axis}" for part in ("linear", "angular") for axis in "xyz"}
        | {f"wrench.{part}.{axis}": f"wrench.{part}.{axis}" for part in ("force", "torque") for axis in "xyz"},
    ),
}


def with_seq(columns: dict[str, Made], wire: Wire) -> dict[str, Made]:
    """ROS 1's headers have a count; that of nested ones is a column under its path."""
    if wire != "ros1":
        return columns
    nested = {f"{name[:-5]}seq": f"{name[:-5]}seq" for name in columns if name.endswith(".header.stamp")}
    return columns | nested | ({"seq": "header.seq"} if "stamp_ns" in columns else {})


def random_messages(type_name: str, wire: Wire, seed: int, count: int = 12) -> list[Any]:
    """Messages of a few shapes, mixed."""
    value = Random(seed)
    return [rm.maker(wire, Random(seed + value.randrange(3)), value).message(type_name) for _ in range(count)]


def with_sizes(messages: list[Any], *names: str) -> list[Any]:
    """Sizes as images have them: columns of sizes are int32."""
    for message in messages:
        for name in names:
            setattr(message, name, getattr(message, name) % 2**31)
    return messages


def check_layout(decoder: RosDecoder, decoded: Decoded, kind: Kind) -> None:
    """Time columns first, then those of the kind's layout in its order and of its types."""
    assert decoder.peek(None).kind is kind
    layout = {column.name.rstrip("?"): column for column in LAYOUTS[kind]}
    names = list(decoded.columns)
    needed = [name for name, column in layout.items() if not column.name.endswith("?")]
    assert set(needed) <= set(names)
    times = [name for name in TIME_COLUMNS if name in names]
    known = [name for name in layout if name in names]
    if kind is Kind.TRANSFORMS:  # `message` is added last
        known.remove("message")
        names.remove("message")
    assert names[: len(times) + len(known)] == times + known
    for name in times:
        assert decoded.columns[name].type == pa.int64()
    for name in known:
        assert decoded.columns[name].type == arrow_type(layout[name].type), name


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("type_name", CASES)
@FEW
@given(seed=SEEDS)
def test_all_columns_of_a_type(type_name: str, wire: Wire, seed: int) -> None:
    kind, columns = CASES[type_name]
    messages = random_messages(type_name, wire, seed)
    decoder = rm.decoder_of(type_name, wire)
    raw = [rm.serialize(message, type_name, wire) for message in messages]
    for _ in range(2):  # walked, then by templates
        decoded = rm.decode_all(decoder, raw, gap=b"\xff" * (seed % 9))
        check_layout(decoder, decoded, kind)
        assert decoded.bad is None
        assert decoded.rows is None
        assert decoded.payload is None
        rows = rm.rows_of(decoded.columns)
        expected = with_seq(columns, wire)
        assert set(rows) == set(expected)
        for name, made in expected.items():
            wanted = [rm.expected_row(message, made) if made else None for message in messages]
            assert rows[name] == wanted, name


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("type_name", rm.AWKWARD)
@FEW
@given(seed=SEEDS)
def test_types_with_padding_everywhere(type_name: str, wire: Wire, seed: int) -> None:
    messages = random_messages(type_name, wire, seed)
    decoder = rm.decoder_of(type_name, wire)
    raw = [rm.serialize(message, type_name, wire) for message in messages]
    paths = rm.paths(rm.store(wire), type_name)
    for _ in range(2):
        decoded = rm.decode_all(decoder, raw, gap=b"\xff" * (seed % 9))
        rows = rm.rows_of(decoded.columns)
        header = with_seq(HEADER, wire) if "header.stamp" in paths else {}
        expected = {path: path for path in paths if not path.startswith("header.")} | header
        assert set(rows) == set(expected)
        for name, made in expected.items():
            assert rows[name] == [rm.expected_row(message, made) for message in messages], name


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("upper", [False, True])
@FEW
@given(seed=SEEDS)
def test_camera_infos_of_both_spellings(wire: Wire, upper: bool, seed: int) -> None:
    if upper != (wire == "ros1"):
        return
    type_name = "sensor_msgs/msg/CameraInfo"
    messages = with_sizes(random_messages(type_name, wire, seed), "width", "height")
    decoder = rm.decoder_of(type_name, wire)
    decoded = rm.decode_all(decoder, [rm.serialize(message, type_name, wire) for message in messages])
    check_layout(decoder, decoded, Kind.CAMERA_INFO)
    rows = rm.rows_of(decoded.columns)
    letters: dict[str, Made] = {letter: letter.upper() if upper else letter for letter in "dkrp"}
    expected = with_seq(CAMERA_INFO, wire) | letters
    assert set(rows) == set(expected)
    for name, made in expected.items():
        assert rows[name] == [rm.expected_row(message, made) for message in messages], name


@pytest.mark.parametrize("wire", WIRES)
@FEW
@given(seed=SEEDS)
def test_transforms_have_one_row_each(wire: Wire, seed: int) -> None:
    type_name = "tf2_msgs/msg/TFMessage"
    messages = random_messages(type_name, wire, seed)
    decoder = rm.decoder_of(type_name, wire)
    raw = [rm.serialize(message, type_name, wire) for message in messages]
    for _ in range(2):
        decoded = rm.decode_all(decoder, raw)
        check_layout(decoder, decoded, Kind.TRANSFORMS)
        each = [(number, one) for number, message in enumerate(messages) for one in message.transforms]
        rows = rm.rows_of(decoded.columns)
        assert decoded.rows is not None
        assert rows["message"] == decoded.rows.tolist() == [number for number, _ in each]
        for name, made in {
            "stamp_ns": "header.stamp",
            "parent": "header.frame_id",
            "child": "child_frame_id",
            "translation": xyz("transform.translation"),
            "rotation": wxyz("transform.rotation"),
        }.items():
            assert rows[name] == [rm.expected_row(one, made) for _, one in each], name


@pytest.mark.parametrize("wire", WIRES)
@FEW
@given(seed=SEEDS)
def test_images_are_left_where_they_are(wire: Wire, seed: int) -> None:
    type_name = "sensor_msgs/msg/Image"
    messages = with_sizes(random_messages(type_name, wire, seed), "width", "height", "step")
    decoder = rm.decoder_of(type_name, wire)
    raw = [rm.serialize(message, type_name, wire) for message in messages]
    for _ in range(2):
        decoded = rm.decode_all(decoder, raw)
        check_layout(decoder, decoded, Kind.IMAGE)
        assert rm.bulk_of(decoded.payload) == [message.data.tobytes() for message in messages]
        rows = rm.rows_of(decoded.columns)
        assert rows.pop("is_bigendian") == [message.is_bigendian != 0 for message in messages]
        for name, made in with_seq(HEADER | same("width", "height", "encoding", "step"), wire).items():
            assert rows[name] == [rm.expected_row(message, made) for message in messages], name


@pytest.mark.parametrize("wire", WIRES)
@FEW
@given(seed=SEEDS)
def test_point_clouds_tell_their_fields(wire: Wire, seed: int) -> None:
    import json

    type_name = "sensor_msgs/msg/PointCloud2"
    sizes = ("width", "height", "point_step", "row_step")
    messages = with_sizes(random_messages(type_name, wire, seed), *sizes)
    decoder = rm.decoder_of(type_name, wire)
    raw = [rm.serialize(message, type_name, wire) for message in messages]
    for _ in range(2):
        decoded = rm.decode_all(decoder, raw)
        check_layout(decoder, decoded, Kind.POINTS)
        assert rm.bulk_of(decoded.payload) == [message.data.tobytes() for message in messages]
        rows = rm.rows_of(decoded.columns)
        names = ("name", "offset", "datatype", "count")
        assert [json.loads(text) for text in rows["fields"]] == [
            [{name: getattr(field, name) for name in names} for field in message.fields] for message in messages
        ]
        simple = same("width", "height", "point_step", "row_step", "is_bigendian", "is_dense")
        for name, made in with_seq(HEADER | simple, wire).items():
            assert rows[name] == [rm.expected_row(message, made) for message in messages], name


@pytest.mark.parametrize("wire", WIRES)
@FEW
@given(seed=SEEDS)
def test_compressed_images_and_depth_headers(wire: Wire, seed: int) -> None:
    type_name = "sensor_msgs/msg/CompressedImage"
    messages = random_messages(type_name, wire, seed)
    value = Random(seed)
    quanta = {}
    for number, message in enumerate(messages):
        message.format = value.choice(("jpeg", "rgb8; jpeg compressed bgr8", "16UC1; compressedDepth png"))
        message.data = np.frombuffer(b"\xff\xd8\xff" + value.randbytes(value.randrange(40)), np.uint8)
        if "Depth" in message.format:
            quanta[number] = np.array([value.uniform(0, 9), value.uniform(0, 9)], "<f4")
            head = np.zeros(4, np.uint8).tobytes() + quanta[number].tobytes()
            message.data = np.frombuffer(head + message.data.tobytes(), np.uint8)
    decoder = rm.decoder_of(type_name, wire)
    raw = [rm.serialize(message, type_name, wire) for message in messages]
    for _ in range(2):
        decoded = rm.decode_all(decoder, raw)
        rows = rm.rows_of(decoded.columns)
        for number, message in enumerate(messages):
            is_depth = number in quanta
            assert rows["encoding"][number] == ("png" if is_depth else "jpeg")
            assert rows["format"][number] == message.format
            for i, name in enumerate(("depth_quant_a", "depth_quant_b")):
                assert rows[name][number] == (repr(float(quanta[number][i])) if is_depth else None)
        assert rm.bulk_of(decoded.payload) == [
            message.data.tobytes()[12 if number in quanta else 0 :] for number, message in enumerate(messages)
        ]


@pytest.mark.parametrize("wire", WIRES)
def test_messages_of_nothing(wire: Wire) -> None:
    decoder = rm.decoder_of("std_msgs/msg/Empty", wire)
    raw = b"" if wire == "ros1" else b"\0\1\0\0\0"
    decoded = rm.decode_all(decoder, [raw] * 3)
    assert decoder.peek(None).kind is Kind.EVENT
    assert rm.rows_of(decoded.columns) == {"name": ["Empty"] * 3}
    assert decoded.bad is None


@pytest.mark.parametrize("type_name", [*CASES, "tf2_msgs/msg/TFMessage", "sensor_msgs/msg/Image"])
def test_no_messages_at_all(type_name: str) -> None:
    decoded = rm.decode_all(rm.decoder_of(type_name, "cdr"), [])
    assert {len(column) for column in decoded.columns.values()} == {0}
    assert decoded.bad is None
    assert not decoded.payload


@pytest.mark.parametrize("wire", ["cdr", "ros1"])
def test_every_standard_type_round_trips(wire: Wire) -> None:
    """Where a message becomes rows of its own, all of them fit; fields that are numbers are not lost."""
    for type_name in rm.store(wire).fielddefs:
        if "/msg/" not in type_name or type_name.startswith("builtin_interfaces"):
            continue
        messages = random_messages(type_name, wire, len(type_name), count=3)
        decoder = rm.decoder_of(type_name, wire)
        decoded = rm.decode_all(decoder, [rm.serialize(message, type_name, wire) for message in messages])
        assert decoded.bad is None, (type_name, decoded.why)
        rm.rows_of(decoded.columns)
