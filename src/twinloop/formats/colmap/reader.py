"""The reader `colmap`: the folder of a sparse model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.errors import TwinloopError, UnreadableError, Where
from twinloop.core.recording import Problem
from twinloop.formats.notes import Notes

if TYPE_CHECKING:
    from pathlib import Path

    from twinloop.core.calibration import CameraCalibration
    from twinloop.core.recording import Recording
    from twinloop.formats.gathered import Source
    from twinloop.formats.reader import ReadOptions

_HEAD = 4096


class ColmapReader:
    """Sparse models: see the package's page."""

    name = "colmap"
    title = "COLMAP sparse model"
    keeps = "cameras, poses and names of the images, points with colour and error"
    loses = "which image saw which point, rigs and frames: they are kept in the raw files"
    extra: str | None = None

    def sniff(self, path: Path, head: bytes) -> bool:
        """A folder with cameras and images, both as text or both binary."""
        return not head and path.is_dir() and _suffix(path) is not None

    def open(self, path: Path, options: ReadOptions) -> Recording:  # noqa: ARG002
        """Read cameras and images, and how many points there are.

        Raises:
            UnreadableError: there is no list of cameras and images, or neither reads.
        """
        from twinloop.core.calibration import encode_calibration
        from twinloop.formats.colmap.images import image_poses
        from twinloop.formats.colmap.points import PointCloud
        from twinloop.formats.gathered import GatheredRecording

        suffix = _suffix(path)
        if suffix is None:
            raise UnreadableError(
                "there is no sparse model", where=str(path), expected="cameras, images, points3D"
            )
        notes = Notes()
        cameras = _cameras(path / f"cameras{suffix}", notes)
        images = image_poses(path / f"images{suffix}", notes)
        sources: list[Source] = [images]
        points = path / f"points3D{suffix}"
        if points.is_file():
            sources.append(PointCloud(points, notes))
        else:
            notes.add(Problem.MISSING_FILE, "there are no points", Where(file=str(points)), None)
        if not images.stream.count and not cameras:
            raise UnreadableError("neither cameras nor images can be read", where=str(path))
        return GatheredRecording(
            path,
            self.name,
            files=sorted(file for file in path.iterdir() if file.suffix == suffix and file.is_file()),
            sources=sources,
            metadata={"form": suffix.lstrip(".")},
            calibration=encode_calibration(cameras),
            notes=notes,
        )


def _cameras(path: Path, notes: Notes) -> list[CameraCalibration]:
    """The cameras up to the first that does not read, which is noted."""
    from twinloop.formats.colmap.cameras import read_cameras

    found = []
    try:
        for camera in read_cameras(path):
            found.append(camera)  # noqa: PERF402  (what came before the fault is kept)
    except (TwinloopError, OSError) as error:
        what = error.what if isinstance(error, TwinloopError) else str(error)
        notes.add(Problem.CORRUPT, what, Where(file=str(path)), None)
    return found


def _suffix(path: Path) -> str | None:
    """``.bin`` or ``.txt``, in which the model is held."""
    from twinloop.formats.colmap.cameras import is_camera_list

    for suffix in (".bin", ".txt"):
        try:
            if (path / f"images{suffix}").is_file():
                with (path / f"cameras{suffix}").open("rb") as file:
                    if is_camera_list(file.read(_HEAD), suffix == ".bin"):
                        return suffix
        except OSError:
            continue
    return None


READER = ColmapReader()
