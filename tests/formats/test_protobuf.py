"""Protobuf columns against the protobuf runtime's own reading of the same bytes."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from protobuf_types import Types, file_of, foxglove, sampler

from twinloop.core.kinds import LAYOUTS, Kind, StampSource
from twinloop.formats.messages import Decoded
from twinloop.formats.protobuf import protobuf_decoder
from twinloop.formats.protobuf_schema import SchemaError

FOXGLOVE = foxglove()
SAMPLER = sampler()
STAMP_NS = 1_700_000_000_123_456_789


def decode(types: Types, type_name: str, messages: list[bytes]) -> Decoded:
    """Decode messages that lie in one buffer with something between them."""
    buffer = b"\xff".join([b"", *messages, b""])
    length = np.array([len(m) for m in messages], np.int64)
    offset = 1 + np.cumsum(length + 1) - (length + 1)
    decoder = protobuf_decoder(type_name, types.data)
    return decoder.decode(np.frombuffer(buffer, np.uint8), offset, length)


def stamp(ns: int = STAMP_NS) -> dict[str, int]:
    return {"seconds": ns // 10**9, "nanos": ns % 10**9}


def rows_of(decoded: Decoded) -> list[dict[str, Any]]:
    return pa.table(decoded.columns).to_pylist()


def random_sampler(rng: np.random.Generator) -> Any:
    """A `Sampler` with about half of its fields set, at their extremes as often as not."""
    limits = {"32": 2**31, "64": 2**63}

    def value(name: str) -> Any:
        if name in ("double", "float"):
            return float(np.float32(rng.normal()))
        if name == "bool":
            return bool(rng.integers(2))
        if name == "string":
            return "".join(rng.choice(list("abü→"), rng.integers(0, 6)))
        if name == "bytes":
            return rng.bytes(int(rng.integers(0, 5)))
        limit = limits[name[-2:]]
        low, high = (0, 2 * limit - 1) if name.startswith(("u", "fixed")) else (-limit, limit - 1)
        return (low, high)[rng.integers(2)] if rng.random() < 0.3 else int(rng.integers(max(low, -200), 300))

    made = SAMPLER.new("test.Sampler")
    for field in made.DESCRIPTOR.fields:
        prefix, _, name = field.name.partition("_")
        if rng.random() < 0.5:
            if prefix in ("one", "maybe"):
                setattr(made, field.name, value(name))
            elif prefix == "many":
                getattr(made, field.name).extend(value(name) for _ in range(rng.integers(0, 5)))
    made.mode = int(rng.integers(0, 4))
    made.modes.extend(rng.integers(0, 3, rng.integers(0, 4)).tolist())
    if rng.random() < 0.7:
        made.at.seconds, made.at.nanos = int(rng.integers(-5, 5)), int(rng.integers(0, 10**9))
        made.lasted.seconds = -3
    for _ in range(rng.integers(0, 3)):
        made.stamps.add(seconds=int(rng.integers(0, 5)))
        middle = made.middles.add(gain=0.5)
        middle.inner.label = "in"
        for _ in range(rng.integers(0, 3)):
            middle.inners.add(id=int(rng.integers(0, 300)), label="x", values=rng.integers(-9, 9, 3).tolist())
    if rng.random() < 0.5:
        made.middle.inners.add(id=1, values=[1, -2])
        made.tree.children.add(name="leaf")
    return made


def expected(made: Any, path: str = "") -> dict[str, Any]:
    """The flat columns of a message, read through the runtime."""

    def leaf(field: Any, value: Any) -> Any:
        if field.enum_type is not None:
            known = field.enum_type.values_by_number.get(value)
            return known.name if known else str(value)
        if field.message_type is not None and field.message_type.full_name == "test.Tree":
            return value.SerializeToString()
        return value.seconds * 10**9 + value.nanos if field.message_type is not None else value

    flat: dict[str, Any] = {}
    for field in made.DESCRIPTOR.fields:
        name = f"{path}{field.name}"
        value = getattr(made, field.name)
        is_leaf = field.message_type is None or field.message_type.full_name.startswith("google.")
        if is_leaf or (field.message_type.full_name == "test.Tree" and path.endswith("tree.")):
            if field.is_repeated:
                flat[name] = [leaf(field, one) for one in value]
            else:
                absent = field.has_presence and not made.HasField(field.name)
                flat[name] = None if absent else leaf(field, value)
        elif field.is_repeated:
            parts = [expected(one) for one in value]
            empty = expected(SAMPLER.new(field.message_type.full_name))
            flat |= {f"{name}.{key}": [part[key] for part in parts] for key in empty}
        else:
            inner = expected(value, f"{name}.")
            flat |= inner if made.HasField(field.name) else dict.fromkeys(inner)
    return flat


@pytest.mark.parametrize("seed", range(5))
def test_every_sort_of_field_as_the_runtime_reads_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = [random_sampler(rng) for _ in range(60)]
    decoded = decode(SAMPLER, "test.Sampler", [one.SerializeToString() for one in made])
    assert decoded.rows is None and decoded.bad is None
    for row, one in zip(rows_of(decoded), made, strict=True):
        assert row == expected(one)


def test_long_messages_among_short_ones() -> None:
    """A few messages with very many fields are finished one by one."""
    made = [SAMPLER.new("test.Sampler", one_int32=i) for i in range(40)]
    for one in made[3:5]:
        for i in range(200):
            one.middles.add(gain=i).inner.id = i
    decoded = decode(SAMPLER, "test.Sampler", [one.SerializeToString() for one in made])
    for row, one in zip(rows_of(decoded), made, strict=True):
        assert row == expected(one)


def test_broken_messages_give_no_row_and_the_others_do() -> None:
    made = [SAMPLER.new("test.Sampler", one_int32=i, many_sint32=[i]).SerializeToString() for i in range(6)]
    inner = SAMPLER.new("test.Sampler", middle={"inner": {"label": "abc"}}).SerializeToString()
    made[1] = b"\x08"  # a varint is missing
    made[3] = inner[:-1]
    made[4] = inner.replace(b"\x12\x03abc", b"\x12\x0fabc")  # wrong in an inner message only
    decoded = decode(SAMPLER, "test.Sampler", made)
    assert decoded.bad is not None and decoded.bad.tolist() == [1, 3, 4]
    assert decoded.rows is not None and decoded.rows.tolist() == [0, 2, 5]
    assert decoded.columns["one_int32"].to_pylist() == [0, 2, 5]
    assert "test.Sampler" in decoded.why


def test_random_bytes_never_raise() -> None:
    rng = np.random.default_rng(0)
    whole = random_sampler(rng).SerializeToString()
    messages = [rng.bytes(int(rng.integers(0, 60))) for _ in range(200)]
    for _ in range(300):
        torn = bytearray(whole)
        for at in rng.integers(0, len(torn), 2):
            torn[at] = rng.integers(256)
        messages.append(bytes(torn[: rng.integers(0, len(torn))]))
    messages.append(whole)
    decoded = decode(SAMPLER, "test.Sampler", messages)
    assert decoded.rows is not None and decoded.rows[-1] == len(messages) - 1
    assert len(decoded.rows) + len(decoded.bad) == len(messages)


def test_unknown_fields_are_passed_over() -> None:
    other = Types(file_of("other.proto", "test", {"Inner": {"id": "uint32"}}))
    message = SAMPLER.new("test.Inner", id=7, label="new", values=[1]).SerializeToString()
    assert rows_of(decode(other, "test.Inner", [message])) == [{"id": 7}]


def test_schemas_that_do_not_parse() -> None:
    with pytest.raises(SchemaError, match="does not parse"):
        protobuf_decoder("test.Inner", b"\xff\xff\xff")
    with pytest.raises(SchemaError, match="lacks the type"):
        protobuf_decoder("test.Nothing", SAMPLER.data)


def foxglove_decoder_check(name: str, kind: Kind, *messages: Any) -> Decoded:
    raw = [message.SerializeToString() for message in messages]
    decoder = protobuf_decoder(f"foxglove.{name}", FOXGLOVE.data)
    peek = decoder.peek(raw[0])
    assert peek.kind is kind
    assert peek.stamp_source is StampSource.DRIVER
    decoded = decode(FOXGLOVE, f"foxglove.{name}", raw)
    for column in LAYOUTS[kind]:
        if not column.name.endswith("?"):
            assert column.name in decoded.columns
    return decoded


def test_images_are_left_where_they_are() -> None:
    messages = [
        FOXGLOVE.new("foxglove.CompressedImage", timestamp=stamp(), frame_id="cam", format="jpeg", data=data)
        for data in (b"one", b"three", b"")
    ]
    decoded = foxglove_decoder_check("CompressedImage", Kind.IMAGE, *messages)
    assert [bytes(one) for one in decoded.payload] == [b"one", b"three", b""]
    assert decoded.columns["encoding"].to_pylist() == ["jpeg"] * 3
    assert decoded.columns["frame_id"].to_pylist() == ["cam"] * 3
    assert decoded.columns["stamp_ns"].to_pylist() == [STAMP_NS] * 3


def test_video_packets_and_raw_images() -> None:
    video = FOXGLOVE.new("foxglove.CompressedVideo", timestamp=stamp(), format="h265", data=b"\0\0\0\1")
    assert foxglove_decoder_check("CompressedVideo", Kind.IMAGE, video).columns["encoding"].to_pylist() == [
        "h265"
    ]
    depth = FOXGLOVE.new("foxglove.RawImage", timestamp=stamp(), width=2, height=3, encoding="16UC1", step=4)
    decoded = foxglove_decoder_check("RawImage", Kind.DEPTH, depth)
    row = rows_of(decoded)[0]
    assert (row["width"], row["height"], row["encoding"], row["step"]) == (2, 3, "16UC1", 4)
    assert row["is_bigendian"] is False


def test_clouds_in_the_terms_of_sensor_msgs() -> None:
    cloud = FOXGLOVE.new("foxglove.PointCloud", timestamp=stamp(), point_stride=16, data=bytes(48))
    cloud.pose.orientation.w = 1
    for number, axis in enumerate("xyz"):
        cloud.fields.add(name=axis, offset=4 * number, type=7)
    row = rows_of(foxglove_decoder_check("PointCloud", Kind.POINTS, cloud))[0]
    assert (row["width"], row["height"], row["point_step"], row["row_step"]) == (3, 1, 16, 48)
    assert json.loads(row["fields"])[1] == {"name": "y", "offset": 4, "datatype": 7, "count": 1}
    assert row["pose.orientation.w"] == 1


def test_poses_are_wxyz_and_null_where_absent() -> None:
    pose = {"position": {"x": 1, "y": 2}, "orientation": {"x": 0.1, "w": 0.9}}
    whole = FOXGLOVE.new("foxglove.PoseInFrame", timestamp=stamp(), frame_id="map", pose=pose)
    none = FOXGLOVE.new("foxglove.PoseInFrame", frame_id="map")
    rows = rows_of(foxglove_decoder_check("PoseInFrame", Kind.POSE, whole, none))
    assert rows[0]["position"] == [1, 2, 0] and rows[0]["orientation"] == [0.9, 0.1, 0, 0]
    assert rows[1]["position"] is None and rows[1]["stamp_ns"] is None


def test_transforms_are_a_row_each() -> None:
    def transform(child: str, x: float) -> dict[str, Any]:
        at = {"timestamp": stamp(), "parent_frame_id": "base", "child_frame_id": child}
        return at | {"translation": {"x": x}, "rotation": {"w": 1}}

    messages = [
        FOXGLOVE.new(
            "foxglove.FrameTransforms", transforms=[transform(name, i) for i, name in enumerate(names)]
        )
        for names in ("ab", "", "c")
    ]
    decoded = foxglove_decoder_check("FrameTransforms", Kind.TRANSFORMS, *messages)
    assert decoded.rows is not None and decoded.rows.tolist() == [0, 0, 2]
    assert decoded.columns["child"].to_pylist() == ["a", "b", "c"]
    assert decoded.columns["translation"].to_pylist() == [[0, 0, 0], [1, 0, 0], [0, 0, 0]]
    assert decoded.columns["rotation"].to_pylist() == [[1, 0, 0, 0]] * 3
    single = FOXGLOVE.new("foxglove.FrameTransform", **transform("d", 3))
    assert foxglove_decoder_check("FrameTransform", Kind.TRANSFORMS, single).columns["parent"].to_pylist() == [
        "base"
    ]


def test_scans_calibrations_fixes_joints_and_logs() -> None:
    scan = FOXGLOVE.new(
        "foxglove.LaserScan", timestamp=stamp(), start_angle=-1, end_angle=1, ranges=[1, 2, 3, 4, 5]
    )
    row = rows_of(foxglove_decoder_check("LaserScan", Kind.SCAN, scan))[0]
    assert math.isclose(row["angle_increment"], 0.5) and row["ranges"] == [1, 2, 3, 4, 5]
    camera = FOXGLOVE.new("foxglove.CameraCalibration", timestamp=stamp(), width=640, K=range(9), P=range(12))
    row = rows_of(foxglove_decoder_check("CameraCalibration", Kind.CAMERA_INFO, camera))[0]
    assert (row["width"], row["k"], row["p"], row["r"], row["d"]) == (640, [*range(9)], [*range(12)], None, [])
    fix = FOXGLOVE.new("foxglove.LocationFix", timestamp=stamp(), latitude=52, position_covariance=range(9))
    row = rows_of(foxglove_decoder_check("LocationFix", Kind.GNSS, fix))[0]
    assert (row["latitude"], row["covariance"]) == (52, [*range(9)])
    joints = FOXGLOVE.new("foxglove.JointStates", timestamp=stamp())
    joints.joints.add(name="elbow", position=1)
    joints.joints.add(name="wrist", velocity=2)
    row = rows_of(foxglove_decoder_check("JointStates", Kind.JOINTS, joints))[0]
    assert (row["name"], row["position"], row["velocity"]) == (["elbow", "wrist"], [1, None], [None, 2])
    log = FOXGLOVE.new("foxglove.Log", timestamp=stamp(), message="hello", name="node")
    row = rows_of(foxglove_decoder_check("Log", Kind.TEXT, log))[0]
    assert (row["text"], row["name"]) == ("hello", "node")


def test_a_type_of_ones_own_is_a_table_with_its_stamp() -> None:
    own = {"stamp_ns": "int64", "header": "own.Header", "timestamp": "google.protobuf.Timestamp"}
    types = Types(file_of("own.proto", "own", {"Header": {"seq": "int32"}, "Own": own}))
    message = types.new("own.Own", stamp_ns=5, timestamp=stamp(), header={"seq": 3}).SerializeToString()
    decoder = protobuf_decoder("own.Own", types.data)
    assert decoder.peek(None).kind is Kind.TABLE
    assert rows_of(decode(types, "own.Own", [message])) == [
        {"stamp_ns_": 5, "header.seq": 3, "stamp_ns": STAMP_NS}
    ]


def test_no_messages() -> None:
    for name in ("CompressedImage", "FrameTransforms", "PointCloud", "LaserScan", "Log"):
        decoded = decode(FOXGLOVE, f"foxglove.{name}", [])
        assert all(len(column) == 0 for column in decoded.columns.values())
