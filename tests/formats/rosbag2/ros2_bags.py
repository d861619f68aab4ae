"""ROS 2 bags for tests, written by the rosbags library."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

STORE = get_typestore(Stores.ROS2_HUMBLE)
START_NS = 1_700_000_000_000_000_000
JOINTS, IMAGE = "/joint_states", "/camera/image_raw"
CUSTOM, CUSTOM_TYPE = "/grip", "my_robot/msg/Grip"
CUSTOM_TEXT = "std_msgs/Header header\nfloat64 width\nstring[] tags\nFinger[] fingers\n"
FINGER_TEXT = "float32 force  # N\nuint8 LEFT=0\n"
STORE.register(get_types_from_msg(FINGER_TEXT, "my_robot/msg/Finger"))
STORE.register(get_types_from_msg(CUSTOM_TEXT, CUSTOM_TYPE))


def write_bag(
    path: Path,
    *,
    seconds: float = 4.0,
    start_ns: int = START_NS,
    storage: StoragePlugin = StoragePlugin.SQLITE3,
    compression: CompressionMode = CompressionMode.NONE,
    custom: bool = False,
    images: bool = True,
) -> Path:
    """Joints at 100 Hz, stamped 2 ms before they are recorded, and a small image at 10 Hz; a folder."""
    types = STORE.types
    writer = Writer(path, version=9, storage_plugin=storage)
    writer.set_compression(compression, CompressionFormat.ZSTD)
    rng = np.random.default_rng(4)
    with writer:
        joints = writer.add_connection(JOINTS, "sensor_msgs/msg/JointState", typestore=STORE)
        image = writer.add_connection(IMAGE, "sensor_msgs/msg/Image", typestore=STORE) if images else None
        grip = writer.add_connection(CUSTOM, CUSTOM_TYPE, typestore=STORE) if custom else None
        for tick in range(int(seconds * 100)):
            log_ns = start_ns + tick * 10_000_000
            stamp = types["builtin_interfaces/msg/Time"](
                (log_ns - 2_000_000) // 10**9, (log_ns - 2_000_000) % 10**9
            )
            header = types["std_msgs/msg/Header"](stamp, "base")
            message = types["sensor_msgs/msg/JointState"](
                header, ["shoulder", "elbow"], rng.normal(size=2), rng.normal(size=2), np.zeros(0)
            )
            writer.write(joints, log_ns, _bytes(message))
            if image is not None and tick % 10 == 0:
                pixels = rng.integers(0, 256, 24 * 32 * 3, np.uint8)
                message = types["sensor_msgs/msg/Image"](header, 24, 32, "rgb8", 0, 96, pixels)
                writer.write(image, log_ns + 2000, _bytes(message))
            if grip is not None:
                fingers = [types["my_robot/msg/Finger"](float(tick))]
                message = types[CUSTOM_TYPE](header, tick / 10, ["a", "b"], fingers)
                writer.write(grip, log_ns + 3000, _bytes(message))
    return path


def _bytes(message: object) -> bytes:
    return bytes(STORE.serialize_cdr(message, message.__msgtype__))  # type: ignore[attr-defined]


def by_rosbags(path: Path) -> dict[str, list[tuple[int, object]]]:
    """topic -> (log_ns, message) of each message, as rosbags reads them."""
    found: dict[str, list[tuple[int, object]]] = {}
    with AnyReader([path], default_typestore=STORE) as reader:
        for connection, log_ns, raw in reader.messages():
            found.setdefault(connection.topic, []).append((log_ns, reader.deserialize(raw, connection.msgtype)))
    return found


def forget_definitions(db3: Path) -> None:
    """Make a bag as recorders before Iron wrote it: no definitions, no distribution, no metadata inside."""
    with closing(sqlite3.connect(db3)) as connection:
        for table in ("message_definitions", "schema", "metadata"):
            connection.execute(f"DROP TABLE {table}")
        connection.commit()


def split(path: Path, parts: int) -> None:
    """Turn a bag into one of several files, as `ros2 bag record --max-bag-size` does."""
    db3 = path / f"{path.name}.db3"
    for part in range(parts):
        (path / f"{path.name}_{part}.db3").write_bytes(db3.read_bytes())
        with closing(sqlite3.connect(path / f"{path.name}_{part}.db3")) as connection:
            total = connection.execute("SELECT max(id) FROM messages").fetchone()[0]
            low, high = total * part // parts, total * (part + 1) // parts
            connection.execute("DELETE FROM messages WHERE id <= ? OR id > ?", (low, high))
            connection.execute("DELETE FROM metadata")
            connection.commit()
    db3.unlink()
    metadata = path / "metadata.yaml"
    names = "\n".join(f"  - {path.name}_{part}.db3" for part in range(parts))
    metadata.write_text(metadata.read_text().replace(f"  - {path.name}.db3", names))
