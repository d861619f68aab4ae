"""The reader `hdf5`: opens a file by its layout, or by the mapping file beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.errors import MissingExtraError

if TYPE_CHECKING:
    from pathlib import Path

    from twinloop.core.recording import Recording
    from twinloop.formats.hdf5.folder import EpisodeFiles
    from twinloop.formats.hdf5.recording import Hdf5Recording
    from twinloop.formats.reader import ReadOptions

_MAGIC = b"\x89HDF\r\n\x1a\n"
_TRAJECTORY = "trajectory.h5"


class Hdf5Reader:
    """HDF5: see the package's page for the layouts."""

    name = "hdf5"
    title = "HDF5 (robomimic, LIBERO, ALOHA / ACT, OpenArm, DROID, others by mapping)"
    keeps = "every dataset of one row a step, attributes, filters, instructions; DROID's times apart"
    loses = "capture times where the layout has none (stamps are a grid); links and filters beyond the file"
    extra: str | None = "hdf5"

    def sniff(self, path: Path, head: bytes) -> bool:
        """A file with HDF5's signature; a folder with trajectory.h5, or of nothing but ``episode_N.hdf5``."""
        if head:
            return head.startswith(_MAGIC)
        if _is_hdf5(path / _TRAJECTORY):
            return True
        from twinloop.formats.hdf5.folder import episode_files

        try:
            files = episode_files(path)
        except OSError:
            return False
        return bool(files) and any(map(_is_hdf5, files[:3]))

    def open(self, path: Path, options: ReadOptions) -> Recording:  # noqa: ARG002  (nothing to say)
        """Read the file's groups, attributes and the shapes of its datasets; DROID's videos' packets.

        Raises:
            MissingExtraError: h5py is not installed.
            UnreadableError: it does not open, or is of no known layout and has no mapping file.
            MappingError: the mapping file does not parse or does not fit.
        """
        try:
            import h5py  # noqa: F401
        except ImportError:
            raise MissingExtraError("h5py", "hdf5", "HDF5") from None

        from twinloop.formats.beside.folder import read_beside
        from twinloop.formats.beside.tell import tell
        from twinloop.formats.hdf5.apart import apart
        from twinloop.formats.hdf5.folder import open_folder
        from twinloop.formats.hdf5.layouts import open_by_layout

        file = path / _TRAJECTORY if path.is_dir() else path
        recording: Hdf5Recording | EpisodeFiles
        if path.is_dir() and not file.exists():
            recording, folder = apart(lambda: open_folder(path), path), path / "twinloop"
        else:
            recording = apart(lambda: open_by_layout(path, file), file)
            folder = file.with_name(f"{file.name}.twinloop")
        tell(recording, read_beside(folder, recording.lengths, recording.reader_notes))
        return recording


def _is_hdf5(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(8) == _MAGIC
    except OSError:
        return False


READER = Hdf5Reader()
