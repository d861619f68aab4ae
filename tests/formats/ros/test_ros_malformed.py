"""Broken messages are bad, never an exception, and the others are read as if they were not there."""

from __future__ import annotations

import struct
import tracemalloc
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest
import random_messages as rm
from hypothesis import given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from random_messages import Wire

_FUZZED = (
    "sensor_msgs/msg/JointState",
    "sensor_msgs/msg/PointCloud2",
    "sensor_msgs/msg/CompressedImage",
    "tf2_msgs/msg/TFMessage",
    "nav_msgs/msg/Path",
    "test_msgs/msg/Deep",
    "test_msgs/msg/Cloud",
    "test_msgs/msg/Texts",
)


def _messages(name: str, wire: Wire, seed: int, count: int) -> list[bytes]:
    value = Random(seed)
    made = [rm.maker(wire, Random(value.randrange(9)), value).message(name) for _ in range(count)]
    return [rm.serialize(message, name, wire) for message in made]


def _joint_state(names: list[str], position: list[float]) -> bytes:
    message = rm.maker("cdr", Random(1), Random(1)).message("sensor_msgs/msg/JointState")
    message.header.frame_id = "base"
    message.name, message.position = names, np.array(position)
    message.velocity = message.effort = np.empty(0)
    return rm.serialize(message, "sensor_msgs/msg/JointState", "cdr")


@pytest.mark.parametrize("name", _FUZZED)
@pytest.mark.parametrize("wire", ["cdr", "ros1"])
@given(seed=st.integers(0, 2**32), data=st.data())
@settings(max_examples=15, deadline=None, derandomize=True)
def test_flipped_and_missing_bytes_never_raise(name: str, wire: Wire, seed: int, data: st.DataObject) -> None:
    good = _messages(name, wire, seed, 6)
    broken = [bytearray(message) for message in good]
    for message in broken:
        for _ in range(data.draw(st.integers(0, 3))):
            if message:
                at = data.draw(st.integers(0, len(message) - 1))
                message[at] = data.draw(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]))
        if data.draw(st.booleans()):
            del message[data.draw(st.integers(0, len(message))) :]
    decoder = rm.decoder_of(name, wire)
    rm.decode_all(decoder, good)
    decoded = rm.decode_all(decoder, [bytes(m) for m in broken] * 2)
    bad = decoded.bad if decoded.bad is not None else np.empty(0, np.int64)
    assert len({len(column) for column in decoded.columns.values()}) == 1
    if name != "tf2_msgs/msg/TFMessage":
        assert len(next(iter(decoded.columns.values()))) + len(bad) == 12
    assert not len(bad) or decoded.why
    for column in decoded.columns.values():
        column.validate(full=True)


@given(raw=st.lists(st.binary(max_size=64), min_size=1, max_size=8))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_random_bytes_never_raise(raw: list[bytes]) -> None:
    for name in ("sensor_msgs/msg/JointState", "test_msgs/msg/Deep", "sensor_msgs/msg/CompressedImage"):
        for wire in ("cdr", "ros1"):
            decoded = rm.decode_all(rm.decoder_of(name, wire), raw)
            for column in decoded.columns.values():
                column.validate(full=True)


