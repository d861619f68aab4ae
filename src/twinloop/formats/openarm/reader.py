"""The reader `openarm`: opens a dataset by its metadata and its files' footers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from twinloop.core.recording import Recording
    from twinloop.formats.reader import ReadOptions


class OpenArmReader:
    """OpenArm datasets: 0.3.0, and those without a version."""

    name = "openarm"
    title = "OpenArm dataset (Parquet and pictures)"
    keeps = "every sample with its own time, pictures, success flags, tasks, declared rates"
    loses = "units: none are declared for joints"
    extra: str | None = None

    def sniff(self, path: Path, head: bytes) -> bool:
        """A folder with metadata.yaml that speaks of equipment, and an episode of obs/ or action/."""
        if head:
            return False
        try:
            with (path / "metadata.yaml").open("rb") as file:
                if b"equipment" not in file.read(1 << 20):
                    return False
            episodes = (child for child in (path / "episodes").iterdir() if child.is_dir())
            return any((child / side).is_dir() for child in episodes for side in ("obs", "action"))
        except OSError:
            return False

    def open(self, path: Path, options: ReadOptions) -> Recording:  # noqa: ARG002  (nothing to say)
        """Read metadata.yaml, the footers of the Parquet files, the names of the pictures.

        Raises:
            UnreadableError: metadata.yaml cannot be read, or not one episode is there.
        """
        from twinloop.core.errors import UnreadableError
        from twinloop.formats.openarm.dataset import open_dataset

        if not (path / "episodes").is_dir():
            raise UnreadableError("the dataset has no folder episodes/", where=str(path))
        return open_dataset(path)


READER = OpenArmReader()
