"""ROS messages in MCAP: every value as mcap-ros2-support (ROS 2) and rosbags (ROS 1) read it."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import mcap_files
import numpy as np
import pytest
from mcap.reader import make_reader
from mcap.writer import Writer
from mcap_files import START_NS
from mcap_ros2.decoder import DecoderFactory
from rosbags.typesys import Stores, get_typestore

from twinloop.core.clock import Epoch
from twinloop.core.kinds import Kind, StampSource
from twinloop.core.recording import Problem, Recording
from twinloop.formats.reader import ReadOptions, open_recording

ROS2 = get_typestore(Stores.ROS2_HUMBLE)
ROS1 = get_typestore(Stores.ROS1_NOETIC)
JOINT_STATE = "sensor_msgs/msg/JointState"
KINDS = {
    "/joints": (JOINT_STATE, Kind.JOINTS),
    "/camera": ("sensor_msgs/msg/CompressedImage", Kind.IMAGE),
    "/depth": ("sensor_msgs/msg/Image", Kind.DEPTH),
    "/tf": ("tf2_msgs/msg/TFMessage", Kind.TRANSFORMS),
    "/imu": ("sensor_msgs/msg/Imu", Kind.IMU),
    "/odom": ("nav_msgs/msg/Odometry", Kind.ODOMETRY),
    "/scan": ("sensor_msgs/msg/LaserScan", Kind.SCAN),
    "/note": ("std_msgs/msg/String", Kind.TEXT),
}


def stamped(store: Any, ns: int, frame_id: str) -> Any:
    time = store.types["builtin_interfaces/msg/Time"](sec=ns // 10**9, nanosec=ns % 10**9)
    values = {"stamp": time, "frame_id": frame_id}
    if store is ROS1:
        values["seq"] = 7
    return store.types["std_msgs/msg/Header"](**values)


def vector(store: Any, name: str, values: np.ndarray) -> Any:
    return store.types[f"geometry_msgs/msg/{name}"](**dict(zip("xyzw", values.tolist(), strict=False)))


def message(store: Any, topic: str, i: int, rng: np.random.Generator) -> Any:
    """The i-th message of a topic, with random content."""
    type_name = KINDS[topic][0]
    make = store.types[type_name]
    ns = START_NS + i * 1_000_000
    header = stamped(store, ns, f"{topic[1:]}_frame")
    match topic:
        case "/joints":
            names = [f"joint_{j}" for j in range(3 + i % 2)]
            position, velocity = rng.normal(size=(2, len(names)))
            return make(header, names, position, velocity, np.empty(0))
        case "/camera":
            return make(header, "jpeg", rng.integers(0, 255, int(rng.integers(1, 500)), np.uint8))
        case "/depth":
            return make(header, 2, 3, "16UC1", 0, 6, rng.integers(0, 255, 12, np.uint8))
        case "/tf":
            return make([transform(store, ns, j, rng) for j in range(i % 3)])
        case "/imu":
            values = [vector(store, "Quaternion", rng.normal(size=4)), rng.normal(size=9)]
            for _ in range(2):
                values += [vector(store, "Vector3", rng.normal(size=3)), rng.normal(size=9)]
            return make(header, *values)
        case "/odom":
            point, turn = (
                vector(store, "Point", rng.normal(size=3)),
                vector(store, "Quaternion", rng.normal(size=4)),
            )
            pose = store.types["geometry_msgs/msg/Pose"](point, turn)
            linear, angular = (vector(store, "Vector3", rng.normal(size=3)) for _ in range(2))
            twist = store.types["geometry_msgs/msg/Twist"](linear, angular)
            return make(
                header,
                "base",
                store.types["geometry_msgs/msg/PoseWithCovariance"](pose, rng.normal(size=36)),
                store.types["geometry_msgs/msg/TwistWithCovariance"](twist, rng.normal(size=36)),
            )
        case "/scan":
            ranges = rng.normal(size=i % 5).astype(np.float32)
            return make(header, -1.0, 1.0, 0.5, 0.0, 0.1, 0.2, 9.0, ranges, ranges * 2)
        case _:
            return make(f"note {i} ü")


def transform(store: Any, ns: int, number: int, rng: np.random.Generator) -> Any:
    place = store.types["geometry_msgs/msg/Transform"](
        vector(store, "Vector3", rng.normal(size=3)), vector(store, "Quaternion", rng.normal(size=4))
    )
    make = store.types["geometry_msgs/msg/TransformStamped"]
    return make(stamped(store, ns, "base"), f"link_{number}", place)


def fill(writer: Writer, count: int = 60) -> None:
    """`count` messages of every topic in CDR."""
    rng = np.random.default_rng(1)
    channels = {}
    for topic, (type_name, _) in KINDS.items():
        text = ROS2.generate_msgdef(type_name, ros_version=2)[0]
        schema = writer.register_schema(type_name, "ros2msg", text.encode())
        channels[topic] = writer.register_channel(topic, "cdr", schema, {"offered_qos_profiles": ""})
    for i in range(count):
        for topic, channel in channels.items():
            data = bytes(ROS2.serialize_cdr(message(ROS2, topic, i, rng), KINDS[topic][0]))
            writer.add_message(channel, START_NS + i * 1_000_000 + 300_000, data, START_NS + i, i)


def opened(tmp_path: Path, data: bytes, options: ReadOptions | None = None) -> Recording:
    path = tmp_path / "file.mcap"
    path.write_bytes(data)
    return open_recording(path, options)


def columns_of(recording: Recording) -> dict[str, dict[str, list[Any]]]:
    found: dict[str, dict[str, list[Any]]] = {}
    for batch in recording.scan():
        columns = found.setdefault(batch.stream, {})
        for name, values in batch.columns.to_pydict().items():
            columns.setdefault(name, []).extend(values)
        if batch.payload is not None:
            columns.setdefault("payload", []).extend(bytes(one) for one in batch.payload)
    return found


def xyz(value: Any) -> list[float]:
    return [value.x, value.y, value.z]


def wxyz(value: Any) -> list[float]:
    return [value.w, value.x, value.y, value.z]


def expected(topic: str, made: Any) -> dict[str, Any]:
    """The columns that hold one peer's message."""
    match topic:
        case "/joints":
            return {name: list(getattr(made, name)) for name in ("name", "position", "velocity", "effort")}
        case "/camera":
            return {"encoding": made.format, "payload": bytes(made.data)}
        case "/depth":
            same = {name: getattr(made, name) for name in ("width", "height", "encoding", "step")}
            return same | {"payload": bytes(made.data), "is_bigendian": bool(made.is_bigendian)}
        case "/imu":
            return {
                "orientation": wxyz(made.orientation),
                "orientation_covariance": list(made.orientation_covariance),
                "angular_velocity": xyz(made.angular_velocity),
                "linear_acceleration": xyz(made.linear_acceleration),
                "linear_acceleration_covariance": list(made.linear_acceleration_covariance),
            }
        case "/odom":
            return {
                "child_frame_id": made.child_frame_id,
                "position": xyz(made.pose.pose.position),
                "orientation": wxyz(made.pose.pose.orientation),
                "pose_covariance": list(made.pose.covariance),
                "linear": xyz(made.twist.twist.linear),
                "angular": xyz(made.twist.twist.angular),
                "twist_covariance": list(made.twist.covariance),
            }
        case "/scan":
            names = ("angle_min", "angle_max", "angle_increment", "scan_time", "range_min", "range_max")
            return {name: getattr(made, name) for name in names} | {
                name: list(getattr(made, name)) for name in ("ranges", "intensities")
            }
        case _:
            return {"text": made.data}


