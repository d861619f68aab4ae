"""Calibration as data: cameras, inertial sensors, and where sensors sit; what a source declares, no more.

`Recording.calibration` holds them JSON-ready under flat names, so that those of several recordings lie side
by side: ``camera/<name>``, ``imu/<name>``, ``frame/<child>``. Other names are the source's own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class CameraModel(StrEnum):
    """How a point in a camera's frame becomes a pixel; the order of `CameraCalibration.distortion`."""

    PINHOLE = "pinhole"  # no distortion
    RADTAN = "radtan"  # OpenCV: k1 k2 p1 p2 [k3 [k4 k5 k6]] (Brown-Conrady; with eight: rational)
    FISHEYE = "fisheye"  # OpenCV fisheye, Kannala-Brandt: k1 k2 k3 k4 on the angle
    FISHEYE624 = "fisheye624"  # Project Aria: k0..k5, p0 p1, s0..s3
    RADIAL = "radial"  # COLMAP SIMPLE_RADIAL, RADIAL: k1 [k2] on the normalised radius
    FOV = "fov"  # Devernay-Faugeras: omega
    OMNI = "omni"  # Mei: xi, then radtan's
    EUCM = "eucm"  # alpha beta
    DOUBLE_SPHERE = "double_sphere"  # xi alpha
    OTHER = "other"  # parameters as the source has them; `extra["model"]` names it


@dataclass(frozen=True, slots=True)
class FramePose:
    """Where frame `child` sits in `parent`: `T_parent_child`.

    Attributes:
        translation: (3,) m (or `unit`, where the source declares none). rotation: (4,) quaternion wxyz.
        valid_from_ns: from when on, on the Unix clock; None: always.
    """

    parent: str
    child: str
    translation: tuple[float, ...]
    rotation: tuple[float, ...]
    unit: str = "m"
    valid_from_ns: int | None = None


@dataclass(frozen=True, slots=True)
class CameraCalibration:
    """One camera's intrinsics, OpenCV axes.

    Attributes:
        width, height: px of the pictures that the numbers are for; None: not declared.
        intrinsics: (fx, fy, cx, cy) px. distortion: in the order of `model`.
        error_px: the reprojection error that the source reports. extra: what else it says.
    """

    name: str
    model: CameraModel
    width: int | None
    height: int | None
    intrinsics: tuple[float, float, float, float]
    distortion: tuple[float, ...] = ()
    error_px: float | None = None
    extra: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ImuCalibration:
    """One inertial sensor's model: true = inverse(`*_rectification`) (measured - `*_bias`).

    Attributes:
        accel_bias: (3,) m/s2. gyro_bias: (3,) rad/s. *_rectification: (9,) row-major 3x3.
        noise: densities and walks by the source's names.
    """

    name: str
    accel_bias: tuple[float, ...] = ()
    gyro_bias: tuple[float, ...] = ()
    accel_rectification: tuple[float, ...] = ()
    gyro_rectification: tuple[float, ...] = ()
    noise: dict[str, float] = field(default_factory=dict)
    extra: dict[str, object] = field(default_factory=dict)


CalibrationItem = FramePose | CameraCalibration | ImuCalibration


def encode_calibration(items: Iterable[CalibrationItem]) -> dict[str, object]:
    """Items as `Recording.calibration` holds them. Of two with one name the later holds."""
    return {_key(item): msgspec.json.decode(msgspec.json.encode(item)) for item in items}


def _key(item: CalibrationItem) -> str:
    match item:
        case FramePose():
            return f"frame/{item.child}"
        case CameraCalibration():
            return f"camera/{item.name}"
        case ImuCalibration():
            return f"imu/{item.name}"


def cameras_of(calibration: Mapping[str, object]) -> dict[str, CameraCalibration]:
    """The cameras of a recording's calibration, by name."""
    found = (value for key, value in calibration.items() if key.startswith("camera/"))
    return {camera.name: camera for value in found if (camera := msgspec.convert(value, CameraCalibration))}


def frames_of(calibration: Mapping[str, object]) -> dict[str, FramePose]:
    """Where the sensors of a recording sit, by the frame that is placed."""
    found = (value for key, value in calibration.items() if key.startswith("frame/"))
    return {pose.child: pose for value in found if (pose := msgspec.convert(value, FramePose))}
