"""Tracks as ROS 2 messages in CDR, and the definitions that go with them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, cast

import numpy as np

from twinloop.testing.cdr_rows import CdrRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from twinloop.testing.track import Track

#: Foxglove's type is in no ROS distribution; its definition is as in foxglove/schemas (MIT).
_FOXGLOVE_VIDEO = """builtin_interfaces/Time timestamp
string frame_id
uint8[] data
string format
================================================================================
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
"""


@cache
def definition(type_name: str) -> str:
    """The definition of a type and of all it uses, as MCAP's ``ros2msg`` schemas hold them."""
    if type_name == "foxglove_msgs/msg/CompressedVideo":
        return _FOXGLOVE_VIDEO
    from rosbags.typesys import Stores, get_typestore

    return get_typestore(Stores.ROS2_HUMBLE).generate_msgdef(type_name, ros_version=2)[0]


def messages(track: Track) -> Iterator[bytes]:
    """The track's messages in CDR, in its order. Pictures are made as they are asked for."""
    return iter(_ENCODERS[track.type_name](track))


def _joint_states(track: Track) -> list[bytes]:
    """Joints in the order that `values["order"]` gives for each sample, if there is one."""
    order = track.values.get("order")
    out: list[bytes] = [b""] * len(track)
    whole = np.arange(len(track.names))
    orders = np.unique(order, axis=0) if order is not None else whole[None]
    for turn in orders:
        rows = np.flatnonzero((order == turn).all(axis=1)) if order is not None else np.arange(len(track))
        encoded = CdrRows(len(rows)).header(track.stamp_ns[rows], track.frame_id)
        encoded.strings(tuple(track.names[i] for i in turn))
        for name in ("position", "velocity", "effort"):
            values = track.values.get(name, np.empty((len(track), 0)))[rows]
            encoded.sequence(values[:, turn] if values.shape[1] else values, "f8")
        for row, message in zip(rows, encoded.messages(), strict=True):
            out[row] = message
    return out


def _imu(track: Track) -> list[bytes]:
    encoded = CdrRows(len(track)).header(track.stamp_ns, track.frame_id)
    encoded.numbers(_xyzw(track.values["orientation"]), "f8").numbers(np.zeros((len(track), 9)), "f8")
    for name in ("angular_velocity", "linear_acceleration"):
        encoded.numbers(track.values[name], "f8").numbers(np.zeros((len(track), 9)), "f8")
    return encoded.messages()


def _wrench(track: Track) -> list[bytes]:
    encoded = CdrRows(len(track)).header(track.stamp_ns, track.frame_id)
    return encoded.numbers(track.values["force"], "f8").numbers(track.values["torque"], "f8").messages()


def _transforms(track: Track) -> list[bytes]:
    """Transforms between `names`, pairs written ``parent>child``; translation (N, K, 3), rotation (N, K, 4)."""
    encoded = CdrRows(len(track)).numbers(len(track.names), "u4")
    for i, pair in enumerate(track.names):
        parent, child = pair.split(">")
        encoded.header(track.stamp_ns, parent).string(child)
        encoded.numbers(track.values["translation"][:, i], "f8")
        encoded.numbers(_xyzw(track.values["rotation"][:, i]), "f8")
    return encoded.messages()


def _camera_info(track: Track) -> list[bytes]:
    k = cast("NDArray[np.float64]", track.values["k"])
    rows = len(track)
    encoded = CdrRows(rows).header(track.stamp_ns, track.frame_id)
    encoded.numbers(track.values["size"][:, 1], "u4").numbers(track.values["size"][:, 0], "u4")
    encoded.string("plumb_bob").sequence(np.zeros((rows, 5)), "f8").numbers(k, "f8")
    encoded.numbers(np.tile(np.eye(3).reshape(1, 9), (rows, 1)), "f8")
    projection = np.zeros((rows, 3, 4))
    projection[:, :, :3] = k.reshape(rows, 3, 3)
    encoded.numbers(projection.reshape(rows, 12), "f8")
    encoded.numbers(0, "u4").numbers(0, "u4")  # binning
    encoded.numbers(np.zeros((rows, 4)), "u4").numbers(0, "u1")  # region of interest: all
    return encoded.messages()


def _strings(track: Track) -> list[bytes]:
    return [CdrRows(1).string(str(text)).messages()[0] for text in track.values["text"]]


def _compressed_images(track: Track) -> Iterator[bytes]:
    starts = CdrRows(len(track)).header(track.stamp_ns, track.frame_id).string(track.attributes["format"])
    for start, picture in zip(starts.numbers(0, "u4").messages(), _pictures(track), strict=True):
        yield start[:-4] + len(picture).to_bytes(4, "little") + picture


def _compressed_video(track: Track) -> Iterator[bytes]:
    starts = CdrRows(len(track)).time(track.stamp_ns).string(track.frame_id).numbers(0, "u4").messages()
    name = track.attributes["format"].encode() + b"\0"
    end = len(name).to_bytes(4, "little") + name
    for start, packet in zip(starts, _pictures(track), strict=True):
        body = start[:-4] + len(packet).to_bytes(4, "little") + packet
        yield body + bytes(-(len(body) - 4) % 4) + end


def _raw_images(track: Track) -> Iterator[bytes]:
    width, height = int(track.attributes["width"]), int(track.attributes["height"])
    starts = CdrRows(len(track)).header(track.stamp_ns, track.frame_id)
    starts.numbers(height, "u4").numbers(width, "u4").string(track.attributes["encoding"]).numbers(0, "u1")
    starts.numbers(int(track.attributes["step"]), "u4").numbers(int(track.attributes["step"]) * height, "u4")
    for start, picture in zip(starts.messages(), _pictures(track), strict=True):
        yield start + picture


def _pictures(track: Track) -> Iterator[bytes]:
    assert track.pictures is not None
    return track.pictures(cast("NDArray[np.float64]", track.values["content_s"]))


def _xyzw(wxyz: NDArray[np.generic]) -> NDArray[np.generic]:
    return np.roll(wxyz, -1, axis=-1)


_ENCODERS: dict[str, Callable[[Track], list[bytes] | Iterator[bytes]]] = {
    "sensor_msgs/msg/JointState": _joint_states,
    "sensor_msgs/msg/Imu": _imu,
    "geometry_msgs/msg/WrenchStamped": _wrench,
    "tf2_msgs/msg/TFMessage": _transforms,
    "sensor_msgs/msg/CameraInfo": _camera_info,
    "std_msgs/msg/String": _strings,
    "sensor_msgs/msg/CompressedImage": _compressed_images,
    "foxglove_msgs/msg/CompressedVideo": _compressed_video,
    "sensor_msgs/msg/Image": _raw_images,
}
