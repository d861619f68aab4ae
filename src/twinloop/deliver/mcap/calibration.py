"""A session's calibration as the messages that viewers place sensors by: static transforms, camera models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.core.calibration import CameraModel, cameras_of, frames_of
from twinloop.core.kinds import Kind
from twinloop.core.stream import Stream
from twinloop.deliver.mcap import foxglove, ros2
from twinloop.deliver.mcap.survey import Survey

if TYPE_CHECKING:
    from collections.abc import Mapping

    from twinloop.core.calibration import CameraCalibration, FramePose
    from twinloop.deliver.mcap.message import Message
    from twinloop.deliver.mcap.own import Encoding

#: Our names of camera models -> those of sensor_msgs/distortion_models.hpp.
_MODELS = {
    CameraModel.PINHOLE: "plumb_bob",
    CameraModel.RADTAN: "plumb_bob",
    CameraModel.FISHEYE: "equidistant",
}


@dataclass(frozen=True, slots=True)
class FixedMessage:
    """One message that stands at the start of a file."""

    topic: str
    message: Message
    columns: dict[str, pa.Array]

    def records(self, id: int, time_ns: int) -> Iterator[tuple[int, int, int, int, memoryview]]:
        """Its record, as of a time."""
        rows = len(next(iter(self.columns.values())))
        columns = {**self.columns, "stamp_ns": pa.array([time_ns] * rows)}
        for data in self.message.of(columns, None, np.zeros(1, np.int64)):
            yield time_ns, id, 0, time_ns, data


def calibration_messages(calibration: Mapping[str, object], encoding: Encoding) -> Iterator[FixedMessage]:
    """``/tf_static`` of all placed frames, ``/calibration/<name>`` of each camera that ROS has a model for."""
    if poses := [pose for pose in frames_of(calibration).values() if pose.unit == "m"]:
        yield _fixed("/tf_static", Kind.TRANSFORMS, _frames(poses), encoding)
    for name, camera in cameras_of(calibration).items():
        if camera.model in _MODELS and camera.width and camera.height:
            yield _fixed(f"/calibration/{name}", Kind.CAMERA_INFO, _camera(camera), encoding)


def _fixed(topic: str, kind: Kind, columns: dict[str, pa.Array], encoding: Encoding) -> FixedMessage:
    types = {"stamp_ns": pa.int64(), **{name: array.type for name, array in columns.items()}}
    make = ros2.ros2_message if encoding == "ros2" else foxglove.foxglove_message
    message = make(Stream(topic, kind), Survey(types))
    assert message is not None
    return FixedMessage(topic, message, columns)


def _frames(poses: list[FramePose]) -> dict[str, pa.Array]:
    return {
        "parent": pa.array([pose.parent for pose in poses]),
        "child": pa.array([pose.child for pose in poses]),
        "translation": pa.array([pose.translation for pose in poses], pa.list_(pa.float64(), 3)),
        "rotation": pa.array([pose.rotation for pose in poses], pa.list_(pa.float64(), 4)),
    }


def _camera(camera: CameraCalibration) -> dict[str, pa.Array]:
    fx, fy, cx, cy = camera.intrinsics
    model = "rational_polynomial" if len(camera.distortion) == 8 else _MODELS[camera.model]
    numbers = {
        "k": ([fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0], 9),
        "r": (np.eye(3).reshape(-1).tolist(), 9),
        "p": ([fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0], 12),
    }
    return {
        "frame_id": pa.array([camera.name]),
        "width": pa.array([camera.width], pa.int32()),
        "height": pa.array([camera.height], pa.int32()),
        "distortion_model": pa.array([model]),
        "d": pa.array([list(camera.distortion)], pa.list_(pa.float64())),
        **{name: pa.array([row], pa.list_(pa.float64(), size)) for name, (row, size) in numbers.items()},
    }
