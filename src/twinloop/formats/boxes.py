"""Columns of boxes around things: the kind `detections` made of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.formats.arrow_columns import constant, vectors_or_null, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray


def detections(
    message: ArrayLike,
    category: Sequence[str | None] | pa.Array,
    frame_id: str = "",
    *,
    track: Sequence[str | None] | pa.Array | None = None,
    score: ArrayLike | None = None,
    position: ArrayLike | None = None,
    orientation: ArrayLike | None = None,
    size: ArrayLike | None = None,
    box: ArrayLike | None = None,
    data: Sequence[str] | None = None,
) -> dict[str, pa.Array]:
    """The columns of N boxes after their time columns; vectors (N, K) with NaN in them are none.

    Args:
        message: (N,) the index of the picture or sweep. track: identity over time.
        position: (N, 3) m, the centre. orientation: (N, 4) wxyz. size: (N, 3) m along the box's axes.
        box: (N, 4) px, x_min y_min x_max y_max. data: JSON of what else the source says.
    """
    index = pa.array(np.asarray(message, np.int64))
    columns = {"message": index, "frame_id": constant(frame_id, len(index)), "category": words(category)}
    if track is not None:
        columns["track"] = words(track)
    if score is not None:
        columns["score"] = pa.array(np.asarray(score, np.float64))
    for name, values in (("position", position), ("orientation", orientation), ("size", size), ("box", box)):
        if values is not None:
            columns[name] = vectors_or_null(values)
    if data is not None:
        columns["data"] = pa.array(data, pa.string())
    return columns


def turned(angle: ArrayLike, axis: int) -> NDArray[np.float64]:
    """Quaternions (N, 4) wxyz of turns by `angle` (N,) rad about axis x, y or z (0, 1, 2)."""
    half = np.asarray(angle, np.float64) / 2
    quaternions = np.zeros((len(half), 4))
    quaternions[:, 0], quaternions[:, 1 + axis] = np.cos(half), np.sin(half)
    return quaternions
