"""OpenCV's FileStorage, as its calibration samples write it, and ROS's camera_info files of the same form.

A single camera takes the file's name; of a stereo pair, camera 1 is ``cam1`` and `R`, `T` take its points to
``cam2``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from twinloop.core.calibration import CameraCalibration, CameraModel
from twinloop.core.errors import UnreadableError
from twinloop.core.units import UNDECLARED
from twinloop.formats.calibrations.values import Calibration, floats, frame, intrinsics_of, plain, pose_of
from twinloop.formats.calibrations.yaml_text import load_yaml

if TYPE_CHECKING:
    from collections.abc import Mapping

_SINGLE = ("camera_matrix", "cameraMatrix", "Camera_Matrix", "K")
_DISTORTION = ("distortion_coefficients", "distCoeffs", "Distortion_Coefficients", "D")
_STEREO = (("M", "D"), ("cameraMatrix", "distCoeffs"), ("K", "D"))
_CAMERA = re.compile(rb"^\s*<?(camera_matrix|cameraMatrix\d?|Camera_Matrix|M1|K1)\b", re.MULTILINE)
_SUFFIX = re.compile(r"[_.-]?(intrinsics?|calib(ration)?|camera_?info|params)$", re.IGNORECASE)
_MODELS = {"equidistant": CameraModel.FISHEYE, "fisheye": CameraModel.FISHEYE}


def claims(head: bytes) -> bool:
    """Whether a file that starts with `head` stores a camera matrix with rows, columns and data."""
    stored = b"opencv-matrix" in head or (b"distortion_coefficients:" in head and b"cols:" in head)
    return stored and _CAMERA.search(head) is not None


def parse(text: str, file: str) -> Calibration:
    """One camera or a pair; what else the file stores goes with the first."""
    found = Calibration()
    values = _xml(text) if text.lstrip().startswith("<") else load_yaml(text)
    single = next((name for name in _SINGLE if name in values), None)
    if single:
        lens = next((values[name] for name in _DISTORTION if name in values), None)
        name = str(values.get("camera_name") or _SUFFIX.sub("", file) or file)
        _add(found, name, values[single], lens, values, plain(values))
        return found
    pair = next(((m, d) for m, d in _STEREO if f"{m}1" in values), None)
    if pair is None:
        raise UnreadableError("the file stores no camera matrix", expected=", ".join((*_SINGLE, "M1, M2")))
    for number in (1, 2):
        matrix = values.get(f"{pair[0]}{number}")
        if matrix is not None:
            extra = plain(values) if number == 1 else {}
            _add(found, f"cam{number}", matrix, values.get(f"{pair[1]}{number}"), values, extra)
    if "R" in values and "T" in values and len(found.items) == 2:
        try:
            T_cam2_cam1 = pose_of(_data(values["R"]), _data(values["T"]))
            found.items.append(frame("cam1", "cam2", T_cam2_cam1.inverse(), UNDECLARED))
        except UnreadableError as unfit:
            found.skipped.append(f"R, T: {unfit.what}")
    return found


def _add(
    found: Calibration,
    name: str,
    matrix: object,
    lens: object,
    values: Mapping[str, object],
    extra: dict[str, object],
) -> None:
    try:
        distortion = floats(_data(lens)) if lens is not None else ()
        model = CameraModel.RADTAN if any(distortion) else CameraModel.PINHOLE
        said = str(values.get("distortion_model") or values.get("model") or "")
        sizes = [values.get("image_width"), values.get("image_height")]
        width, height = (size if isinstance(size, int) and size > 0 else None for size in sizes)
        error = values.get("avg_reprojection_error")
        found.items.append(
            CameraCalibration(
                name,
                _MODELS.get(said, model),
                width,
                height,
                intrinsics_of(_data(matrix)),
                distortion,
                float(error) if isinstance(error, (int, float)) and error == error else None,
                extra,
            )
        )
    except UnreadableError as unfit:
        found.skipped.append(f"camera {name}: {unfit.what}")


def _data(matrix: object) -> object:
    """The numbers of a stored matrix, which must be as many as it says."""
    if not isinstance(matrix, dict):
        return matrix
    rows, cols = matrix.get("rows"), matrix.get("cols")
    if not (isinstance(rows, int) and isinstance(cols, int)):
        raise UnreadableError("a matrix does not say its rows and columns")
    return floats(matrix.get("data"), rows * cols)


def _xml(text: str) -> dict[str, object]:
    """The values of ``<opencv_storage>``: matrices as in YAML, numbers as numbers."""
    values: dict[str, object] = {}
    for element in ElementTree.fromstring(text):
        if element.get("type_id") == "opencv-matrix":
            values[element.tag] = {
                "rows": _whole(element.findtext("rows")),
                "cols": _whole(element.findtext("cols")),
                "data": (element.findtext("data") or "").split(),
            }
        elif not len(element):
            values[element.tag] = _number((element.text or "").strip())
    return values


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.strip().isdigit() else None


def _number(text: str) -> object:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text.strip('"')
