"""meta/info.json: what a dataset says of itself, read with patience for the ways in which it is written."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from twinloop.core.errors import UnreadableError, Where
from twinloop.core.recording import Problem

if TYPE_CHECKING:
    from pathlib import Path

    from twinloop.formats.notes import Notes

#: Columns that the writer adds to every dataset; kept together as one table stream.
BOOKKEEPING = ("timestamp", "frame_index", "episode_index", "index", "task_index", "subtask_index")

_NUMBERS = re.compile(r"(float|int|uint)\d+|bool|double")


@dataclass(frozen=True, slots=True)
class FeatureInfo:
    """One entry of `features`.

    Attributes:
        dtype: as written: ``float32``, ``video``, ``image``, ``string``, ``language``...
        shape: of one sample. names: of its elements, flat, one an element; empty where there are none or
            their number does not fit. video: the ``info`` of a video feature, keys without ``video.``.
    """

    name: str
    dtype: str
    shape: tuple[int, ...] = (1,)
    names: tuple[str, ...] = ()
    video: Mapping[str, Any] | None = None

    @property
    def size(self) -> int:
        """Numbers in one sample."""
        return math.prod(self.shape) if self.shape else 1

    @property
    def is_number(self) -> bool:
        """Whether samples are numbers in the parquet files."""
        return _NUMBERS.fullmatch(self.dtype) is not None

    @property
    def is_bookkeeping(self) -> bool:
        """Whether it says where a row belongs, not what was sensed."""
        return self.name in BOOKKEEPING or self.name.startswith("next.")

    @property
    def picture_size(self) -> tuple[int, int]:
        """(width, height) of an image feature; channels may stand first or last. (0, 0): not declared."""
        if len(self.shape) != 3:
            return (0, 0)
        height, width = self.shape[1:] if self.shape[0] in (1, 3, 4) and self.shape[2] > 4 else self.shape[:2]
        return (width, height)


@dataclass(frozen=True, slots=True)
class Info:
    """What meta/info.json says. `fps` is None where it says nothing usable."""

    version: str
    fps: float | None
    features: Mapping[str, FeatureInfo]
    data_path: str
    video_path: str
    chunks_size: int
    total_episodes: int | None
    total_frames: int | None
    metadata: Mapping[str, str]

    @property
    def is_v3(self) -> bool:
        """Whether files hold several episodes each (v3) or one (v2)."""
        return self.version.startswith("v3")


_DATA_PATH = {
    "v2": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
    "v3": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
}
_VIDEO_PATH = {
    "v2": "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4",
    "v3": "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4",
}


def read_info(root: Path, notes: Notes) -> Info:
    """The dataset's own description.

    Raises:
        UnreadableError: it is no JSON object, or of a version that is not v2.x or v3.x.
    """
    path = root / "meta" / "info.json"
    raw = _load(path)
    version = str(raw.get("codebase_version", ""))
    if not re.match(r"v[23](\.|$)", version):
        raise UnreadableError(
            f"the dataset is of LeRobot version {version or 'unknown'!s}",
            where=str(path),
            expected="codebase_version v2.0, v2.1 or v3.0",
            fix="convert it with the scripts that come with lerobot",
        )
    if version not in ("v2.0", "v2.1", "v3.0"):
        notes.add(
            Problem.SCHEMA,
            f"version {version} is not known; read as {version[:2]}",
            Where(file=str(path)),
        )
    major = version[:2]
    return Info(
        version=version,
        fps=_fps(raw.get("fps"), path, notes),
        features=_features(raw.get("features"), path, notes),
        data_path=str(raw.get("data_path") or _DATA_PATH[major]),
        video_path=str(raw.get("video_path") or _VIDEO_PATH[major]),
        chunks_size=_count(raw.get("chunks_size")) or 1000,
        total_episodes=_count(raw.get("total_episodes")),
        total_frames=_count(raw.get("total_frames")),
        metadata=dict(_flat(raw)),
    )


def _load(path: Path) -> dict[str, Any]:
    try:
        raw = json.loads(path.read_bytes())
    except OSError as error:
        raise UnreadableError(f"the system refuses to read it: {error.strerror}", where=str(path)) from error
    except ValueError as error:
        raise UnreadableError(
            f"info.json is no JSON: {error}", where=str(path), expected="what LeRobot writes there"
        ) from error
    if not isinstance(raw, dict):
        raise UnreadableError(
            "info.json is no JSON object", where=str(path), expected='{"codebase_version": ...'
        )
    return raw


def _fps(value: object, path: Path, notes: Notes) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf:
        return float(value)
    notes.add(
        Problem.BAD_VALUE,
        f"fps is {value!r}; a rate is taken from the timestamps instead",
        Where(file=str(path)),
    )
    return None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _features(raw: object, path: Path, notes: Notes) -> dict[str, FeatureInfo]:
    features: dict[str, FeatureInfo] = {}
    for name, entry in (raw if isinstance(raw, dict) else {}).items():
        if not isinstance(entry, dict):
            notes.add(Problem.SCHEMA, f"feature {name} is no JSON object", Where(file=str(path), stream=name))
            continue
        feature = _feature(str(name), entry)
        given = flat_names(entry.get("names"))
        if feature.is_number and given and not feature.names and not feature.is_bookkeeping:
            notes.add(
                Problem.SCHEMA,
                f"feature {name} has {feature.size} elements and {len(given)} names; the names are not used",
                Where(file=str(path), stream=str(name)),
            )
        features[str(name)] = feature
    if not features:
        notes.add(Problem.SCHEMA, "info.json declares no features", Where(file=str(path)))
    return features


def _feature(name: str, entry: Mapping[str, Any]) -> FeatureInfo:
    shape = entry.get("shape")
    sizes = tuple(s for s in shape if isinstance(s, int)) if isinstance(shape, list | tuple) else (1,)
    names = flat_names(entry.get("names"))
    said = [entry.get(key) for key in ("video_info", "info")]
    video = {key: value for part in said if isinstance(part, dict) for key, value in part.items()}
    feature = FeatureInfo(
        name=name,
        dtype=str(entry.get("dtype", "")),
        shape=sizes,
        video={str(k).removeprefix("video."): v for k, v in video.items()} or None,
    )
    fits = len(names) == feature.size and len(set(names)) == len(names)
    return FeatureInfo(name, feature.dtype, sizes, names if fits else (), feature.video)


def flat_names(names: object) -> tuple[str, ...]:
    """Element names in order, out of whatever holds them.

    A list; a list in a list (one level too deep); ``{"motors": [...]}``, several such lists one after the
    other; ``{"name": position}``.
    """
    if isinstance(names, str):
        return (names,)
    if isinstance(names, list | tuple):
        return tuple(flat for entry in names for flat in flat_names(entry))
    if isinstance(names, dict):
        if names and all(isinstance(v, int) and not isinstance(v, bool) for v in names.values()):
            return tuple(str(k) for k, _ in sorted(names.items(), key=lambda item: item[1]))
        return tuple(flat for entry in names.values() for flat in flat_names(entry))
    return ()


def _flat(raw: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Keys joined by ``/``, values as text; features stay one JSON text."""
    flat: list[tuple[str, str]] = []
    for key, value in raw.items():
        if isinstance(value, dict) and key != "features":
            flat += _flat(value, f"{prefix}{key}/")
        elif isinstance(value, str):
            flat.append((prefix + key, value))
        elif value is not None:
            flat.append((prefix + key, json.dumps(value)))
    return flat
