"""What a decoder remembers of earlier messages never changes what it makes of later ones."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import random_messages as rm
from hypothesis import given, settings
from hypothesis import strategies as st

from twinloop.formats.ros.definitions import parse_definition
from twinloop.formats.ros.known_layouts import KnownLayouts
from twinloop.formats.ros.plan import String, make_plan
from twinloop.formats.ros.vocabulary import MAX_KEPT, Vocabulary
from twinloop.formats.ros.walk import Walk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from random_messages import Wire

    from twinloop.formats.messages import Decoded
    from twinloop.formats.ros.plan import Plan
    from twinloop.formats.ros.rows import Rows

TYPES = (
    "sensor_msgs/msg/JointState",
    "sensor_msgs/msg/CompressedImage",
    "sensor_msgs/msg/PointCloud2",
    "tf2_msgs/msg/TFMessage",
    "nav_msgs/msg/Path",
    "diagnostic_msgs/msg/DiagnosticArray",
    "std_msgs/msg/String",
    "std_msgs/msg/Empty",
    "test_msgs/msg/Cloud",
    "test_msgs/msg/Deep",
    "test_msgs/msg/Texts",
    "test_msgs/msg/Holes",
)


def outcome(decoded: Decoded) -> tuple[Any, ...]:
    """All that a decoder says, comparable."""
    rows = None if decoded.rows is None else decoded.rows.tolist()
    bad = None if decoded.bad is None else decoded.bad.tolist()
    return rm.rows_of(decoded.columns), rows, rm.bulk_of(decoded.payload), bad, decoded.why


def stream(type_name: str, wires: Sequence[Wire], seed: int, count: int) -> list[bytes]:
    """Messages of few shapes, each drawn again and again; a few of them damaged."""
    value = Random(seed)
    shapes = [value.randrange(2**32) for _ in range(3)]
    messages = []
    for _ in range(count):
        wire = value.choice(list(wires))
        made = rm.maker(wire, Random(value.choice(shapes)), value).message(type_name)
        raw = bytearray(rm.serialize(made, type_name, wire))
        if raw and value.random() < 0.15:
            raw[value.randrange(len(raw))] ^= 1 << value.randrange(8)
        if value.random() < 0.05:
            del raw[value.randrange(len(raw) + 1) :]
        messages.append(bytes(raw))
    return messages


@pytest.mark.parametrize("wires", [("cdr",), ("cdr", "cdr-big"), ("ros1",)])
@pytest.mark.parametrize("type_name", TYPES)
@settings(max_examples=6, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32), size=st.integers(1, 12))
def test_one_decoder_for_all_buffers_is_like_a_new_one_for_each(
    type_name: str, wires: tuple[Wire, ...], seed: int, size: int
) -> None:
    messages = stream(type_name, wires, seed, 36)
    one = rm.decoder_of(type_name, wires[0])
    for start in range(0, len(messages), size):
        part = messages[start : start + size]
        new = rm.decoder_of(type_name, wires[0])
        assert outcome(rm.decode_all(one, part)) == outcome(rm.decode_all(new, part))


@pytest.mark.parametrize("type_name", ["sensor_msgs/msg/JointState", "sensor_msgs/msg/CompressedImage"])
def test_every_flipped_byte_is_seen_as_without_memory(type_name: str) -> None:
    made = rm.maker("cdr", Random(5), Random(5)).message(type_name)
    made.header.frame_id = "base"
    good = rm.serialize(made, type_name, "cdr")
    one = rm.decoder_of(type_name, "cdr")
    rm.decode_all(one, [good])
    for at in range(len(good)):
        for flip in (1, 0x80):
            raw = bytearray(good)
            raw[at] ^= flip
            new = rm.decoder_of(type_name, "cdr")
            assert outcome(rm.decode_all(one, [bytes(raw)])) == outcome(rm.decode_all(new, [bytes(raw)])), at


def test_more_texts_than_are_kept() -> None:
    text = rm.store("cdr").types["std_msgs/msg/String"]
    decoder = rm.decoder_of("std_msgs/msg/String", "cdr")
    for start in range(0, 5 * MAX_KEPT, MAX_KEPT // 2):
        texts = [f"{start + i:08}" for i in range(MAX_KEPT // 2)]
        raw = [rm.serialize(text(each), "std_msgs/msg/String", "cdr") for each in texts]
        assert rm.rows_of(rm.decode_all(decoder, raw).columns) == {"text": texts}


class Memory:
    """The layouts of a CDR type's messages, learned from some and asked of others."""

    def __init__(self, type_name: str, by_reference: tuple[str, ...] = ()) -> None:
        text, _ = rm.store("cdr").generate_msgdef(type_name, ros_version=2)
        struct = parse_definition(type_name, text, "ros2msg")
        self.plan: Plan = make_plan(struct, aligned=True, by_reference=by_reference)
        self.texts = {node.index: Vocabulary() for node in self.plan.nodes if isinstance(node, String)}
        self.known = KnownLayouts(self.plan)

    def learn(self, messages: list[bytes]) -> None:
        buffer, offset, length = rm.laid_out(messages)
        self.known.learn(Walk(self.plan, buffer, offset + 4, offset + length))

    def ask(self, messages: list[bytes]) -> tuple[list[Rows], list[int]]:
        """The rows of those recognised, by template, and the numbers of the others."""
        buffer, offset, length = rm.laid_out(messages, gap=b"\xff")
        everyone: NDArray[np.int64] = np.arange(len(messages))
        groups, rest = self.known.rows(buffer, offset, length, everyone, self.texts)
        return groups, rest.tolist()


