"""Kalibr: `camchain.yaml`, `imu.yaml` and targets, as its wiki page "yaml formats" describes them.

`T_cam_imu` takes points of the inertial sensor to the camera; `T_cn_cnm1` those of the camera before.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from twinloop.core.calibration import CameraCalibration, CameraModel, ImuCalibration
from twinloop.core.errors import UnreadableError
from twinloop.formats.calibrations.values import Calibration, floats, frame, pixels, plain, pose_of_matrix
from twinloop.formats.calibrations.yaml_text import load_yaml

if TYPE_CHECKING:
    from collections.abc import Mapping

_CAMERA = re.compile(rb"^\s*camera_model\s*:\s*(pinhole|omni|eucm|ds)\b", re.MULTILINE)
_IMU = re.compile(rb"^\s*accelerometer_noise_density\s*:", re.MULTILINE)
_TARGET = re.compile(rb"^\s*(tagCols|targetCols)\s*:", re.MULTILINE)
_NOISE = (
    "accelerometer_noise_density",
    "accelerometer_random_walk",
    "gyroscope_noise_density",
    "gyroscope_random_walk",
)
#: Parameters that stand before fu fv pu pv.
_BEFORE = {"pinhole": 0, "omni": 1, "eucm": 2, "ds": 2}
_MODELS = {"omni": CameraModel.OMNI, "eucm": CameraModel.EUCM, "ds": CameraModel.DOUBLE_SPHERE}
_PINHOLE = {
    "none": CameraModel.PINHOLE,
    "radtan": CameraModel.RADTAN,
    "equidistant": CameraModel.FISHEYE,
    "equi": CameraModel.FISHEYE,
    "fov": CameraModel.FOV,
}
_USED = frozenset({"resolution", "intrinsics", "distortion_coeffs", "T_cam_imu", "T_cn_cnm1", *_NOISE})


def claims(head: bytes) -> bool:
    """Whether a file that starts with `head` is a chain of cameras, an inertial sensor or a target."""
    if _CAMERA.search(head) and b"intrinsics" in head:
        return True
    return _IMU.search(head) is not None or (b"target_type" in head and _TARGET.search(head) is not None)


def parse(text: str, file: str) -> Calibration:  # noqa: ARG001
    """Cameras with their poses in the inertial sensor, else in the camera before; sensors with their noise."""
    found = Calibration()
    tables = load_yaml(text)
    if any(name in tables for name in _NOISE):
        tables = {"imu0": tables}
    before = None
    for name, table in tables.items():
        if not isinstance(table, dict):
            found.facts[f"target/{name}"] = str(table)
            continue
        try:
            if "camera_model" in table:
                found.items.append(_camera(name, table))
                _place(found, name, before, table)
                before = name
            elif any(key in table for key in _NOISE):
                found.items.append(_imu(name, table))
        except UnreadableError as unfit:
            found.skipped.append(f"{name}: {unfit.what}")
    return found


def _camera(name: str, table: Mapping[str, object]) -> CameraCalibration:
    model = str(table["camera_model"])
    if model not in _BEFORE:
        raise UnreadableError(f"the camera model {model!r} is unknown", expected=", ".join(_BEFORE))
    values = floats(table.get("intrinsics"), 4 + _BEFORE[model])
    first, (fx, fy, cx, cy) = values[:-4], values[-4:]
    distortion = str(table.get("distortion_model", "none"))
    kind = _MODELS.get(model) or _PINHOLE.get(distortion, CameraModel.OTHER)
    extra = plain(table, _USED)
    if kind is CameraModel.OTHER:
        extra["model"] = f"{model}-{distortion}"
    width, height = pixels(table.get("resolution"))
    coefficients = floats(table.get("distortion_coeffs") or ())
    return CameraCalibration(name, kind, width, height, (fx, fy, cx, cy), (*first, *coefficients), extra=extra)


def _place(found: Calibration, name: str, before: str | None, table: Mapping[str, object]) -> None:
    if table.get("T_cam_imu") is not None:
        found.items.append(frame("imu0", name, pose_of_matrix(table["T_cam_imu"]).inverse()))
    elif table.get("T_imu_cam") is not None:
        found.items.append(frame("imu0", name, pose_of_matrix(table["T_imu_cam"])))
    elif table.get("T_cn_cnm1") is not None and before:
        found.items.append(frame(before, name, pose_of_matrix(table["T_cn_cnm1"]).inverse()))


def _imu(name: str, table: Mapping[str, object]) -> ImuCalibration:
    noise = {key: floats(table[key], 1)[0] for key in _NOISE if key in table}
    return ImuCalibration(name, noise=noise, extra=plain(table, _USED))
