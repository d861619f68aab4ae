"""Generated ROS 2 recordings for benchmarks: cameras, joints and transforms, the same for the same seed."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcap.writer import Writer

START_NS = 1_700_000_000_000_000_000
ARM = tuple(f"arm_joint_{i}" for i in range(1, 8))
HAND = tuple(f"hand_{finger}_{i}" for finger in ("thumb", "index", "middle", "ring") for i in range(1, 5))

#: One message: the topic, when it was logged, its CDR bytes.
Timed = tuple[str, int, bytes]


class Cdr:
    """Little-endian CDR (OMG XCDR1): a number stands at a multiple of its size, counted after 4 bytes."""

    def __init__(self) -> None:
        self.data = bytearray(b"\x00\x01\x00\x00")

    def align(self, size: int) -> None:
        """Fill up to a multiple of `size`."""
        self.data += bytes(-(len(self.data) - 4) % size)

    def u32(self, value: int) -> None:
        """A uint32."""
        self.align(4)
        self.data += struct.pack("<I", value)

    def text(self, text: str) -> None:
        """A string with its closing zero."""
        raw = text.encode() + b"\0"
        self.u32(len(raw))
        self.data += raw

    def doubles(self, values: np.ndarray) -> None:
        """Numbers without a length before them."""
        self.align(8)
        self.data += np.asarray(values, "<f8").tobytes()

    def header(self, stamp_ns: int, frame_id: str) -> None:
        """A std_msgs/Header."""
        self.u32(stamp_ns // 10**9)
        self.u32(stamp_ns % 10**9)
        self.text(frame_id)


def joint_states(topic: str, names: tuple[str, ...], rate_hz: float, seconds: float) -> Iterator[Timed]:
    """sensor_msgs/JointState with names, positions, velocities and efforts."""
    rng = np.random.default_rng(len(names))
    first = Cdr()
    first.header(0, "base_link")
    first.u32(len(names))
    for name in names:
        first.text(name)
    period = round(1e9 / rate_hz)
    phase = rng.uniform(0, 2 * np.pi, len(names))
    for i in range(int(seconds * rate_hz)):
        stamp = START_NS + i * period + int(rng.integers(0, 50_000))
        angle = phase + i * period * 2e-9
        message = Cdr()
        message.data = bytearray(first.data)
        message.data[4:12] = struct.pack("<II", stamp // 10**9, stamp % 10**9)
        for values in (np.sin(angle), 2 * np.cos(angle), rng.normal(size=len(names))):
            message.u32(len(names))
            message.doubles(values)
        yield topic, stamp + 150_000, bytes(message.data)


def transforms(topic: str, rate_hz: float, seconds: float) -> Iterator[Timed]:
    """tf2_msgs/TFMessage with 1 to 4 transforms, in turn."""
    rng = np.random.default_rng(5)
    for i in range(int(seconds * rate_hz)):
        stamp = START_NS + round(i * 1e9 / rate_hz)
        count = 1 + i % 4
        message = Cdr()
        message.u32(count)
        for link in range(count):
            message.header(stamp, f"link_{link}")
            message.text(f"link_{link + 1}")
            turn = rng.normal(size=4)
            message.doubles(np.concatenate([rng.normal(size=3), turn / np.linalg.norm(turn)]))
        yield topic, stamp + 80_000, bytes(message.data)


def images(topic: str, rate_hz: float, seconds: float, mean_bytes: int = 40_000) -> Iterator[Timed]:
    """sensor_msgs/CompressedImage; each "JPEG" is fresh noise, which like a JPEG does not compress."""
    rng = np.random.default_rng(sum(topic.encode()))
    for i in range(int(seconds * rate_hz)):
        stamp = START_NS + round(i * 1e9 / rate_hz)
        size = int(rng.normal(mean_bytes, mean_bytes / 10))
        message = Cdr()
        message.header(stamp, topic.strip("/"))
        message.text("jpeg")
        message.u32(size)
        message.data += b"\xff\xd8\xff\xe0" + rng.bytes(size - 6) + b"\xff\xd9"
        yield topic, stamp + 4_000_000, bytes(message.data)


def write_mixed(path: Path, seconds: float) -> int:
    """Two cameras, joints at 500 and 100 Hz, transforms at 50 Hz; gives the number of messages."""
    return write_sources(
        path,
        {
            "/camera_left": "sensor_msgs/msg/CompressedImage",
            "/camera_right": "sensor_msgs/msg/CompressedImage",
            "/arm": "sensor_msgs/msg/JointState",
            "/hand": "sensor_msgs/msg/JointState",
            "/tf": "tf2_msgs/msg/TFMessage",
        },
        [
            images("/camera_left", 30, seconds),
            images("/camera_right", 30, seconds),
            joint_states("/arm", ARM, 500, seconds),
            joint_states("/hand", HAND, 100, seconds),
            transforms("/tf", 50, seconds),
        ],
    )


def write_numeric(path: Path, seconds: float, *, compressed: bool = True) -> int:
    """Joints at 500 and 100 Hz alone; gives the number of messages."""
    kind = "sensor_msgs/msg/JointState"
    sources = [joint_states("/arm", ARM, 500, seconds), joint_states("/hand", HAND, 100, seconds)]
    return write_sources(path, {"/arm": kind, "/hand": kind}, sources, compressed=compressed)


def write_sources(
    path: Path, types: dict[str, str], sources: list[Iterator[Timed]], *, compressed: bool = True
) -> int:
    """Messages of several topics in the order of their log times; gives their number."""
    from heapq import merge

    from mcap.writer import CompressionType, Writer

    count = 0
    with path.open("wb") as file:
        writer = Writer(file, compression=CompressionType.ZSTD if compressed else CompressionType.NONE)
        writer.start("ros2", "twinloop benchmarks")
        channels = _channels(writer, types)
        for topic, log_ns, data in merge(*sources, key=lambda timed: timed[1]):
            writer.add_message(channels[topic], log_ns, data, log_ns)
            count += 1
        writer.finish()
    return count


def _channels(writer: Writer, types: dict[str, str]) -> dict[str, int]:
    schemas = {
        name: writer.register_schema(name, "ros2msg", definition(name).encode()) for name in set(types.values())
    }
    return {topic: writer.register_channel(topic, "cdr", schemas[name]) for topic, name in types.items()}


def definition(type_name: str) -> str:
    """The definition of a standard type, with those of all types it holds, as a recorder stores it."""
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    text, _ = store.generate_msgdef(type_name, ros_version=2)
    return text
