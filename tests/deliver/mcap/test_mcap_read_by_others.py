"""Files of ours through readers that are not: mcap with its decoders, rosbags, Foxglove's schemas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from every_kind import ROWS, every_kind

from twinloop.core.kinds import Kind
from twinloop.core.mapping import Mapping
from twinloop.core.stream import Stream
from twinloop.deliver.mcap import foxglove
from twinloop.deliver.mcap.export import export_mcap
from twinloop.deliver.mcap.survey import survey
from twinloop.deliver.source import ExportSource


def written(folder: Path, encoding: Any) -> Path:
    path = folder / "out.mcap"
    export_mcap(ExportSource("S", every_kind(), Mapping(), ()), path, encoding=encoding)
    return path


def test_mcap_decodes_every_ros_2_message(tmp_path: Path) -> None:
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory

    with written(tmp_path, "ros2").open("rb") as file:
        decoded: dict[str, list[Any]] = {}
        for _, channel, message, content in make_reader(
            file, decoder_factories=[DecoderFactory()]
        ).iter_decoded_messages():
            decoded.setdefault(channel.topic, []).append((message, content))
    wanted = every_kind()
    message, imu = decoded["/imu"][7]
    row = wanted.read("/imu").slice(7, 1).to_pylist()[0]
    assert (message.log_time, message.publish_time, message.sequence) == (
        row["log_ns"],
        row["publish_ns"],
        row["seq"],
    )
    assert imu.header.stamp.sec * 10**9 + imu.header.stamp.nanosec == row["stamp_ns"]
    q = imu.orientation
    assert [q.w, q.x, q.y, q.z] == row["orientation"]
    assert [imu.linear_acceleration.x, imu.linear_acceleration.y, imu.linear_acceleration.z] == row[
        "linear_acceleration"
    ]
    joints = decoded["/joints"][9][1]
    row = wanted.read("/joints").slice(9, 1).to_pylist()[0]
    assert (list(joints.name), list(joints.position)) == (row["name"], row["position"])
    assert sum(len(content.transforms) for _, content in decoded["/transforms"]) == ROWS
    assert {topic for topic in decoded if not topic.endswith("/columns")} >= {
        name for name, stream in wanted.streams.items() if stream.count
    }


def test_rosbags_decodes_the_standard_messages(tmp_path: Path) -> None:
    from mcap.reader import make_reader
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.LATEST)
    wanted = every_kind()
    seen: dict[str, int] = {}
    with written(tmp_path, "ros2").open("rb") as file:
        for schema, channel, message in make_reader(file).iter_messages():
            assert schema
            if schema.name in store.fielddefs:
                content = store.deserialize_cdr(message.data, schema.name)
                row = seen.get(channel.topic, 0)
                seen[channel.topic] = row + 1
                if schema.name == "sensor_msgs/msg/PointCloud2" and row == 3:
                    assert [field.name for field in content.fields] == ["x", "t"]
                    payload = [bytes(p) for b in wanted.scan(["/points"]) for p in b.payload or ()]
                    assert bytes(content.data) == payload[3]
    assert {"/joints", "/imu", "/pose", "/twist", "/wrench", "/odometry", "/gnss", "/scan", "/image"} <= set(
        seen
    )


def test_mcap_decodes_every_protobuf_message(tmp_path: Path) -> None:
    from mcap.reader import make_reader
    from mcap_protobuf.decoder import DecoderFactory

    wanted = every_kind()
    counts: dict[str, int] = {}
    with written(tmp_path, "foxglove").open("rb") as file:
        for _, channel, _, content in make_reader(
            file, decoder_factories=[DecoderFactory()]
        ).iter_decoded_messages():
            row = counts.get(channel.topic, 0)
            counts[channel.topic] = row + 1
            if channel.topic == "/pose" and row == 5:
                p = content.pose.position
                assert [p.x, p.y, p.z] == wanted.read("/pose")["position"][5].as_py()
                stamp = content.timestamp.seconds * 10**9 + content.timestamp.nanos
                assert stamp == wanted.read("/pose")["stamp_ns"][5].as_py()
    assert counts["/imu"] == ROWS
    assert {name for name, stream in wanted.streams.items() if stream.count} <= counts.keys()


@pytest.mark.parametrize(
    "kind", [Kind.POINTS, Kind.TRANSFORMS, Kind.POSE, Kind.CAMERA_INFO, Kind.GNSS, Kind.TEXT]
)
def test_schemas_are_those_of_the_foxglove_sdk(kind: Kind) -> None:
    message = foxglove.foxglove_message(
        Stream("x", kind), survey(every_kind(), every_kind().streams[f"/{kind.value}"])
    )
    assert message
    assert_same_fields(message.type_name, message.schema)


@pytest.mark.parametrize("picture", [foxglove.RAW_IMAGE, foxglove.COMPRESSED_IMAGE, foxglove.VIDEO])
def test_schemas_of_images_are_those_of_the_foxglove_sdk(picture: Any) -> None:
    message = foxglove.foxglove_message(
        Stream("x", Kind.IMAGE), survey(every_kind(), every_kind().streams["/image"]), picture
    )
    assert message
    assert_same_fields(message.type_name, message.schema)


def assert_same_fields(name: str, schema: bytes) -> None:
    """Every field of ours, in this type and those it uses, has the SDK's number and type."""
    import foxglove.messages as sdk

    theirs = _fields(getattr(sdk, name.removeprefix("foxglove.")).get_schema().data)
    for type, fields in _fields(schema).items():
        for field, said in fields.items():
            assert theirs[type][field] == said, (type, field)


def _fields(schema: bytes) -> dict[str, dict[str, tuple[int, int, int]]]:
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    files = FileDescriptorSet.FromString(schema).file
    return {
        type.name: {field.name: (field.number, field.type, field.label) for field in type.field}
        for file in files
        for type in file.message_type
    }


def test_a_negative_number_and_an_empty_text_survive_protobuf(tmp_path: Path) -> None:
    from twinloop.deliver.mcap.protobuf import encode_protobuf
    from twinloop.formats.ros.definitions import Primitive, Struct

    struct = Struct("twinloop.X", (("a", Primitive("i8")), ("b", Primitive("u8"))))
    values = {"a": np.array([-1, 0, 2**40]), "b": np.array([0, 2**63, 1], np.uint64)}
    out = encode_protobuf(struct, values, 3)
    assert bytes(out.data[: out.length[0]]) == b"\x08" + b"\xff" * 9 + b"\x01" + b"\x10\x00"
