"""The spans of a stream of labels, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from numpy.typing import NDArray

    from twinloop.checks.measure.observer import Observed

#: Columns of labels that are looked at beyond the stamp.
LABEL_COLUMNS = ("end_ns", "narrated_ns", "start_frame")
_NONE = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class LabelSpans:
    """All labels of a stream, in its order.

    Attributes:
        start_ns, end_ns, narrated_ns (when it was spoken), start_frame: (N,) int64.
    """

    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    narrated_ns: NDArray[np.int64]
    start_frame: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.start_ns)

    @property
    def narrated(self) -> NDArray[np.bool_]:
        """Which labels (N,) say when they were spoken."""
        return self.narrated_ns != _NONE

    @property
    def framed(self) -> NDArray[np.bool_]:
        """Which labels (N,) say the frame that they begin at."""
        return self.start_frame != _NONE

    def overlapping(self) -> NDArray[np.int64]:
        """Rows of labels that begin before an earlier one has ended, by their starts."""
        order = np.argsort(self.start_ns, kind="stable")
        ended = np.maximum.accumulate(self.end_ns[order])
        return order[1:][self.start_ns[order][1:] < ended[:-1]]


class LabelMeter:
    """Gathers `LabelSpans` from blocks of a stream's columns."""

    def __init__(self) -> None:
        self._runs: list[list[NDArray[np.int64]]] = []

    def add(self, block: pa.RecordBatch) -> None:
        """Take in a block of rows."""
        self._runs.append([_integers(block, name) for name in ("stamp_ns", *LABEL_COLUMNS)])

    def finish(self) -> LabelSpans:
        """The spans."""
        start, end, narrated, frame = (np.concatenate(column) for column in zip(*self._runs, strict=True))
        return LabelSpans(start, end, narrated, frame)


def _integers(block: pa.RecordBatch, name: str) -> NDArray[np.int64]:
    if name not in block.schema.names:
        return np.full(block.num_rows, _NONE)
    return np.asarray(block.column(name).cast("int64").fill_null(_NONE), np.int64)


def labelled(observed: Mapping[str, Observed]) -> Iterator[tuple[str, LabelSpans]]:
    """The streams of labels among those that were measured, with their spans."""
    return ((name, seen.labels) for name, seen in observed.items() if seen.labels is not None)
