"""Columns that belong together: ``tx_a, ty_a, tz_a`` as one vector, ``qx, qy, qz, qw`` as one quaternion."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinloop.core.se3 import from_xyzw
from twinloop.formats.arrow_columns import vectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_AXIS = re.compile(r"(.*_|[tnpq]?)x(_.*|\b.*)")
_WORDS = {"t": "translation", "n": "normal", "p": "position", "q": "rotation", "": "xyz"}


def grouped(rows: pa.RecordBatch, names: Sequence[str]) -> dict[str, pa.Array]:
    """The named columns of a table, those of three or four axes put together; quaternions become wxyz."""
    made: dict[str, pa.Array] = {}
    left = dict.fromkeys(names)
    for name in names:
        match = _AXIS.fullmatch(name)
        if match is None or name not in left:
            continue
        axes = [f"{match[1]}{axis}{match[2]}" for axis in "xyzw"]
        turn = match[1] == "q" and all(axis in left for axis in axes)
        members = axes if turn else axes[:3]
        if not all(axis in left for axis in members):
            continue
        values = matrix(rows, members)
        made[_joined(match[1], match[2])] = vectors(from_xyzw(values) if turn else values)
        for axis in members:
            del left[axis]
    return made | {name: rows.column(name) for name in left}


def matrix(rows: pa.RecordBatch, names: Sequence[str]) -> NDArray[np.float64]:
    """Columns side by side, (N, D); cells without a number are NaN."""
    columns = [numbers(rows, name) for name in names]
    return np.stack(columns, axis=1)


def numbers(rows: pa.RecordBatch, name: str) -> NDArray[np.float64]:
    """One column (N,), cells without a number NaN."""
    column = rows.column(name)
    if pa.types.is_string(column.type):
        column = pc.replace_substring_regex(column, r"^\s*$", "nan")
    try:
        column = pc.cast(column, pa.float64(), safe=False)
    except pa.ArrowInvalid:
        column = pa.array([_number(text) for text in column.to_pylist()], pa.float64())
    return np.asarray(column.to_numpy(zero_copy_only=False), np.float64)


def whole(rows: pa.RecordBatch, name: str) -> pa.Array:
    """One column (N,) int64; negative values and cells without a number are absent."""
    from twinloop.formats.time_column import to_ns

    values, valid = to_ns(rows.column(name), "ns")
    return pa.array(values, mask=~valid | (values < 0))


def _joined(before: str, after: str) -> str:
    word = _WORDS.get(before, before)
    return "_".join(part.strip("_") for part in (word, after) if part.strip("_"))


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text is not None else None
    except ValueError:
        return None
