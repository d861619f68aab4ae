"""LeRobot v3.0: files of many episodes, which ``meta/episodes`` finds again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.deliver.lerobot.dataset import DatasetWriter, write_json
from twinloop.deliver.lerobot.limits import DATA_FILE_MB, VIDEO_FILE_MB
from twinloop.deliver.lerobot.stats import FeatureStats, RunningAggregate
from twinloop.deliver.lerobot.tables import DATA_PATH, ChunkedParquet, EpisodesTable, write_tasks
from twinloop.deliver.lerobot.video_files import VIDEO_PATH, CameraFiles

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pyarrow as pa

    from twinloop.deliver.features import FeatureSpec
    from twinloop.deliver.lerobot.video_files import VideoPlace


@dataclass(frozen=True, slots=True)
class Sizes:
    """When a new file starts, in MB."""

    data_mb: float = DATA_FILE_MB
    video_mb: float = VIDEO_FILE_MB


class WriterV3(DatasetWriter):
    """Writes ``codebase_version`` v3.0 as lerobot 0.6.1 does."""

    version = "v3.0"

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
        super().__init__(root, fps, specs, robot_type=robot_type, with_success=with_success)
        self._data = ChunkedParquet(root, DATA_PATH, sizes.data_mb)
        self._episodes = EpisodesTable(root)
        self._stats = RunningAggregate()
        self.videos = {name: CameraFiles(root, name, fps, file_mb=sizes.video_mb) for name in self.cameras}

    def put(
        self,
        table: pa.Table,
        stats: dict[str, FeatureStats],
        task: str,
        videos: dict[str, VideoPlace],
        attributes: Mapping[str, str],  # noqa: ARG002  (v3.0 reads no columns but its own)
    ) -> None:
        """Write the rows of the next episode, and its row of ``meta/episodes``."""
        chunk, file = self._data.make_room(table.num_rows)
        self._data.write(table)
        self._stats.add(stats)
        row: dict[str, object] = {
            "episode_index": self.total_episodes,
            "tasks": [task],
            "length": table.num_rows,
            "data/chunk_index": chunk,
            "data/file_index": file,
            "dataset_from_index": self.total_rows,
            "dataset_to_index": self.total_rows + table.num_rows,
        }
        for name, place in videos.items():
            row[f"videos/{name}/chunk_index"] = place.chunk
            row[f"videos/{name}/file_index"] = place.file
            row[f"videos/{name}/from_timestamp"] = place.from_s
            row[f"videos/{name}/to_timestamp"] = place.to_s
        self._episodes.add(row, stats)

    def finish(self) -> dict[str, object]:
        """Finish tables and statistics; what ``info.json`` says in this version alone."""
        self._data.close()
        self._episodes.close()
        write_tasks(self.root, self.tasks)
        stats = {
            feature: {key: value.tolist() for key, value in values.items()}
            for feature, values in self._stats.stats().items()
        }
        write_json(self.root / "meta/stats.json", stats)
        return {
            "data_files_size_in_mb": DATA_FILE_MB,
            "video_files_size_in_mb": VIDEO_FILE_MB,
            "data_path": DATA_PATH,
            "video_path": VIDEO_PATH if self.videos else None,
        }

    def abandon(self) -> None:
        """Let go of open files; the folder is thrown away."""
        for files in self.videos.values():
            files.abandon()
        self._data.close()