def check_rows(topic: str, columns: dict[str, list[Any]], messages: list[Any]) -> None:
    if topic == "/tf":
        rows = [(number, one) for number, made in enumerate(messages) for one in made.transforms]
        assert columns["message"] == [number for number, _ in rows]
        assert columns["parent"] == [one.header.frame_id for _, one in rows]
        assert columns["child"] == [one.child_frame_id for _, one in rows]
        assert columns["translation"] == [xyz(one.transform.translation) for _, one in rows]
        assert columns["rotation"] == [wxyz(one.transform.rotation) for _, one in rows]
        stamps = [one.header.stamp for _, one in rows]
    else:
        for row, made in enumerate(messages):
            for name, value in expected(topic, made).items():
                assert columns[name][row] == value, (topic, row, name)
        if topic == "/note":
            return
        assert columns["frame_id"] == [made.header.frame_id for made in messages]
        stamps = [made.header.stamp for made in messages]
    assert columns["stamp_ns"] == [s.sec * 10**9 + s.nanosec for s in stamps]


def test_every_value_as_mcap_ros2_support_reads_it(tmp_path: Path) -> None:
    data = mcap_files.write("zstd", fill=fill)
    peer: dict[str, list[Any]] = {}
    reader = make_reader(BytesIO(data), decoder_factories=[DecoderFactory()])
    for _, channel, record, made in reader.iter_decoded_messages(log_time_order=False):
        peer.setdefault(channel.topic, []).append((record, made))
    with opened(tmp_path, data) as recording:
        assert {name: stream.kind for name, stream in recording.streams.items()} == {
            topic: kind for topic, (_, kind) in KINDS.items()
        }
        found = columns_of(recording)
        for topic, pairs in peer.items():
            check_rows(topic, found[topic], [made for _, made in pairs])
            if topic != "/tf":
                assert found[topic]["log_ns"] == [record.log_time for record, _ in pairs]
                assert found[topic]["publish_ns"] == [record.publish_time for record, _ in pairs]
                assert found[topic]["seq"] == [record.sequence for record, _ in pairs]
        assert recording.notes == []


