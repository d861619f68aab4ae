"""What a type and a first message tell: kind, stamp, units, attributes; types that only look standard."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
import random_messages as rm
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from twinloop.core.kinds import Kind, StampSource
from twinloop.formats.ros.decoder import ros_decoder

FOXGLOVE = {
    "foxglove_msgs/msg/CompressedVideo": "time timestamp\nstring frame_id\nuint8[] data\nstring format",
    "foxglove_msgs/msg/CompressedImage": "time timestamp\nstring frame_id\nuint8[] data\nstring format",
    "foxglove_msgs/msg/PackedElementField": "string name\nuint32 offset\nuint8 type",
    "foxglove_msgs/msg/PointCloud": (
        "time timestamp\nstring frame_id\ngeometry_msgs/Pose pose\nuint32 point_stride\n"
        "foxglove_msgs/PackedElementField[] fields\nuint8[] data"
    ),
}


def first(type_name: str, **changes: Any) -> bytes:
    message = rm.maker("cdr", Random(3), Random(3)).message(type_name)
    for name, value in changes.items():
        setattr(message, name, value)
    return rm.serialize(message, type_name, "cdr")


@pytest.mark.parametrize(
    ("format", "kind", "encoding"),
    [
        ("jpeg", Kind.IMAGE, "jpeg"),
        ("rgb8; jpeg compressed bgr8", Kind.IMAGE, "jpeg"),
        ("bgr8; png compressed bgr8", Kind.IMAGE, "png"),
        ("16UC1; compressedDepth", Kind.DEPTH, "png"),
        ("h264", Kind.IMAGE, "h264"),
        ("", Kind.IMAGE, "jpeg"),
    ],
)
def test_compressed_images(format: str, kind: Kind, encoding: str) -> None:
    data = np.frombuffer(b"\xff\xd8\xff" + bytes(20), np.uint8)
    decoder = rm.decoder_of("sensor_msgs/msg/CompressedImage", "cdr")
    peek = decoder.peek(first("sensor_msgs/msg/CompressedImage", format=format, data=data))
    assert peek.kind is kind
    assert peek.attributes["encoding"] == encoding
    assert peek.stamp_source is StampSource.DRIVER


@pytest.mark.parametrize(
    ("encoding", "kind"), [("rgb8", Kind.IMAGE), ("16UC1", Kind.DEPTH), ("mono16", Kind.IMAGE)]
)
def test_raw_images(encoding: str, kind: Kind) -> None:
    decoder = rm.decoder_of("sensor_msgs/msg/Image", "cdr")
    peek = decoder.peek(first("sensor_msgs/msg/Image", encoding=encoding, width=4, height=2, step=12))
    assert peek.kind is kind
    assert peek.attributes | {"encoding": encoding, "width": "4", "height": "2"} == peek.attributes


def test_units_and_unstamped_types() -> None:
    assert rm.decoder_of("sensor_msgs/msg/Range", "cdr").peek(None).units == {"value": "m"}
    peek = rm.decoder_of("geometry_msgs/msg/Twist", "cdr").peek(None)
    assert (peek.kind, peek.stamp_source) == (Kind.TWIST, StampSource.NONE)


def test_a_first_message_that_is_broken_tells_what_its_type_does() -> None:
    decoder = rm.decoder_of("sensor_msgs/msg/JointState", "cdr")
    for broken in (b"", b"\0\1\0\0\1", b"\xff" * 90):
        assert decoder.peek(broken).kind is Kind.JOINTS


def test_a_type_that_is_not_what_its_name_says_is_a_table() -> None:
    decoder = ros_decoder(
        "sensor_msgs/msg/Imu", "float64 heading\nstring name", encoding="cdr", definition_format="ros2msg"
    )
    assert decoder.peek(None).kind is Kind.TABLE


def test_fields_named_like_time_columns_step_aside() -> None:
    decoder = ros_decoder(
        "a/B", "int64 log_ns\nint32 seq\nint8 message", encoding="ros1", definition_format="ros1msg"
    )
    decoded = rm.decode_all(decoder, [bytes(13)])
    assert list(decoded.columns) == ["log_ns_", "seq_", "message_"]


def test_foxglove_types() -> None:
    types = get_typestore(Stores.ROS2_HUMBLE)
    for name, text in FOXGLOVE.items():
        types.register(get_types_from_msg(text, name))
    stamp = types.types["builtin_interfaces/msg/Time"](5, 7)
    for name, kind in (("CompressedVideo", "h264"), ("CompressedImage", "webp")):
        full = f"foxglove_msgs/msg/{name}"
        decoder = rm.decoder_of(full, "cdr", types)
        sizes = (0, 5, 6, 7, 30)
        raw = [
            rm.serialize(types.types[full](stamp, "cam", np.full(n, 9, np.uint8), kind), full, "cdr", types)
            for n in sizes
        ]
        for _ in range(2):
            decoded = rm.decode_all(decoder, raw)
            assert decoded.bad is None, decoded.why
            rows = rm.rows_of(decoded.columns)
            assert rows["stamp_ns"] == [5_000_000_007] * 5
            assert rows["encoding"] == [kind] * 5
            assert rm.bulk_of(decoded.payload) == [b"\t" * n for n in sizes]

    full = "foxglove_msgs/msg/PointCloud"
    pose = rm.maker("cdr", Random(1), Random(1)).message("geometry_msgs/msg/Pose")
    field = types.types["foxglove_msgs/msg/PackedElementField"]
    cloud = types.types[full](stamp, "lidar", pose, 4, [field("x", 0, 7)], np.zeros(12, np.uint8))
    decoder = rm.decoder_of(full, "cdr", types)
    rows = rm.rows_of(rm.decode_all(decoder, [rm.serialize(cloud, full, "cdr", types)]).columns)
    assert (rows["width"], rows["height"], rows["point_step"], rows["row_step"]) == ([3], [1], [4], [12])
    assert rows["fields"] == ['[{"name": "x", "offset": 0, "datatype": 7, "count": 1}]']
