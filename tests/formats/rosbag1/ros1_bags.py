"""ROS 1 bags for tests, written by the rosbags library."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rosbags.highlevel import AnyReader
from rosbags.rosbag1 import Reader, Writer
from rosbags.typesys import Stores, get_typestore

STORE = get_typestore(Stores.ROS1_NOETIC)
START_NS = 1_700_000_000_000_000_000
JOINTS, IMU, IMAGE = "/joint_states", "/imu", "/camera/image_raw"


def write_bag(
    path: Path,
    *,
    seconds: float = 4.0,
    start_ns: int = START_NS,
    compression: str = "none",
    chunk_bytes: int = 1 << 15,
    images: bool = True,
    publishers: int = 1,
    latching: int | None = None,
) -> Path:
    """Joints at 100 Hz and IMU at 50 Hz, stamped 2 ms before they are recorded, and a small image at 10 Hz."""
    types = STORE.types
    writer = Writer(path)
    writer.chunk_threshold = chunk_bytes
    if compression != "none":
        writer.set_compression(Writer.CompressionFormat[compression.upper()])
    rng = np.random.default_rng(4)
    with writer:
        joints = [
            writer.add_connection(
                JOINTS, "sensor_msgs/msg/JointState", typestore=STORE, callerid=f"/arm_{n}", latching=latching
            )
            for n in range(publishers)
        ]
        imu = writer.add_connection(IMU, "sensor_msgs/msg/Imu", typestore=STORE, callerid="/imu_driver")
        image = None
        if images:
            image = writer.add_connection(IMAGE, "sensor_msgs/msg/Image", typestore=STORE)
        vector, quaternion = types["geometry_msgs/msg/Vector3"], types["geometry_msgs/msg/Quaternion"]
        for tick in range(int(seconds * 100)):
            log_ns = start_ns + tick * 10_000_000
            header = _header(tick, log_ns - 2_000_000, "base")
            message = types["sensor_msgs/msg/JointState"](
                header, ["shoulder", "elbow"], rng.normal(size=2), rng.normal(size=2), np.zeros(0)
            )
            writer.write(joints[tick % publishers], log_ns, _bytes(message))
            if tick % 2 == 0:
                message = types["sensor_msgs/msg/Imu"](
                    header,
                    quaternion(0.0, 0.0, 0.6, 0.8),
                    np.zeros(9),
                    vector(*rng.normal(size=3)),
                    np.zeros(9),
                    vector(*rng.normal(size=3)),
                    np.zeros(9),
                )
                writer.write(imu, log_ns + 1000, _bytes(message))
            if image is not None and tick % 10 == 0:
                pixels = rng.integers(0, 256, 24 * 32 * 3, np.uint8)
                message = types["sensor_msgs/msg/Image"](header, 24, 32, "rgb8", 0, 96, pixels)
                writer.write(image, log_ns + 2000, _bytes(message))
    return path


def _header(seq: int, stamp_ns: int, frame: str) -> object:
    stamp = STORE.types["builtin_interfaces/msg/Time"](stamp_ns // 10**9, stamp_ns % 10**9)
    return STORE.types["std_msgs/msg/Header"](seq=seq, stamp=stamp, frame_id=frame)


def _bytes(message: object) -> bytes:
    return bytes(STORE.serialize_ros1(message, message.__msgtype__))  # type: ignore[attr-defined]


def by_rosbags(path: Path) -> dict[str, list[tuple[int, object]]]:
    """topic -> (log_ns, message) of each message, as rosbags reads them."""
    found: dict[str, list[tuple[int, object]]] = {}
    with AnyReader([path]) as reader:
        for connection, log_ns, raw in reader.messages():
            message = reader.deserialize(raw, connection.msgtype)
            found.setdefault(connection.topic, []).append((log_ns, message))
    return found


def drop_index(path: Path) -> None:
    """What a killed recorder leaves: no index at the end, and a header that points to none."""
    data = bytearray(path.read_bytes())
    at = data.index(b"index_pos=") + len(b"index_pos=")
    index_pos = int.from_bytes(data[at : at + 8], "little")
    data[at : at + 8] = bytes(8)
    path.write_bytes(data[:index_pos])


def chunk_positions(path: Path) -> list[int]:
    """Where each chunk record starts."""
    with Reader(path) as reader:
        return sorted(reader.chunks)