@pytest.mark.parametrize("wire", ["cdr", "ros1"])
@pytest.mark.parametrize("name", ["sensor_msgs/msg/JointState", "test_msgs/msg/Deep", "nav_msgs/msg/Path"])
def test_good_messages_among_bad_ones_keep_their_values(name: str, wire: Wire) -> None:
    good = _messages(name, wire, 5, 12)
    mixed = [message if i % 3 else message[: len(message) // 2] for i, message in enumerate(good)]
    decoder = rm.decoder_of(name, wire)
    alone = rm.decode_all(decoder, [message for i, message in enumerate(good) if i % 3])
    among = rm.decode_all(rm.decoder_of(name, wire), mixed)
    assert among.bad is not None
    assert among.bad.tolist() == [0, 3, 6, 9]
    assert among.rows is not None
    assert among.rows.tolist() == [i for i in range(12) if i % 3]
    for path, column in alone.columns.items():
        values = [rm.plain(value) for value in among.columns[path].to_pylist()]
        assert values == [rm.plain(value) for value in column.to_pylist()]


def test_a_length_beyond_the_bytes_costs_no_memory() -> None:
    raw = bytearray(_joint_state(["a", "b"], [1.0, 2.0]))
    raw[24:28] = struct.pack("<I", 0xFFFFFFFF)  # number of names, after stamp and "base" and padding
    decoder = rm.decoder_of("sensor_msgs/msg/JointState", "cdr")
    rm.decode_all(decoder, [_joint_state(["a", "b"], [1.0, 2.0])] * 3)
    tracemalloc.start()
    try:
        decoded = rm.decode_all(decoder, [bytes(raw)] * 100)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert decoded.bad is not None
    assert len(decoded.bad) == 100
    assert "name" in decoded.why
    assert peak < 5_000_000


def test_an_array_of_billions_in_the_definition_costs_no_memory() -> None:
    from twinloop.formats.ros.decoder import ros_decoder

    definition = "Inner[2000000000] many\n" + "=" * 80 + "\nMSG: a/Inner\nfloat64[2000000000] x\n"
    decoder = ros_decoder("a/Bomb", definition, encoding="cdr", definition_format="ros2msg")
    decoded = rm.decode_all(decoder, [b"\0\1\0\0" + bytes(64)])
    assert decoded.bad is not None
    assert decoded.bad.tolist() == [0]


@pytest.mark.parametrize(
    ("head", "meaning"),
    [
        (b"\0\2\0\0", "parameter lists"),
        (b"\0\3\0\0", "parameter lists"),
        (b"\0\7\0\0", "XCDR2"),
        (b"\0\x0b\0\0", "XCDR2"),
        (b"\x7f\1\0\0", "no encapsulation"),
        (b"\0\1", "shorter"),
    ],
)
def test_other_encapsulations_are_refused_by_name(head: bytes, meaning: str) -> None:
    good = _joint_state(["a"], [1.0])
    decoded = rm.decode_all(
        rm.decoder_of("sensor_msgs/msg/JointState", "cdr"),
        [good, head + good[4:] if len(head) == 4 else head],
    )
    assert decoded.bad is not None
    assert decoded.bad.tolist() == [1]
    assert meaning in decoded.why


def test_bytes_after_the_last_field_mean_another_definition() -> None:
    good = _joint_state(["a"], [1.0])
    decoder = rm.decoder_of("sensor_msgs/msg/JointState", "cdr")
    decoded = rm.decode_all(decoder, [good, good + bytes(4), good + bytes(16)])
    assert decoded.bad is not None
    assert decoded.bad.tolist() == [2]
    assert "left over" in decoded.why


def test_places_outside_the_buffer_are_bad() -> None:
    good = _joint_state(["a"], [1.0])
    buffer = np.frombuffer(good, np.uint8)
    decoder = rm.decoder_of("sensor_msgs/msg/JointState", "cdr")
    for _ in range(2):
        decoded = decoder.decode(
            buffer,
            np.array([0, 1, -5, 10**12, 0]),
            np.array([len(good), len(good), len(good), len(good), -1]),
        )
        assert decoded.bad is not None
        assert decoded.bad.tolist() == [1, 2, 3, 4]
        assert "outside" in decoded.why


def test_text_that_is_not_utf8_is_kept_with_replacements_and_said() -> None:
    text = rm.store("cdr").types["std_msgs/msg/String"]("abc")
    raw = rm.serialize(text, "std_msgs/msg/String", "cdr")
    decoder = rm.decoder_of("std_msgs/msg/String", "cdr")
    for _ in range(3):
        decoded = rm.decode_all(decoder, [raw.replace(b"b", b"\xff")])
        assert decoded.columns["text"].to_pylist() == ["a\ufffdc"]
        assert decoded.bad is None
        assert "UTF-8" in decoded.why
    assert rm.decode_all(decoder, [raw]).why == ""
