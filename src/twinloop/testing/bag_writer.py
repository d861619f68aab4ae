"""Tracks as ROS bags, through the rosbags library."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.testing.mcap_writer import in_log_order

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from twinloop.testing.track import Track


def write_rosbag1(path: Path, tracks: Iterable[Track], *, chunk_bytes: int = 1 << 18) -> None:
    """A ROS 1 bag (a file); only types that ROS 1 has too."""
    from rosbags.rosbag1 import Writer
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    ros1, ros2 = get_typestore(Stores.ROS1_NOETIC), get_typestore(Stores.ROS2_HUMBLE)
    transforms = "geometry_msgs/TransformStamped[] transforms"
    ros1.register(get_types_from_msg(transforms, "tf2_msgs/msg/TFMessage"))  # rosbags' Noetic lacks it
    tracks = list(tracks)
    writer = Writer(path)
    writer.set_compression(Writer.CompressionFormat.LZ4)
    writer.chunk_threshold = chunk_bytes
    with writer:
        connections = [writer.add_connection(t.topic, t.type_name, typestore=ros1) for t in tracks]
        for log_ns, index, _, data in in_log_order(tracks):
            type_name = tracks[index].type_name
            writer.write(connections[index], log_ns, ros2.cdr_to_ros1(data, type_name))


def write_rosbag2(path: Path, tracks: Iterable[Track], *, metadata: bool = True) -> None:
    """A ROS 2 bag (a folder) in SQLite, with or without its metadata.yaml."""
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    ros2 = get_typestore(Stores.ROS2_HUMBLE)
    tracks = list(tracks)
    with Writer(path, version=9, storage_plugin=StoragePlugin.SQLITE3) as writer:
        connections = [writer.add_connection(t.topic, t.type_name, typestore=ros2) for t in tracks]
        for log_ns, index, _, data in in_log_order(tracks):
            writer.write(connections[index], log_ns, data)
    if not metadata:
        (path / "metadata.yaml").unlink()
