"""The times of a store's steps: whole nanoseconds before seconds in floats before a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from twinloop.core.errors import Where
from twinloop.formats.steps.grid import StepGrid
from twinloop.formats.steps.stamps import Stamps
from twinloop.formats.steps.times import TIMESTAMP_NS, StepTimes, agreed, timed
from twinloop.formats.time_column import floats_to_ns
from twinloop.formats.zarr.chunks import ROW_NS

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.formats.notes import Notes
    from twinloop.formats.steps.arrays import Array
    from twinloop.formats.zarr.written import Written

_WHOLE = (ROW_NS, f"data/{TIMESTAMP_NS}")
_SECONDS = "data/timestamp"


def steps_of(
    group: Any, arrays: dict[str, Array], ends: NDArray[np.int64], written: Written, path: Path, notes: Notes
) -> tuple[StepGrid, str | None]:
    """The times of all steps, and the array that is nothing but they."""
    grid = StepGrid(np.diff(ends, prepend=0), written.rate_hz)
    stamps = agreed(written.stamps)
    if not stamps.are_true:  # whatever is there counts steps
        return grid, None
    for key in _WHOLE:
        array = arrays.get(key)
        if array is not None and array.dtype.kind in "iu" and _is_one_a_row(array, ends):
            made = _timed(grid, _read(group, key, ends), ends, stamps, key, path, notes)
            if made is not None:
                return made, key
    array = arrays.get(_SECONDS)
    if array is not None and array.dtype.kind == "f" and _is_one_a_row(array, ends):
        seconds = _read(group, _SECONDS, ends)
        if seconds is not None:
            times, valid = floats_to_ns(seconds.astype(np.float64), "s")
            if valid.all() and (np.diff(times) >= 0).all():
                made = _timed(grid, times, ends, stamps, f"{_SECONDS}, s", path, notes)
                return made or grid, None
    return grid, None


def _is_one_a_row(array: Array, ends: NDArray[np.int64]) -> bool:
    return array.shape[1:] in ((), (1,)) and len(ends) > 0 and array.rows >= ends[-1] > 0


def _read(group: Any, key: str, ends: NDArray[np.int64]) -> NDArray[Any] | None:
    try:
        return np.asarray(group[key][: ends[-1]]).reshape(-1)
    except Exception:  # codecs raise whatever they meet; noted where its rows are read
        return None


def _timed(
    grid: StepGrid,
    times: NDArray[Any] | None,
    ends: NDArray[np.int64],
    stamps: Stamps,
    told: str,
    path: Path,
    notes: Notes,
) -> StepTimes | None:
    if times is None:
        return None
    episodes = np.split(times.astype(np.int64), ends[:-1])
    made = timed(grid, episodes, stamps, told, notes, Where(file=str(path), stream=told))
    return made if isinstance(made, StepTimes) else None
