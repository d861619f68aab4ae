"""Small LeRobot datasets of both layouts, written file by file as lerobot writes them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from clips import numbered, write_clip

CAMERA = "observation.images.top"
JOINTS = ("shoulder_pan.pos", "elbow_flex.pos", "gripper.pos")


@dataclass
class Dataset:
    """What to write. Episode e's row k shows image number 100 e + k and has state (e, k, k / 2).

    `extra` columns: name -> (feature entry, function of (episode, rows) giving an Arrow array).
    """

    lengths: tuple[int, ...] = (12, 9, 15)
    fps: int = 10
    names: Any = field(default_factory=lambda: list(JOINTS))
    tasks: tuple[str, ...] = ("pick the cup", "place the cup", "pick the cup")
    video: bool = True
    codec: str = "libx264"
    extra: dict[str, tuple[dict[str, Any], Any]] = field(default_factory=dict)
    info: dict[str, Any] = field(default_factory=dict)

    @property
    def task_list(self) -> list[str]:
        return list(dict.fromkeys(self.tasks))

    def rows(self, episode: int) -> pa.Table:
        """The rows of one episode."""
        n = self.lengths[episode]
        k = np.arange(n)
        state = np.stack((np.full(n, episode), k, k / 2), axis=1).astype(np.float32)
        columns = {
            "observation.state": vectors(state),
            "action": vectors(state + 1),
            "timestamp": pa.array((k / self.fps).astype(np.float32)),
            "frame_index": pa.array(k),
            "episode_index": pa.array(np.full(n, episode)),
            "index": pa.array(k + sum(self.lengths[:episode])),
            "task_index": pa.array(np.full(n, self.task_list.index(self.tasks[episode]))),
        }
        for name, (_, make) in self.extra.items():
            columns[name] = make(episode, n)
        return pa.table(columns)

    def features(self) -> dict[str, Any]:
        one = {"shape": [1], "names": None}
        entry = {"dtype": "float32", "shape": [3], "names": self.names}
        features = {"observation.state": entry, "action": entry}
        if self.video:
            features[CAMERA] = {
                "dtype": "video",
                "shape": [64, 96, 3],
                "names": ["height", "width", "channels"],
                "info": {"video.codec": "h264", "video.fps": self.fps, "video.pix_fmt": "yuv420p"},
            }
        features |= {name: entry for name, (entry, _) in self.extra.items()}
        features["timestamp"] = {"dtype": "float32", **one}
        return features | {
            name: {"dtype": "int64", **one} for name in ("frame_index", "episode_index", "index", "task_index")
        }

    def base_info(self, version: str) -> dict[str, Any]:
        return {
            "codebase_version": version,
            "robot_type": "so101",
            "total_episodes": len(self.lengths),
            "total_frames": sum(self.lengths),
            "total_tasks": len(self.task_list),
            "chunks_size": 1000,
            "fps": self.fps,
            "splits": {"train": f"0:{len(self.lengths)}"},
        }

    def images(self, episode: int) -> list[np.ndarray]:
        return [numbered(100 * episode + k) for k in range(self.lengths[episode])]


def vectors(values: np.ndarray) -> pa.FixedSizeListArray:
    return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1])


def write_v21(root: Path, dataset: Dataset) -> Path:
    """v2.1: a parquet file and a video for each episode, metadata as JSON lines."""
    for folder in ("meta", "data/chunk-000", f"videos/chunk-000/{CAMERA}"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    lines = []
    for episode, length in enumerate(dataset.lengths):
        pq.write_table(dataset.rows(episode), root / f"data/chunk-000/episode_{episode:06d}.parquet")
        lines.append({"episode_index": episode, "tasks": [dataset.tasks[episode]], "length": length})
        if dataset.video:
            path = root / f"videos/chunk-000/{CAMERA}/episode_{episode:06d}.mp4"
            write_clip(path, dataset.images(episode), dataset.codec, fps=dataset.fps)
    write_lines(root / "meta/episodes.jsonl", lines)
    write_lines(
        root / "meta/tasks.jsonl", [{"task_index": i, "task": t} for i, t in enumerate(dataset.task_list)]
    )
    write_lines(root / "meta/episodes_stats.jsonl", [])
    info = dataset.base_info("v2.1") | {
        "data_path": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
        "video_path": "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4",
        "features": dataset.features(),
    }
    write_json(root / "meta/info.json", info | dataset.info)
    return root


def write_v20(root: Path, dataset: Dataset) -> Path:
    """v2.0: as v2.1, with one stats.json for all episodes."""
    write_v21(root, dataset)
    (root / "meta/episodes_stats.jsonl").unlink()
    write_json(root / "meta/stats.json", {"action": {"min": [0.0], "max": [1.0]}})
    edit_info(root, codebase_version="v2.0")
    return root


def write_v30(root: Path, dataset: Dataset) -> Path:
    """v3.0: all episodes in one parquet file (a row group each) and one video, metadata as parquet."""
    for folder in ("meta/episodes/chunk-000", "data/chunk-000", f"videos/{CAMERA}/chunk-000"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    tables = [dataset.rows(episode) for episode in range(len(dataset.lengths))]
    with pq.ParquetWriter(root / "data/chunk-000/file-000.parquet", tables[0].schema) as writer:
        for table in tables:
            writer.write_table(table)
    if dataset.video:
        images = [image for episode in range(len(dataset.lengths)) for image in dataset.images(episode)]
        write_clip(root / f"videos/{CAMERA}/chunk-000/file-000.mp4", images, dataset.codec, fps=dataset.fps)
    pq.write_table(episode_table(dataset, dataset.lengths), root / "meta/episodes/chunk-000/file-000.parquet")
    tasks = {"task_index": range(len(dataset.task_list)), "__index_level_0__": dataset.task_list}
    pq.write_table(pa.table(tasks), root / "meta/tasks.parquet")
    write_json(root / "meta/stats.json", {})
    info = dataset.base_info("v3.0") | {
        "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
        "video_path": "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4",
        "features": dataset.features(),
    }
    write_json(root / "meta/info.json", info | dataset.info)
    return root


def episode_table(dataset: Dataset, images: tuple[int, ...]) -> pa.Table:
    """meta/episodes; `images` in the video for each episode."""
    ends = np.cumsum(images) / dataset.fps
    n = len(dataset.lengths)
    columns: dict[str, Any] = {
        "episode_index": range(n),
        "tasks": [[task] for task in dataset.tasks],
        "length": list(dataset.lengths),
        "data/chunk_index": [0] * n,
        "data/file_index": [0] * n,
        "dataset_from_index": np.cumsum((0, *dataset.lengths[:-1])),
        "dataset_to_index": np.cumsum(dataset.lengths),
        "stats/action/min": [[0.0]] * n,
    }
    if dataset.video:
        columns |= {
            f"videos/{CAMERA}/chunk_index": [0] * n,
            f"videos/{CAMERA}/file_index": [0] * n,
            f"videos/{CAMERA}/from_timestamp": [0.0, *ends[:-1]],
            f"videos/{CAMERA}/to_timestamp": ends,
        }
    return pa.table(columns)


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=4))


def write_lines(path: Path, lines: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def edit_info(root: Path, **changes: object) -> None:
    """Change keys of meta/info.json; None takes a key out."""
    path = root / "meta/info.json"
    info = json.loads(path.read_text()) | changes
    write_json(path, {key: value for key, value in info.items() if value is not None})
