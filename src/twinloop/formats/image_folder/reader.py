"""The reader `image-folder`: pictures in files of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.errors import UnreadableError
from twinloop.formats.notes import Notes

if TYPE_CHECKING:
    from pathlib import Path

    from twinloop.core.recording import Recording
    from twinloop.formats.reader import ReadOptions


class ImageFolderReader:
    """Folders of pictures: see the package's page."""

    name = "image-folder"
    title = "Pictures in a folder"
    keeps = "every picture as encoded, times or numbers from the names, calibration that lies beside"
    loses = "nothing; most such folders have no times"
    extra: str | None = None

    def sniff(self, path: Path, head: bytes) -> bool:
        """A folder of PNG or JPEG files, without folders in it, and of not much else."""
        if head or not path.is_dir():
            return False
        from twinloop.formats.image_folder.grouping import pictures_of

        return bool(pictures_of(path))

    def open(self, path: Path, options: ReadOptions) -> Recording:  # noqa: ARG002
        """Sort the files into streams and read the header of the first of each.

        Raises:
            UnreadableError: there are no pictures.
        """
        from twinloop.formats.calibrations.beside import calibration_files, read_beside
        from twinloop.formats.gathered import GatheredRecording
        from twinloop.formats.image_files import ImageFiles
        from twinloop.formats.image_folder.grouping import groups_of, pictures_of

        pictures = pictures_of(path)
        if not pictures:
            raise UnreadableError("the folder holds no pictures", where=str(path), expected="PNG or JPEG files")
        notes = Notes()
        groups = groups_of(pictures)
        calibrated = calibration_files(path)
        calibration, facts = read_beside(calibrated, [group.name for group in groups], notes)
        missing = {f"numbers_missing/{group.name}": group.missing for group in groups if group.missing}
        return GatheredRecording(
            path,
            self.name,
            files=(*pictures, *(file for file in calibrated if file.parent == path)),
            sources=[ImageFiles(group.name, group.files, group.times, notes) for group in groups],
            metadata=missing | facts,
            calibration=calibration,
            notes=notes,
        )


READER = ImageFolderReader()
