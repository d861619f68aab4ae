"""LeRobot v2.1: one Parquet file and one video a camera for each episode, ``meta/`` in lines of JSON."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING

from twinloop.deliver.lerobot.dataset import DatasetWriter
from twinloop.deliver.lerobot.limits import CHUNKS_SIZE
from twinloop.deliver.lerobot.tables import ChunkedParquet
from twinloop.deliver.lerobot.video_files import CameraFiles

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import IO

    import pyarrow as pa

    from twinloop.deliver.features import FeatureSpec
    from twinloop.deliver.lerobot.stats import FeatureStats
    from twinloop.deliver.lerobot.video_files import VideoPlace

DATA_PATH = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
VIDEO_PATH = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"

#: The statistics that v2.1 keeps; quantiles came with v3.0.
_STATISTICS = ("min", "max", "mean", "std", "count")


class WriterV21(DatasetWriter):
    """Writes ``codebase_version`` v2.1, which lerobot read up to 0.3."""

    version = "v2.1"

    def __init__(
        self,
        root: Path,
        fps: int,
        specs: dict[str, FeatureSpec],
        *,
        robot_type: str | None = None,
        with_success: bool = False,
    ) -> None:
        super().__init__(root, fps, specs, robot_type=robot_type, with_success=with_success)
        self._data = ChunkedParquet(root, DATA_PATH, one_each=True)
        self.videos = {
            name: CameraFiles(root, name, fps, pattern=VIDEO_PATH, one_each=True) for name in self.cameras
        }
        (root / "meta").mkdir(parents=True, exist_ok=True)
        self._open = ExitStack()
        self._episodes = self._open.enter_context(self._lines("episodes"))
        self._stats = self._open.enter_context(self._lines("episodes_stats"))

    def put(
        self,
        table: pa.Table,
        stats: dict[str, FeatureStats],
        task: str,
        videos: dict[str, VideoPlace],  # noqa: ARG002  (an episode's files are named by its index)
        attributes: Mapping[str, str],
    ) -> None:
        """Write the files of the next episode, and its lines in ``meta/``."""
        self._data.make_room(table.num_rows)
        self._data.write(table)
        episode = {"episode_index": self.total_episodes, "tasks": [task], "length": table.num_rows}
        kept = {name: _value(text) for name, text in attributes.items() if name not in episode}
        _add_line(self._episodes, episode | kept)
        known = {
            feature: {key: values[key].tolist() for key in _STATISTICS} for feature, values in stats.items()
        }
        _add_line(self._stats, {"episode_index": self.total_episodes, "stats": known})

    def finish(self) -> dict[str, object]:
        """Finish the tables; what ``info.json`` says in this version alone."""
        self._data.close()
        self._open.close()
        with self._lines("tasks") as lines:
            for index, task in enumerate(self.tasks):
                _add_line(lines, {"task_index": index, "task": task})
        return {
            "total_videos": self.total_episodes * len(self.videos),
            "total_chunks": -(-self.total_episodes // CHUNKS_SIZE),
            "data_path": DATA_PATH,
            "video_path": VIDEO_PATH if self.videos else None,
        }

    def abandon(self) -> None:
        """Let go of open files; the folder is thrown away."""
        for files in self.videos.values():
            files.abandon()
        self._data.close()
        self._open.close()

    def _lines(self, name: str) -> IO[str]:
        return (self.root / f"meta/{name}.jsonl").open("w", encoding="utf-8")


def _add_line(lines: IO[str], content: dict[str, object]) -> None:
    lines.write(json.dumps(content, ensure_ascii=False) + "\n")


def _value(text: str) -> object:
    """What a source's line held: readers keep all but strings as JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return text
