"""The reader `argoverse2`: the folder of one sensor log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.errors import TwinloopError, UnreadableError, Where
from twinloop.core.recording import Attachment, Problem
from twinloop.formats.notes import Notes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from twinloop.core.recording import Recording
    from twinloop.formats.gathered import Source
    from twinloop.formats.reader import ReadOptions

_POSES, _BOXES, _FLOW = "city_SE3_egovehicle.feather", "annotations.feather", "flow_labels.feather"
_MEDIA = {".json": "application/json", ".npy": "application/x-npy", ".npz": "application/x-npz"}


class Argoverse2Reader:
    """Argoverse 2 logs: see the package's page."""

    name = "argoverse2"
    title = "Argoverse 2 sensor log"
    keeps = (
        "sweeps with the time of each point, cuboids, poses, pictures, flow, calibration; maps as attachments"
    )
    loses = "nothing"
    extra: str | None = None

    def sniff(self, path: Path, head: bytes) -> bool:
        """A folder with the poses of a vehicle in a city as a Feather file."""
        from twinloop.formats.feather import is_feather

        return not head and path.is_dir() and is_feather(path / _POSES)

    def open(self, path: Path, options: ReadOptions) -> Recording:  # noqa: ARG002
        """List the files and read the times of the tables.

        Raises:
            UnreadableError: none of its streams can be read.
        """
        from twinloop.core.calibration import encode_calibration
        from twinloop.formats.av2.tables import calibration_of
        from twinloop.formats.gathered import GatheredRecording

        notes = Notes()
        sources = list(_sources(path, notes))
        if not sources:
            said = notes.all[0].message if notes.all else "there are no tables and no sweeps"
            raise UnreadableError(f"the log holds nothing that can be read: {said}", where=str(path))
        files = sorted(file for file in path.rglob("*") if file.is_file())
        return GatheredRecording(
            path,
            self.name,
            files=files,
            sources=sources,
            metadata={"log_id": path.name},
            attachments=tuple(
                Attachment(
                    str(file.relative_to(path)), _MEDIA[file.suffix], file.stat().st_size, None, str(file)
                )
                for file in files
                if file.suffix in _MEDIA
            ),
            calibration=encode_calibration(calibration_of(path / "calibration", notes)),
            notes=notes,
        )


def _sources(path: Path, notes: Notes) -> Iterator[Source]:
    from twinloop.formats.av2.sweeps import files_by_time, load_sweep
    from twinloop.formats.av2.tables import EGO, Cuboids, EgoPoses, PlainRows
    from twinloop.formats.image_files import ImageFiles
    from twinloop.formats.point_files import PointFiles

    if (path / "sensors/lidar").is_dir():
        sweeps, times = files_by_time(path / "sensors/lidar", (".feather",))
        if sweeps:
            yield PointFiles("lidar", sweeps, times, load_sweep, notes, frame_id=EGO)
    for camera in _folders(path / "sensors/cameras"):
        pictures, times = files_by_time(camera, (".jpg", ".jpeg", ".png"))
        if pictures:
            yield ImageFiles(camera.name, pictures, times, notes, frame_id=camera.name)
    tables: dict[str, Callable[[Path, Notes], Source]] = {_BOXES: Cuboids, _POSES: EgoPoses, _FLOW: PlainRows}
    for name, make in tables.items():
        file = path / name
        if file.is_file():
            try:
                yield make(file, notes)
            except TwinloopError as error:
                notes.add(Problem.CORRUPT, error.what, Where(file=str(file)), None)


def _folders(path: Path) -> list[Path]:
    return sorted(folder for folder in path.iterdir() if folder.is_dir()) if path.is_dir() else []


READER = Argoverse2Reader()
