"""A LeRobot dataset, an episode at a time: what all versions of the format share."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from twinloop.core.errors import UsageError
from twinloop.deliver.features import FeatureSpec, Form
from twinloop.deliver.lerobot.depth import DEPTH_INFO
from twinloop.deliver.lerobot.limits import CHUNKS_SIZE
from twinloop.deliver.lerobot.stats import FeatureStats, value_stats
from twinloop.deliver.lerobot.tables import column_of, huggingface_metadata

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.deliver.lerobot.encode import Encoder
    from twinloop.deliver.lerobot.video_files import CameraFiles, VideoPlace

#: The columns that LeRobot's own writer adds.
DEFAULT_FEATURES = {
    "timestamp": "float32",
    "frame_index": "int64",
    "episode_index": "int64",
    "index": "int64",
    "task_index": "int64",
}
SUCCESS = "next.success"


class DatasetWriter(ABC):
    """A dataset in the making, of one version of LeRobot's format. `close` completes it.

    Args:
        specs: its features. with_success: whether rows carry `next.success`.

    Attributes:
        videos: camera -> its video files.
    """

    version: ClassVar[str]
    videos: dict[str, CameraFiles]

    def __init__(
        self,
        root: Path,
        fps: int,
        specs: dict[str, FeatureSpec],
        *,
        robot_type: str | None = None,
        with_success: bool = False,
    ) -> None:
        self.root = root
        self.fps = fps
        self.specs = specs
        self._robot_type = robot_type
        self._with_success = with_success
        self._tasks: dict[str, int] = {}
        self.total_episodes = 0
        self.total_rows = 0

    @property
    def cameras(self) -> list[str]:
        """The features that are videos."""
        return [name for name, spec in self.specs.items() if spec.is_camera]

    @property
    def tasks(self) -> list[str]:
        """The tasks so far, by their index."""
        return list(self._tasks)

    def add_episode(
        self,
        values: dict[str, NDArray[np.float64]],
        videos: dict[str, VideoPlace],
        image_stats: dict[str, FeatureStats],
        task: str,
        rows: int,
        succeeded: bool = False,
        attributes: Mapping[str, str] | None = None,
    ) -> int:
        """Add an episode whose videos are written already; returns its index.

        Args:
            values: feature -> (R, D). videos, image_stats: camera -> place, statistics.
            succeeded: whether the last row is one of success. attributes: what else is known of it.
        """
        episode = self.total_episodes
        task_index = self._tasks.setdefault(task, len(self._tasks))
        columns = {name: column_of(values[name], "float32") for name in self.specs if name in values}
        raw: dict[str, NDArray[np.generic]] = {
            name: values[name].astype(np.float32) for name in self.specs if name in values
        }
        if self._with_success:
            raw[SUCCESS] = np.arange(rows) == (rows - 1 if succeeded else -1)
        frame = np.arange(rows, dtype=np.int64)
        raw["timestamp"] = (frame / self.fps).astype(np.float32)
        raw["frame_index"] = frame
        raw["episode_index"] = np.full(rows, episode, np.int64)
        raw["index"] = frame + self.total_rows
        raw["task_index"] = np.full(rows, task_index, np.int64)
        for name in (SUCCESS, *DEFAULT_FEATURES):
            if name in raw:
                columns[name] = column_of(raw[name], DEFAULT_FEATURES.get(name, "bool"))
        table = pa.table(columns)
        table = table.replace_schema_metadata(huggingface_metadata(table.schema))
        stats = {name: value_stats(value) for name, value in raw.items()} | image_stats
        stats = {name: stats[name] for name in self._feature_names() if name in stats}
        self.put(table, stats, task, videos, attributes or {})
        self.total_episodes += 1
        self.total_rows += rows
        return episode

    @abstractmethod
    def put(
        self,
        table: pa.Table,
        stats: dict[str, FeatureStats],
        task: str,
        videos: dict[str, VideoPlace],
        attributes: Mapping[str, str],
    ) -> None:
        """Write the rows of the next episode, and what `meta/` says of it."""

    @abstractmethod
    def finish(self) -> dict[str, object]:
        """Finish all tables; what ``info.json`` says in this version alone."""

    @abstractmethod
    def abandon(self) -> None:
        """Let go of open files; the folder is thrown away."""

    def close(self, encoders: dict[str, Encoder | None]) -> None:
        """Finish all files and write what describes them.

        Args:
            encoders: camera -> the encoder of all its images; None where some or all were not encoded here.
        """
        for files in self.videos.values():
            files.close()
        own = self.finish()
        info = {
            "codebase_version": self.version,
            "fps": self.fps,
            "features": self._features(encoders),
            "total_episodes": self.total_episodes,
            "total_frames": self.total_rows,
            "total_tasks": len(self._tasks),
            "chunks_size": CHUNKS_SIZE,
            "robot_type": self._robot_type,
            "splits": {"train": f"0:{self.total_episodes}"},
        }
        write_json(self.root / "meta/info.json", info | own)

    def _feature_names(self) -> list[str]:
        return [*self.specs, *([SUCCESS] if self._with_success else []), *DEFAULT_FEATURES]

    def _features(self, encoders: dict[str, Encoder | None]) -> dict[str, object]:
        features: dict[str, object] = {}
        for name, spec in self.specs.items():
            dtype = "video" if spec.is_camera else "float32"
            declared: dict[str, object] = {"dtype": dtype, "shape": list(spec.shape), "names": list(spec.names)}
            if spec.is_camera:
                declared["info"] = self._video_info(name, spec, encoders.get(name))
            features[name] = declared
        if self._with_success:
            features[SUCCESS] = {"dtype": "bool", "shape": [1], "names": None}
        for name, dtype in DEFAULT_FEATURES.items():
            features[name] = {"dtype": dtype, "shape": [1], "names": None}
        return features

    def _video_info(self, name: str, spec: FeatureSpec, encoder: Encoder | None) -> dict[str, object]:
        """LeRobot describes a camera once, from its first file."""
        first = self.videos[name].headers[0]
        info: dict[str, object] = {
            "video.height": spec.shape[0],
            "video.width": spec.shape[1],
            "video.codec": first.codec,
            "video.pix_fmt": first.pix_fmt,
            "video.fps": self.fps,
            "video.channels": 1 if spec.depth else 3,
            "has_audio": False,
            "is_depth_map": False,
        }
        if spec.depth:
            return info | DEPTH_INFO
        return info | (encoder.info if encoder is not None else {})


def lerobot_specs(specs: dict[str, FeatureSpec]) -> dict[str, FeatureSpec]:
    """Features as LeRobot can declare them: yuv420p has even sides.

    Raises:
        UsageError: a name that LeRobot refuses.
    """
    declared = {}
    for name, spec in specs.items():
        if "/" in name:
            raise UsageError(
                f"LeRobot refuses a slash in the name of a feature: {name!r}",
                where=f"stream {spec.described.get('stream')}",
                fix="rename it in the mapping: twinloop map",
            )
        if spec.form is Form.IMAGES:
            height, width, channels = spec.shape
            spec = replace(spec, shape=(height & ~1, width & ~1, channels))
        declared[name] = spec
    return declared


def write_json(path: Path, content: object) -> None:
    """Write `content` as LeRobot lays out its JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=4, ensure_ascii=False) + "\n", encoding="utf-8")
