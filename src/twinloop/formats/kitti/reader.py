"""The reader `kitti`: see the package's page for what it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.errors import UnreadableError
from twinloop.formats.notes import Notes

if TYPE_CHECKING:
    from pathlib import Path

    from twinloop.core.recording import Recording
    from twinloop.formats.reader import ReadOptions


class KittiReader:
    """Object frames, raw drives, tracking labels and detections."""

    name = "kitti"
    title = "KITTI (frames, raw drives, tracking)"
    keeps = "pictures, sweeps, navigation, boxes with identities, calibration; times where there are any"
    loses = "tracklets.xml; of object frames the calibration of the first stands for all"
    extra: str | None = None

    def sniff(self, path: Path, head: bytes) -> bool:
        """A text of boxes; a folder of object frames or of a raw drive."""
        if head:
            from twinloop.formats.kitti.tracking import columns_of

            return columns_of(head) is not None
        return path.is_dir() and (_is_frames(path) or _is_drive(path))

    def open(self, path: Path, options: ReadOptions) -> Recording:  # noqa: ARG002
        """List the files, read times and calibration.

        Raises:
            UnreadableError: none of these is there.
        """
        return self._folder(path) if path.is_dir() else self._text(path)

    def _text(self, path: Path) -> Recording:
        from twinloop.formats.gathered import GatheredRecording
        from twinloop.formats.kitti.tracking import TrackedBoxes, columns_of
        from twinloop.formats.reader import read_head

        columns = columns_of(read_head(path))
        if columns is None:
            raise UnreadableError("the first lines are no boxes of KITTI", where=str(path))
        notes = Notes()
        boxes = TrackedBoxes(path, columns, notes)
        return GatheredRecording(path, self.name, files=(path,), sources=[boxes], notes=notes)

    def _folder(self, path: Path) -> Recording:
        from twinloop.core.calibration import encode_calibration
        from twinloop.formats.gathered import GatheredRecording
        from twinloop.formats.kitti.drive import drive_items, drive_sources
        from twinloop.formats.kitti.object_frames import frame_items, frame_sources

        notes = Notes()
        drive = _is_drive(path)
        sources = list((drive_sources if drive else frame_sources)(path, notes))
        if not sources:
            raise UnreadableError(
                "there are no frames", where=str(path), expected="image_2, velodyne or label_2"
            )
        return GatheredRecording(
            path,
            self.name,
            files=sorted(file for file in path.rglob("*") if file.is_file()),
            sources=sources,
            metadata={"layout": "raw drive" if drive else "object frames"},
            calibration=encode_calibration((drive_items if drive else frame_items)(path, notes)),
            notes=notes,
        )


def _is_frames(path: Path) -> bool:
    """Pictures and either sweeps or labels, named by numbers."""
    from twinloop.formats.kitti.object_frames import PICTURES, SWEEPS, numbered

    if not any((path / name).is_dir() for name in PICTURES):
        return False
    return bool(numbered(path / SWEEPS, (".bin",))[0] or numbered(path / "label_2", (".txt",))[0])


def _is_drive(path: Path) -> bool:
    """A folder of pictures or sweeps with ``data`` and ``timestamps.txt``."""
    places = ("image_00", "image_01", "image_02", "image_03", "velodyne_points", "oxts")
    return any(
        (path / place / "data").is_dir() and (path / place / "timestamps.txt").is_file() for place in places
    )


READER = KittiReader()
