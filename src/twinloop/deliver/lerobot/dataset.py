"""Writes a LeRobot v3.0 dataset, an episode at a time, below a folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.deliver.lerobot.depth import DEPTH_INFO
from twinloop.deliver.lerobot.limits import (
    CHUNKS_SIZE,
    CODEBASE_VERSION,
    DATA_FILE_MB,
    VIDEO_FILE_MB,
)
from twinloop.deliver.lerobot.stats import FeatureStats, RunningAggregate, value_stats
from twinloop.deliver.lerobot.tables import (
    DATA_PATH,
    ChunkedParquet,
    EpisodesTable,
    column_of,
    huggingface_metadata,
    write_tasks,
)
from twinloop.deliver.lerobot.video_files import VIDEO_PATH, CameraFiles

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.deliver.lerobot.encode import Encoder
    from twinloop.deliver.lerobot.features import FeatureSpec
    from twinloop.deliver.lerobot.video_files import VideoPlace

#: The columns that LeRobot's own writer adds.
DEFAULT_FEATURES = {
    "timestamp": "float32",
    "frame_index": "int64",
    "episode_index": "int64",
    "index": "int64",
    "task_index": "int64",
}
SUCCESS = "next.success"


@dataclass(frozen=True, slots=True)
class Sizes:
    """When a new file starts, in MB."""

    data_mb: float = DATA_FILE_MB
    video_mb: float = VIDEO_FILE_MB


class LeRobotWriter:
    """A dataset in the making. `close` completes it.

    Args:
        specs: its features. with_success: whether rows carry `next.success`.
    """

    def __init__(
        self,
        root: Path,
        fps: int,
        specs: dict[str, FeatureSpec],
        *,
        robot_type: str | None = None,
        with_success: bool = False,
        sizes: Sizes = Sizes(),
    ) -> None:
        self._root = root
        self.fps = fps
        self._specs = specs
        self._robot_type = robot_type
        self._with_success = with_success
        self._data = ChunkedParquet(root, DATA_PATH, sizes.data_mb)
        self._episodes = EpisodesTable(root)
        self.videos = {
            name: CameraFiles(root, name, fps, file_mb=sizes.video_mb)
            for name, spec in specs.items()
            if spec.dtype == "video"
        }
        self._stats = RunningAggregate()
        self._tasks: dict[str, int] = {}
        self.total_episodes = 0
        self.total_rows = 0

    def add_episode(
        self,
        values: dict[str, NDArray[np.float64]],
        videos: dict[str, VideoPlace],
        image_stats: dict[str, FeatureStats],
        task: str,
        rows: int,
        succeeded: bool = False,
    ) -> int:
        """Add an episode whose videos are written already; returns its index.

        Args:
            values: feature -> (R, D). videos, image_stats: camera -> place, statistics.
            succeeded: whether the last row is one of success.
        """
        episode = self.total_episodes
        task_index = self._tasks.setdefault(task, len(self._tasks))
        columns = {name: column_of(values[name], "float32") for name in self._specs if name in values}
        raw: dict[str, NDArray[np.generic]] = {
            name: values[name].astype(np.float32) for name in self._specs if name in values
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
        chunk, file = self._data.make_room(rows)
        self._data.write(table.replace_schema_metadata(huggingface_metadata(table.schema)))

        stats = {name: value_stats(value) for name, value in raw.items()} | image_stats
        stats = {name: stats[name] for name in self._feature_names() if name in stats}
        self._stats.add(stats)
        row: dict[str, object] = {
            "episode_index": episode,
            "tasks": [task],
            "length": rows,
            "data/chunk_index": chunk,
            "data/file_index": file,
            "dataset_from_index": self.total_rows,
            "dataset_to_index": self.total_rows + rows,
        }
        for name, place in videos.items():
            row[f"videos/{name}/chunk_index"] = place.chunk
            row[f"videos/{name}/file_index"] = place.file
            row[f"videos/{name}/from_timestamp"] = place.from_s
            row[f"videos/{name}/to_timestamp"] = place.to_s
        self._episodes.add(row, stats)
        self.total_episodes += 1
        self.total_rows += rows
        return episode

    def close(self, encoders: dict[str, Encoder | None]) -> None:
        """Finish all files and write what describes them.

        Args:
            encoders: camera -> the encoder of all its images; None where some or all were not encoded here.
        """
        for files in self.videos.values():
            files.close()
        self._data.close()
        self._episodes.close()
        write_tasks(self._root, list(self._tasks))
        _write_json(self._root / "meta/info.json", self._info(encoders))
        stats = {
            feature: {key: value.tolist() for key, value in values.items()}
            for feature, values in self._stats.stats().items()
        }
        _write_json(self._root / "meta/stats.json", stats)

    def abandon(self) -> None:
        """Let go of open files; the folder is thrown away."""
        for files in self.videos.values():
            files.abandon()
        self._data.close()

    def _feature_names(self) -> list[str]:
        return [*self._specs, *([SUCCESS] if self._with_success else []), *DEFAULT_FEATURES]

    def _info(self, encoders: dict[str, Encoder | None]) -> dict[str, object]:
        features: dict[str, object] = {}
        for name, spec in self._specs.items():
            features[name] = {"dtype": spec.dtype, "shape": list(spec.shape), "names": list(spec.names)}
            if spec.dtype == "video":
                features[name] = {
                    "dtype": spec.dtype,
                    "shape": list(spec.shape),
                    "names": list(spec.names),
                    "info": self._video_info(name, spec, encoders.get(name)),
                }
        if self._with_success:
            features[SUCCESS] = {"dtype": "bool", "shape": [1], "names": None}
        for name, dtype in DEFAULT_FEATURES.items():
            features[name] = {"dtype": dtype, "shape": [1], "names": None}
        return {
            "codebase_version": CODEBASE_VERSION,
            "fps": self.fps,
            "features": features,
            "total_episodes": self.total_episodes,
            "total_frames": self.total_rows,
            "total_tasks": len(self._tasks),
            "chunks_size": CHUNKS_SIZE,
            "data_files_size_in_mb": DATA_FILE_MB,
            "video_files_size_in_mb": VIDEO_FILE_MB,
            "data_path": DATA_PATH,
            "video_path": VIDEO_PATH if self.videos else None,
            "robot_type": self._robot_type,
            "splits": {"train": f"0:{self.total_episodes}"},
        }

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


def _write_json(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=4, ensure_ascii=False) + "\n", encoding="utf-8")
