"""The calibration and the facts in a file's tags.

Aria's factory calibration is one JSON text: cameras, IMUs, magnetometers, barometers and microphones, each
with a label; where they sit is told as `T_Device_*`. Images may be binned or cropped afterwards: the numbers
are for the sensor's full resolution, which the text does not state.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from twinloop.core.calibration import (
    CalibrationItem,
    CameraCalibration,
    CameraModel,
    FramePose,
    ImuCalibration,
    encode_calibration,
)
from twinloop.core.errors import Where
from twinloop.core.recording import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from twinloop.formats.notes import Notes

_CALIBRATION = "calib_json"
_MODELS = {"FisheyeRadTanThinPrism": CameraModel.FISHEYE624, "KannalaBrandtK3": CameraModel.FISHEYE}
_OTHERS = {"MagCalibrations": "magnetometer", "BaroCalibrations": "barometer", "MicCalibrations": "microphone"}


def metadata_of(tags: Mapping[str, str]) -> dict[str, str]:
    """The file's tags; a tag that is a JSON object becomes one entry for each of its members."""
    found: dict[str, str] = {}
    for name, value in tags.items():
        if name == _CALIBRATION:
            continue
        nested = _json(value) if value.startswith("{") else None
        found |= {f"{name}/{key}": str(member) for key, member in nested.items()} if nested else {name: value}
    return found


def calibration_of(
    tags: Mapping[str, str], configurations: Mapping[str, Mapping[str, object]], notes: Notes, path: str
) -> dict[str, object]:
    """The factory calibration, and the online calibration of streams whose configuration holds one."""
    found: dict[str, object] = {}
    if text := tags.get(_CALIBRATION):
        document = _json(text)
        if document is None:
            notes.add(Problem.SCHEMA, f"the tag {_CALIBRATION} is not a JSON object", Where(path))
        else:
            found |= aria_calibration(document, notes, path)
            found |= {
                f"aria/{key}": value for key, value in document.items() if isinstance(value, str | int | float)
            }
    for stream, fields in configurations.items():
        online = fields.get("online_calibration")
        if isinstance(online, str) and online:
            found[f"online/{stream}"] = _json(online) or online
    return found


def aria_calibration(document: Mapping[str, object], notes: Notes, path: str) -> dict[str, object]:
    """The sensors of one calibration document, as `Recording.calibration` holds them."""
    items: list[CalibrationItem] = []
    found: dict[str, object] = {}
    sizes = document.get("ImageSizes")
    for group, read in (("CameraCalibrations", _camera), ("ImuCalibrations", _imu)):
        for number, entry in enumerate(_entries(document, group)):
            size = sizes[number] if group == "CameraCalibrations" and isinstance(sizes, list) else None
            try:
                items += read(entry, size)
            except (KeyError, TypeError, ValueError, IndexError) as error:
                message = f"entry {number} of {group} is not as expected ({type(error).__name__}: {error})"
                notes.add(Problem.SCHEMA, message, Where(path))
    for group, word in _OTHERS.items():
        for number, entry in enumerate(_entries(document, group)):
            found[f"{word}/{entry.get('Label') or number}"] = dict(entry)
    return encode_calibration(items) | found


def _entries(document: Mapping[str, object], group: str) -> Iterator[dict[str, object]]:
    entries = document.get(group)
    if isinstance(entries, list):
        yield from (entry for entry in entries if isinstance(entry, dict))


def _camera(entry: dict, size: list | None) -> list[CalibrationItem]:
    """Fisheye624: f cx cy (one focal length) k0..k5 p0 p1 s0..s3; Kannala-Brandt: fx fy cx cy k0..k3."""
    label, projection = str(entry["Label"]), entry["Projection"]
    model = _MODELS.get(projection["Name"], CameraModel.OTHER)
    numbers = tuple(_finite(value) for value in projection["Params"])
    lens = (numbers[0], numbers[0], *numbers[1:3]) if model is not CameraModel.FISHEYE else numbers[:4]
    rest = numbers[3:] if model is not CameraModel.FISHEYE else numbers[4:]
    if len(lens) != 4:
        raise ValueError(f"{len(numbers)} parameters")
    extra = {"model": projection["Name"], "serial": entry.get("SerialNumber")}
    extra |= {key: entry[key] for key in ("Calibrated", "TimeOffsetSec_Device_Camera") if key in entry}
    width, height = (int(size[0]), int(size[1])) if size else (None, None)
    fx, fy, cx, cy = lens
    camera = CameraCalibration(label, model, width, height, (fx, fy, cx, cy), rest, extra=extra)
    return [camera, _pose(label, entry["T_Device_Camera"])]


def _imu(entry: dict, _size: list | None) -> list[CalibrationItem]:
    """Aria: rectified = inverse(matrix) (raw - bias), as `ImuCalibration` has it."""
    label = str(entry["Label"])
    accel, gyro = entry["Accelerometer"], entry["Gyroscope"]
    extra = {"serial": entry.get("SerialNumber")}
    for name, part in (("accelerometer", accel), ("gyroscope", gyro)):
        extra |= {f"{name}/{key}": value for key, value in part.items() if key not in ("Bias", "Model")}
        extra[f"{name}/model"] = part["Model"].get("Name")
    imu = ImuCalibration(
        label,
        accel_bias=tuple(map(_finite, accel["Bias"]["Offset"])),
        gyro_bias=tuple(map(_finite, gyro["Bias"]["Offset"])),
        accel_rectification=_matrix(accel["Model"]["RectificationMatrix"]),
        gyro_rectification=_matrix(gyro["Model"]["RectificationMatrix"]),
        extra=extra,
    )
    return [imu, _pose(label, entry["T_Device_Imu"])]


def _matrix(rows: list[list[float]]) -> tuple[float, ...]:
    return tuple(_finite(value) for row in rows for value in row)


def _pose(label: str, pose: dict) -> FramePose:
    real, imaginary = pose["UnitQuaternion"]
    translation = tuple(map(_finite, pose["Translation"]))
    return FramePose("device", label, translation, (_finite(real), *map(_finite, imaginary)))


def _finite(value: object) -> float:
    """A number; Python's JSON takes NaN and infinity for some.

    Raises:
        ValueError, TypeError: it is none.
    """
    number = float(value)  # type: ignore[arg-type]
    if not math.isfinite(number):
        raise ValueError(f"{number} is no number")
    return number


def _json(text: str) -> dict[str, object] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
