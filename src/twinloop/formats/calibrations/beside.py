"""Calibration files that lie beside videos or images: found, read, and given the names of the streams."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from twinloop.core.calibration import CameraCalibration, FramePose, encode_calibration
from twinloop.core.errors import TwinloopError, Where
from twinloop.core.recording import Problem
from twinloop.formats.calibrations.file import dialect_of, read_calibration

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from twinloop.core.calibration import CalibrationItem
    from twinloop.formats.notes import Notes

_NAMED = re.compile(
    r"((calib|intrinsic|extrinsic|camera_array|camera_info|camchain|imu|cameras\b).*|config)"
    r"\.(toml|ya?ml|json|xml|txt|npz)$",
    re.IGNORECASE,
)
_FOLDER = re.compile(r"calib", re.IGNORECASE)
#: Folders above the pictures in which calibration is looked for.
_LEVELS_UP = 2
_HEAD = 4096
#: Entries of a folder looked at.
_MOST = 10_000


def calibration_files(folder: Path, without: Collection[Path] = ()) -> list[Path]:
    """Files that are calibrations by name or content, in a folder, above it, and in folders named so there."""
    places = [folder, *list(folder.resolve().parents)[:_LEVELS_UP]]
    for place in tuple(places[1:]):
        places += [each for each in _entries(place) if each.is_dir() and _FOLDER.match(each.name)]
    found = [
        file
        for place in dict.fromkeys(places)
        for file in _entries(place)
        if file.is_file() and file not in without and _is_calibration(file)
    ]
    return list(dict.fromkeys(found))


def read_beside(
    files: Sequence[Path], cameras: Collection[str], notes: Notes
) -> tuple[dict[str, object], dict[str, str]]:
    """What the files hold, as `Recording.calibration`, and their facts as metadata.

    Cameras that are named as a stream, or number as one, take the stream's name. A file that does not
    parse, or a camera in it that does not, is noted.
    """
    items: list[CalibrationItem] = []
    facts: dict[str, str] = {}
    for number, file in enumerate(files):
        facts[f"calibration_file/{number}"] = str(file)
        try:
            with file.open("rb") as opened:
                if dialect_of(opened.read(_HEAD)) is None:
                    continue
            dialect, found = read_calibration(file)
        except (TwinloopError, OSError) as error:
            what = error.what if isinstance(error, TwinloopError) else str(error)
            notes.add(Problem.UNDECODABLE, what, Where(file=str(file)))
            continue
        items += renamed(found.items, cameras)
        facts[f"calibration_dialect/{number}"] = dialect
        facts |= {f"calibration/{number}/{name}": value for name, value in found.facts.items()}
        for said in found.skipped:
            notes.add(Problem.BAD_VALUE, said, Where(file=str(file)))
    return encode_calibration(items), facts


def renamed(items: Sequence[CalibrationItem], cameras: Collection[str]) -> list[CalibrationItem]:
    """The items under the names of the streams that they are about."""
    known = [item.name for item in items if isinstance(item, CameraCalibration)]
    names = {name: _stream_of(name, known, cameras) for name in known}
    new: list[CalibrationItem] = []
    for item in items:
        if isinstance(item, CameraCalibration) and names[item.name] != item.name:
            extra = {**item.extra, "name_in_source": item.name}
            item = replace(item, name=names[item.name], extra=extra)
        elif isinstance(item, FramePose):
            item = replace(
                item, parent=names.get(item.parent, item.parent), child=names.get(item.child, item.child)
            )
        new.append(item)
    return new


def _stream_of(name: str, names: Collection[str], cameras: Collection[str]) -> str:
    """The stream that a camera of a file is: of that name, but for case and marks, or of that number."""
    if name in cameras:
        return name
    for alike in (_bare, _number):
        word = alike(name)
        fits = [camera for camera in cameras if word and alike(camera) == word]
        if len(fits) == 1 and sum(alike(other) == word for other in names) == 1:
            return fits[0]
    return name


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _number(name: str) -> str:
    digits = re.findall(r"\d+", name)
    return str(int(digits[-1])) if digits else ""


def _is_calibration(file: Path) -> bool:
    if not _NAMED.search(file.name):
        return False
    if not file.name.lower().startswith("config"):
        return True
    try:
        with file.open("rb") as opened:
            return dialect_of(opened.read(_HEAD)) is not None
    except OSError:
        return False


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(entry for entry, _ in zip(folder.iterdir(), range(_MOST), strict=False))
    except OSError:
        return []
