"""The reader `hdf5`: opens a file by its layout, or by the mapping file beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.errors import MissingExtraError, UnreadableError

if TYPE_CHECKING:
    from pathlib import Path

    from twinloop.core.recording import Recording
    from twinloop.formats.hdf5.plan import Plan
    from twinloop.formats.hdf5.tree import Tree
    from twinloop.formats.notes import Notes
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
        """A file with HDF5's signature; a folder with trajectory.h5."""
        if head:
            return head.startswith(_MAGIC)
        try:
            with (path / _TRAJECTORY).open("rb") as file:
                return file.read(8) == _MAGIC
        except OSError:
            return False

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

        from twinloop.formats.hdf5.apart import apart

        file = path / _TRAJECTORY if path.is_dir() else path
        return apart(lambda: _open(path, file), file)


def _open(path: Path, file: Path) -> Recording:
    from twinloop.formats.hdf5.recording import Hdf5Recording
    from twinloop.formats.hdf5.tree import H5_ERRORS, Tree, open_file
    from twinloop.formats.notes import Notes

    notes = Notes()
    with open_file(file) as opened:
        try:
            tree = Tree(opened, file, notes)
            plan = _plan(tree, notes)
            if not plan.episodes or not plan.streams:
                raise UnreadableError("the file has no episode with data in it", where=str(file))
            return Hdf5Recording(path, file, plan, tree.arrays, opened, notes)
        except H5_ERRORS as error:
            raise UnreadableError(f"the HDF5 file is damaged: {error}", where=str(file)) from error


def _plan(tree: Tree, notes: Notes) -> Plan:
    from twinloop.formats.hdf5 import act, droid, robomimic
    from twinloop.formats.hdf5.mapping import SUFFIX, find_mapping, load_mapping, plan_mapped

    mapping = find_mapping(tree.path)
    if mapping is not None:
        return plan_mapped(tree, load_mapping(mapping), mapping, notes)
    for layout in (robomimic, droid, act):
        if layout.matches(tree):
            return layout.plan(tree, notes)
    shown = ", ".join(f"{a.path} {a.shape}" for a in list(tree.arrays.values())[:8]) or "none that can be read"
    raise UnreadableError(
        f"an HDF5 file of no known layout; its datasets: {shown}",
        where=str(tree.path),
        expected="the layout of robomimic, LIBERO, ALOHA / ACT, OpenArm or DROID",
        fix=f"say what its datasets mean in {tree.path.name}{SUFFIX}: see docs/mapping.md",
    )


READER = Hdf5Reader()
