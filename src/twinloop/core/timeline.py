"""Which time of a sample to order it by, and the samples' times on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.stream import Batch, Payload

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


def in_window(times_ns: NDArray[np.int64], start_ns: int | None, end_ns: int | None) -> NDArray[np.bool_]:
    """Which of some times (N,) int64 ns lie in [start_ns, end_ns); None: no limit."""
    inside = np.ones(len(times_ns), np.bool_)
    if start_ns is not None:
        inside &= times_ns >= start_ns
    if end_ns is not None:
        inside &= times_ns < end_ns
    return inside


def cut_to_window(stream: Stream, batch: Batch, start_ns: int | None, end_ns: int | None) -> Batch | None:
    """The rows of a batch in [start_ns, end_ns) of the stream's timeline; None where there are none.

    Rows without any time are at zero.
    """
    if start_ns is None and end_ns is None:
        return batch if len(batch) else None
    import pyarrow as pa

    keep = in_window(timeline_ns(stream, batch.columns), start_ns, end_ns)
    if keep.all():
        return batch if len(batch) else None
    if not keep.any():
        return None
    bulk = batch.payload
    if bulk is not None:
        bulk = Payload(bulk.buffer, bulk.offset[keep], bulk.length[keep])
    return Batch(batch.stream, batch.columns.filter(pa.array(keep)), bulk)
