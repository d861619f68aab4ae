"""Sweeps of a log: Feather files of points, and what else is named by its time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.core.errors import UnreadableError
from twinloop.core.kinds import StampSource
from twinloop.core.recording import Problem
from twinloop.formats.av2.tables import CLOCK
from twinloop.formats.feather import read_feather
from twinloop.formats.file_times import FileTimes

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.core.errors import Where
    from twinloop.formats.notes import Notes

#: Digits of a time in nanoseconds that int64 holds for certain.
_DIGITS = 18
#: Arrow's type -> numpy's. Half floats, of which clouds know nothing, become floats exactly.
_TYPES = {
    pa.float16(): "<f4",
    pa.float32(): "<f4",
    pa.float64(): "<f8",
    pa.int8(): "<i1",
    pa.uint8(): "<u1",
    pa.int16(): "<i2",
    pa.uint16(): "<u2",
    pa.int32(): "<i4",
    pa.uint32(): "<u4",
    pa.int64(): "<f8",
}


def files_by_time(folder: Path, suffixes: tuple[str, ...]) -> tuple[list[Path], FileTimes]:
    """The files of a folder whose names are times, in their order, and these times."""
    found = [
        (int(file.stem), file)
        for file in folder.iterdir()
        if file.suffix.lower() in suffixes and file.stem.isdecimal() and len(file.stem) <= _DIGITS
    ]
    found.sort()
    stamps = np.array([stamp for stamp, _ in found], np.int64)
    return [file for _, file in found], FileTimes(stamps, None, StampSource.SENSOR, CLOCK)


def load_sweep(file: Path, notes: Notes, where: Where) -> NDArray[np.void]:
    """The points (P,) of a sweep with all columns that clouds can have."""
    table = read_feather(file).combine_chunks()
    kept = [field for field in table.schema if field.type in _TYPES]
    if left := [field.name for field in table.schema if field.type not in _TYPES]:
        notes.add(Problem.SCHEMA, f"columns of no number are left out: {', '.join(left)}", where)
    if not kept:
        raise UnreadableError("the sweep has no columns of numbers", where=str(file))
    points = np.empty(table.num_rows, np.dtype([(field.name, _TYPES[field.type]) for field in kept]))
    for field in kept:
        points[field.name] = table.column(field.name).to_numpy()
    return points
