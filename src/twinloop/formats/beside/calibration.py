"""Calibration that an export wrote beside a dataset, where its sessions agree on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twinloop.core.calibration import (
    CalibrationItem,
    CameraCalibration,
    CameraModel,
    FramePose,
    encode_calibration,
)

if TYPE_CHECKING:
    from twinloop.formats.beside.folder import Beside

#: sensor_msgs/distortion_models.hpp -> our names.
_MODELS = {
    "plumb_bob": CameraModel.RADTAN,
    "rational_polynomial": CameraModel.RADTAN,
    "equidistant": CameraModel.FISHEYE,
}


def calibration_of(beside: Beside) -> dict[str, object]:
    """As `Recording.calibration` holds it: what each session's own calibration, its streams of camera
    intrinsics and its static transforms say. What sessions say differently is left to the file."""
    found: dict[str, object] = {}
    differing: set[str] = set()
    for session in beside.sessions:
        for key, value in _of_session(session, beside).items():
            if found.setdefault(key, value) != value:
                differing.add(key)
    return {key: value for key, value in found.items() if key not in differing}


def _of_session(session: dict[str, Any], beside: Beside) -> dict[str, object]:
    items: list[CalibrationItem] = []
    for topic, row in _entries(session, "camera_info"):
        if isinstance(row, dict) and (camera := _camera(_name(topic, beside), topic, row)):
            items.append(camera)
    for _, rows in _entries(session, "static_transforms"):
        items += [pose for row in (rows if isinstance(rows, list) else []) if (pose := _pose(row))]
    return {**encode_calibration(items), **dict(_entries(session, "calibration"))}


def _entries(session: dict[str, Any], key: str) -> list[tuple[str, Any]]:
    said = session.get(key)
    return [(str(name), value) for name, value in said.items()] if isinstance(said, dict) else []


def _name(topic: str, beside: Beside) -> str:
    """The image feature that stands beside a topic of intrinsics, else the topic."""
    parent = topic.rpartition("/")[0] + "/"
    beside_it = [
        name
        for name, said in beside.features.items()
        if said.get("kind") == "image" and str(said.get("stream")).startswith(parent)
    ]
    return beside_it[0] if len(beside_it) == 1 else topic


def _camera(name: str, topic: str, row: dict[str, Any]) -> CameraCalibration | None:
    """A row of camera intrinsics; None: it does not read as one."""
    try:
        k = [float(value) for value in row["k"]]
        distortion = tuple(float(value) for value in row["d"])
        width, height = int(row["width"]), int(row["height"])
        fx, fy, cx, cy = k[0], k[4], k[2], k[5]
    except (KeyError, TypeError, ValueError, IndexError):
        return None
    if not (fx and fy):  # ROS: a camera that is not calibrated
        return None
    said = str(row.get("distortion_model") or "")
    model = _MODELS.get(said, CameraModel.OTHER if any(distortion) else CameraModel.PINHOLE)
    extra = {"topic": topic, "frame_id": row.get("frame_id"), "model": said}
    return CameraCalibration(name, model, width, height, (fx, fy, cx, cy), distortion, extra=extra)


def _pose(row: object) -> FramePose | None:
    """A row of transforms; None: it does not read as one."""
    if not isinstance(row, dict):
        return None
    try:
        translation = tuple(float(value) for value in row["translation"])
        rotation = tuple(float(value) for value in row["rotation"])
        return FramePose(str(row["parent"]), str(row["child"]), translation, rotation)
    except (KeyError, TypeError, ValueError):
        return None
