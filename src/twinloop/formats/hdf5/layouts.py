"""Which layout a file has, and the recording that comes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.errors import UnreadableError
from twinloop.formats.hdf5 import act, droid, robomimic
from twinloop.formats.hdf5.mapping import SUFFIX, find_mapping, load_mapping, plan_mapped
from twinloop.formats.hdf5.recording import Hdf5Recording
from twinloop.formats.hdf5.tree import H5_ERRORS, Tree, open_file
from twinloop.formats.notes import Notes

if TYPE_CHECKING:
    from pathlib import Path

    from twinloop.formats.hdf5.plan import Plan

#: Asked in this order: each has `matches(tree)` and `plan(tree, notes)`.
_LAYOUTS = (robomimic, droid, act)


def open_by_layout(path: Path, file: Path, notes: Notes | None = None) -> Hdf5Recording:
    """The recording `path` of the HDF5 file `file`.

    Raises:
        UnreadableError: it does not open, or is of no known layout and has no mapping file.
        MappingError: the mapping file does not parse or does not fit.
    """
    notes = notes or Notes()
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
    mapping = find_mapping(tree.path)
    if mapping is not None:
        return plan_mapped(tree, load_mapping(mapping), mapping, notes)
    for layout in _LAYOUTS:
        if layout.matches(tree):
            return layout.plan(tree, notes)
    shown = ", ".join(f"{a.path} {a.shape}" for a in list(tree.arrays.values())[:8]) or "none that can be read"
    raise UnreadableError(
        f"an HDF5 file of no known layout; its datasets: {shown}",
        where=str(tree.path),
        expected="the layout of robomimic, LIBERO, ALOHA / ACT, OpenArm or DROID",
        fix=f"say what its datasets mean in {tree.path.name}{SUFFIX}: see docs/mapping.md",
    )
