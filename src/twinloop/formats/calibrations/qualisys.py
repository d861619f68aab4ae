"""Qualisys Track Manager: `*.qca.txt`, an XML file.

Focal lengths and principal points are in 1/64 px, counted from the sensor's corner; positions are in mm. The
rows of the rotation are the camera's axes in the world, with y up and z backwards: half a turn about x makes
them OpenCV's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np

from twinloop.core.calibration import CameraCalibration, CameraModel
from twinloop.core.errors import UnreadableError
from twinloop.core.se3 import SE3
from twinloop.formats.calibrations.values import Calibration, floats, frame, pose_of

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_SUBPIXELS = 64.0
_MM = 1000.0
_HALF_TURN = SE3(np.array([0.0, 1.0, 0.0, 0.0]), np.zeros(3))
_START = re.compile(rb"\s*(<\?xml[^>]*\?>\s*)?<calibration[\s>]")
_VIEWS = ("fov_video", "fov_video_max", "fov_marker", "fov_marker_max")


def claims(head: bytes) -> bool:
    """Whether a file that starts with `head` is a calibration with fields of view."""
    return _START.match(head) is not None and b"<camera" in head and b"<fov_" in head


def parse(text: str, file: str) -> Calibration:  # noqa: ARG001
    """Cameras by serial number, and their poses in the world."""
    found = Calibration()
    root = ElementTree.fromstring(text)
    found.facts = {key: value for key, value in root.attrib.items() if value and value != "none"}
    for number, camera in enumerate(root.iter("camera")):
        name = camera.get("serial") or str(number + 1)
        try:
            _add(found, name, camera)
        except UnreadableError as unfit:
            found.skipped.append(f"camera {name}: {unfit.what}")
    return found


def _add(found: Calibration, name: str, camera: Element) -> None:
    lens, place = camera.find("intrinsic"), camera.find("transform")
    if lens is None:
        raise UnreadableError("there is no element intrinsic")
    left, top, width, height = _view(camera.find("fov_video"))
    fx, fy, cx, cy = (
        value / _SUBPIXELS
        for value in _numbers(lens, "focalLengthU", "focalLengthV", "centerPointU", "centerPointV")
    )
    radial = _numbers(lens, "radialDistortion1", "radialDistortion2")
    tangential = _numbers(lens, "tangentalDistortion1", "tangentalDistortion2")
    third = _numbers(lens, "radialDistortion3") if lens.get("radialDistortion3") else ()
    extra: dict[str, object] = {
        f"{view}": " ".join(f"{key}={value}" for key, value in element.attrib.items())
        for view in _VIEWS
        if (element := camera.find(view)) is not None
    }
    extra |= {key: value for key, value in camera.attrib.items() if value != "none"}
    extra |= {key: lens.get(key) for key in ("focallength", "skew") if lens.get(key)}
    found.items.append(
        CameraCalibration(
            name,
            CameraModel.RADTAN,
            width,
            height,
            (fx, fy, cx - left, cy - top),
            (*radial, *tangential, *third),
            extra=extra,
        )
    )
    if place is not None:
        axes = _numbers(place, *(f"r{row}{column}" for row in (1, 2, 3) for column in (1, 2, 3)))
        position = np.array(_numbers(place, "x", "y", "z")) / _MM
        T_world_camera = pose_of(np.array(axes).reshape(3, 3).T, position)
        found.items.append(frame("world", name, T_world_camera @ _HALF_TURN))


def _view(view: Element | None) -> tuple[float, float, int | None, int | None]:
    """Left and top edge of the pictures on the sensor, width and height; px."""
    if view is None:
        return 0.0, 0.0, None, None
    left, top, right, bottom = _numbers(view, "left", "top", "right", "bottom")
    if right < left or bottom < top:
        raise UnreadableError("the field of view ends before it begins")
    return left, top, int(right - left) + 1, int(bottom - top) + 1


def _numbers(element: Element, *names: str) -> tuple[float, ...]:
    missing = [name for name in names if element.get(name) is None]
    if missing:
        raise UnreadableError(f"{element.tag} has no {', '.join(missing)}")
    return floats([element.get(name) for name in names], len(names))