def joints(names: list[str], frame: str = "base", seed: int = 0) -> bytes:
    message = rm.maker("cdr", Random(0), Random(seed)).message("sensor_msgs/msg/JointState")
    message.header.frame_id, message.name = frame, names
    values = np.random.default_rng(seed).normal(size=(3, len(names)))
    message.position, message.velocity, message.effort = values
    return rm.serialize(message, "sensor_msgs/msg/JointState", "cdr")


def test_other_numbers_and_other_texts_of_the_same_lengths_are_recognised() -> None:
    memory = Memory("sensor_msgs/msg/JointState")
    memory.learn([joints(["a1", "a2"])])
    groups, rest = memory.ask([joints(["a1", "a2"], seed=1), joints(["b1", "b2"], "hand", seed=2)])
    assert [len(group) for group in groups] == [2]
    assert rest == []


def test_other_layouts_of_the_same_length_are_not() -> None:
    memory = Memory("sensor_msgs/msg/JointState")
    memory.learn([joints(["abc", "d"])])
    other = joints(["a", "bcd"])
    assert len(other) == len(joints(["abc", "d"]))
    _, rest = memory.ask([joints(["abc", "d"]), other])
    assert rest == [1]
    memory.learn([other])
    groups, rest = memory.ask([joints(["abc", "d"]), other])
    assert [len(group) for group in groups] == [1, 1]
    assert rest == []


def test_what_a_writer_leaves_in_the_padding_does_not_matter() -> None:
    memory = Memory("sensor_msgs/msg/JointState")
    good = joints(["a1", "a2"])
    memory.learn([good])
    between = bytearray(good)
    assert between[20:24] == bytes(4)  # after 4 bytes, a stamp and "base": its zero and padding
    between[21:24] = b"\xaa\xbb\xcc"
    _, rest = memory.ask([bytes(between)])
    assert rest == []


def test_images_of_all_sizes_have_one_layout() -> None:
    memory = Memory("sensor_msgs/msg/CompressedImage", by_reference=("data",))
    image = rm.maker("cdr", Random(2), Random(2)).message("sensor_msgs/msg/CompressedImage")
    messages = []
    for size in (0, 1, 7, 64, 5000):
        image.data = np.arange(size).astype(np.uint8)
        messages.append(rm.serialize(image, "sensor_msgs/msg/CompressedImage", "cdr"))
    memory.learn(messages[3:4])
    groups, rest = memory.ask([*messages, messages[2][:-1], messages[0][:10]])
    assert rest == [5, 6]
    (start, length), *others = groups[0].blobs.values()
    assert not others
    assert length.tolist() == [0, 1, 7, 64, 5000]
    assert [groups[0].buffer[a : a + n].tolist() for a, n in zip(start, length, strict=True)] == [
        np.arange(size).astype(np.uint8).tolist() for size in length
    ]


def test_messages_that_are_all_unlike_are_not_remembered_for_ever() -> None:
    memory = Memory("sensor_msgs/msg/JointState")
    unlike = [joints(["a" * (1 + i), "b"]) for i in range(200)]
    for message in unlike:
        memory.learn([message])
    _, rest = memory.ask(unlike)
    assert len(rest) > 100
