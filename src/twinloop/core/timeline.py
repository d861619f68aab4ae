"""Which time of a sample to order it by, and the samples' times on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from twinloop.core.clock import ClockModel
    from twinloop.core.stream import Stream


def timeline_ns(
    stream: Stream, columns: pa.RecordBatch | pa.Table, models: tuple[ClockModel, ...] = ()
) -> NDArray[np.int64]:
    """Times (N,) int64 ns that order a stream's samples among the other streams' of its session.

    It is the column `stream.timeline`. A stamp that is missing or zero there gives way to the recorder's
    time of that sample. Clock models whose source is the column's clock are applied.
    """
    names = columns.schema.names
    column = (
        stream.timeline
        if stream.timeline in names
        else next((c for c in ("log_ns", "stamp_ns") if c in names), None)
    )
    if column is None:
        return np.zeros(columns.num_rows, np.int64)
    times = np.asarray(columns.column(column).fill_null(0), np.int64)
    clock = stream.stamp_clock if column == "stamp_ns" else stream.log_clock
    for model in models:
        if model.source == clock:
            times = np.where(times == 0, 0, model.apply(times))
    if column == "stamp_ns" and "log_ns" in names and (missing := times == 0).any():
        times = np.where(missing, np.asarray(columns.column("log_ns").fill_null(0), np.int64), times)
    return times
