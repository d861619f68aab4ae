"""nuScenes' tables: rows with tokens that point to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec

from twinloop.core.errors import UnreadableError

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

#: A larger table is not decoded in one piece.
_MOST_BYTES = 4 << 30
_NS_PER_US = 1000
#: Times in microseconds that int64 holds as nanoseconds.
_MOST_US = 1 << 53

T = TypeVar("T")


class SampleData(msgspec.Struct):
    """A picture or sweep. `is_key_frame`: one of those that were annotated, twice a second."""

    token: str
    sample_token: str
    ego_pose_token: str
    calibrated_sensor_token: str
    filename: str
    timestamp: int
    is_key_frame: bool = False
    width: int | None = None
    height: int | None = None


class CalibratedSensor(msgspec.Struct):
    """A sensor on a car: metres, quaternion wxyz, and a camera's matrix (3, 3)."""

    token: str
    sensor_token: str
    translation: list[float]
    rotation: list[float]
    camera_intrinsic: list[list[float]] = []


class Sensor(msgspec.Struct):
    """A channel (``CAM_FRONT``) and its modality (camera, lidar, radar)."""

    token: str
    channel: str
    modality: str


class EgoPose(msgspec.Struct):
    """The car in the map, at a time."""

    token: str
    timestamp: int
    translation: list[float]
    rotation: list[float]


class Sample(msgspec.Struct):
    """A key frame."""

    token: str
    timestamp: int
    scene_token: str


class Scene(msgspec.Struct):
    """Twenty seconds of driving."""

    token: str
    name: str
    description: str = ""


class Annotation(msgspec.Struct):
    """A box in the map: size is width, length, height."""

    token: str
    sample_token: str
    instance_token: str
    translation: list[float]
    size: list[float]
    rotation: list[float]
    num_lidar_pts: int | None = None
    num_radar_pts: int | None = None
    visibility_token: str = ""
    attribute_tokens: list[str] = []


class Instance(msgspec.Struct):
    """A thing over time."""

    token: str
    category_token: str


class Named(msgspec.Struct):
    """A category or attribute."""

    token: str
    name: str


def read_table(folder: Path, name: str, row: type[T]) -> list[T]:
    """The rows of ``<name>.json``.

    Raises:
        UnreadableError: the table is missing, no JSON, or its rows lack a field.
    """
    path = folder / f"{name}.json"
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise UnreadableError("the table is too large", where=str(path), expected="at most 4 GiB")
        return msgspec.json.decode(path.read_bytes(), type=list[row])  # type: ignore[valid-type]
    except OSError as error:
        raise UnreadableError(f"the table cannot be read: {error.strerror}", where=str(path)) from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableError(f"the table does not parse: {error}", where=str(path)) from None


def to_ns(microseconds: list[int]) -> NDArray[np.int64]:
    """Times (N,) int64 ns.

    Raises:
        UnreadableError: one is no time.
    """
    import numpy as np

    if any(abs(time) > _MOST_US for time in microseconds):
        raise UnreadableError("a time is larger than any clock's", expected="microseconds")
    return np.array(microseconds, np.int64) * _NS_PER_US


def tables_folder(path: Path) -> Path | None:
    """The folder of tables: the path itself, or its folder ``v1.0-*``; of several versions the first."""
    try:
        places = [path, *sorted(folder for folder in path.iterdir() if folder.name.startswith("v1.0"))]
    except OSError:
        return None
    return next((place for place in places if _has_tables(place)), None)


def _has_tables(folder: Path) -> bool:
    return all((folder / f"{name}.json").is_file() for name in ("sample_data", "calibrated_sensor", "ego_pose"))
