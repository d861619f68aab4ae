"""Rows of an image stream against the images of its video files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.checks.measure.bounded import PlaceList, Places

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class ImageRows:
    """How the rows of a stream point into its video files.

    Attributes:
        rows: all rows. without: rows that name no image.
        used: segment number -> rows that name an image of it.
    """

    rows: int
    without: Places
    used: dict[int, int]


class ImageRowsMeter:
    """Measures `ImageRows` from blocks of the columns `segment` and `pts`."""

    def __init__(self) -> None:
        self._rows = 0
        self._without = PlaceList(100_000)
        self._used: dict[int, int] = {}

    def add(self, table: pa.RecordBatch, rows: NDArray[np.int64], times: NDArray[np.int64]) -> None:
        """Take in a block of rows with their numbers and times (N,)."""
        segment, pts = table.column("segment"), table.column("pts")
        has_image = np.asarray(pts.is_valid()) & np.asarray(segment.is_valid())
        self._rows += len(has_image)
        if not has_image.all():
            missing = np.flatnonzero(~has_image)
            self._without.add(rows[missing], times[missing], times[missing])
        numbers, counts = np.unique(np.asarray(segment.fill_null(-1))[has_image], return_counts=True)
        for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
            self._used[number] = self._used.get(number, 0) + count

    def finish(self) -> ImageRows:
        """The measurement."""
        return ImageRows(self._rows, self._without.places(), self._used)
