"""The reader `lerobot`: opens a dataset by its metadata alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.errors import UnreadableError

if TYPE_CHECKING:
    from pathlib import Path

    from twinloop.core.recording import Recording
    from twinloop.formats.reader import ReadOptions


class LeRobotReader:
    """LeRobot v2.0, v2.1, v3.0: a folder with meta/info.json."""

    name = "lerobot"
    title = "LeRobot dataset (v2.x, v3.0)"
    keeps = "every feature, video and image, tasks, language, episodes; wrong paths and counts are noted"
    loses = "capture times: LeRobot keeps none (stamps are its grid); statistics are left to their files"
    extra: str | None = None

    def sniff(self, path: Path, head: bytes) -> bool:
        """A folder whose meta/info.json names a codebase_version."""
        if head:
            return False
        try:
            with (path / "meta" / "info.json").open("rb") as file:
                return b'"codebase_version"' in file.read(1 << 20)
        except OSError:
            return False

    def open(self, path: Path, options: ReadOptions) -> Recording:  # noqa: ARG002  (nothing to say)
        """Read info.json, the episodes, the tasks, one parquet schema and the video files' headers.

        Raises:
            UnreadableError: info.json does not parse, is of an unknown version, or no data file is there.
        """
        from twinloop.formats.lerobot.dataset import open_dataset

        if not path.is_dir():
            raise UnreadableError(
                "a LeRobot dataset is a folder", where=str(path), expected="meta/info.json in it"
            )
        return open_dataset(path)


READER = LeRobotReader()