def test_ros1_messages_as_rosbags_reads_them(tmp_path: Path) -> None:
    topics = ("/joints", "/imu", "/odom", "/camera", "/note")
    made: dict[str, list[Any]] = {topic: [] for topic in topics}

    def fill_ros1(writer: Writer) -> None:
        rng = np.random.default_rng(2)
        for topic in topics:
            name = KINDS[topic][0]
            text = ROS1.generate_msgdef(name, ros_version=1)[0]
            schema = writer.register_schema(name.replace("/msg/", "/"), "ros1msg", text.encode())
            channel = writer.register_channel(topic, "ros1", schema)
            for i in range(20):
                raw = ROS1.serialize_ros1(message(ROS1, topic, i, rng), name)
                made[topic].append(ROS1.deserialize_ros1(raw, name))
                writer.add_message(channel, START_NS + i * 1_000_000, bytes(raw), START_NS)

    with opened(tmp_path, mcap_files.write("lz4", fill=fill_ros1)) as recording:
        found = columns_of(recording)
        for topic in topics:
            assert recording.streams[topic].kind is KINDS[topic][1]
            check_rows(topic, found[topic], made[topic])
        assert found["/joints"]["seq"] == [7] * 20
        assert recording.notes == []


def test_a_stream_is_ordered_by_stamps_that_are_near_its_log_times(tmp_path: Path) -> None:
    with opened(tmp_path, mcap_files.write("plain", fill=fill)) as recording:
        joints, note = recording.streams["/joints"], recording.streams["/note"]
        assert (joints.timeline, joints.stamp_source) == ("stamp_ns", StampSource.DRIVER)
        assert (joints.start_ns, joints.end_ns) == (START_NS, START_NS + 59_000_000)
        assert joints.stamp_clock.epoch is Epoch.UNIX
        assert (note.timeline, note.stamp_source) == ("log_ns", StampSource.NONE)
        assert note.start_ns == START_NS + 300_000
        span = {"start_ns": START_NS + 10_000_000, "end_ns": START_NS + 20_000_000}
        rows = {batch.stream: len(batch) for batch in recording.scan(["/joints", "/note"], **span)}
        assert rows == {"/joints": 10, "/note": 10}


def test_stamps_of_another_clock_do_not_order_a_stream(tmp_path: Path) -> None:
    def fill_boot(writer: Writer) -> None:
        text = ROS2.generate_msgdef(JOINT_STATE, ros_version=2)[0]
        channel = writer.register_channel(
            "/j", "cdr", writer.register_schema(JOINT_STATE, "ros2msg", text.encode())
        )
        for i in range(5):
            state = ROS2.types[JOINT_STATE](stamped(ROS2, 5 * 10**9 + i, "x"), [], *[np.empty(0)] * 3)
            writer.add_message(channel, START_NS + i, bytes(ROS2.serialize_cdr(state, JOINT_STATE)), START_NS)

    with opened(tmp_path, mcap_files.write(fill=fill_boot)) as recording:
        stream = recording.streams["/j"]
        assert (stream.timeline, stream.stamp_clock.epoch) == ("log_ns", Epoch.BOOT)


def test_definitions_that_are_missing_or_do_not_parse(tmp_path: Path) -> None:
    state = ROS2.types[JOINT_STATE](stamped(ROS2, START_NS, "x"), ["a"], *[np.ones(1)] * 3)
    raw = bytes(ROS2.serialize_cdr(state, JOINT_STATE))

    def fill_bad(writer: Writer) -> None:
        for topic, name, encoding, text in (
            ("/standard", JOINT_STATE, "", b""),
            ("/own", "own_msgs/msg/Own", "", b""),
            ("/broken", "own_msgs/msg/Broken", "ros2msg", b"what is this = = =\nNoSuchType x"),
            ("/named", "named_msgs/msg/Named", "", b""),
        ):
            schema = writer.register_schema(name, encoding, text)
            writer.add_message(writer.register_channel(topic, "cdr", schema), START_NS, raw, START_NS)

    types = tmp_path / "named_msgs" / "msg"
    types.mkdir(parents=True)
    (types / "Named.msg").write_text("std_msgs/Header header\nstring[] name\nfloat64[] position\n")
    with opened(tmp_path, mcap_files.write(fill=fill_bad), ReadOptions(types_dir=tmp_path)) as recording:
        kinds = {name: stream.kind for name, stream in recording.streams.items()}
        assert kinds == {
            "/standard": Kind.JOINTS,
            "/own": Kind.RAW,
            "/broken": Kind.RAW,
            "/named": Kind.TABLE,
        }
        noted = {note.where.stream for note in recording.notes if note.problem is Problem.SCHEMA}
        assert noted >= {"/own", "/broken"}
        found = columns_of(recording)
        assert found["/standard"]["name"] == [["a"]]
        assert found["/own"]["payload"] == [raw]


@pytest.mark.parametrize("verify", [True, False])
def test_images_point_into_the_decompressed_chunk(tmp_path: Path, verify: bool) -> None:
    with opened(tmp_path, mcap_files.write("zstd", fill=fill), ReadOptions(verify=verify)) as recording:
        buffers = {
            batch.payload.buffer.ctypes.data for batch in recording.scan(["/camera", "/depth"]) if batch.payload
        }
        assert len(buffers) == 1
