"""Samples: the payloads of a track as a batch of columns and bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.core.errors import Where
from twinloop.core.kinds import Kind
from twinloop.core.recording import Problem
from twinloop.core.stream import Batch, Payload
from twinloop.core.timeline import in_window, timeline_ns
from twinloop.formats.time_column import floats_to_ns
from twinloop.formats.vrs.aria import ARRIVED
from twinloop.formats.vrs.kinds import columns_of
from twinloop.formats.vrs.layout import Block

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from twinloop.formats.notes import Notes
    from twinloop.formats.vrs.index import Index
    from twinloop.formats.vrs.loading import Payloads
    from twinloop.formats.vrs.tracks import Track


def batch_of(
    track: Track,
    index: Index,
    payloads: Payloads,
    notes: Notes,
    path: str,
    *,
    start_ns: int | None = None,
    end_ns: int | None = None,
    bulk: bool = True,
) -> Batch | None:
    """The samples of a window as a batch; None where there are none.

    `bulk`: with the bytes of pictures and sound.
    """
    fits = np.flatnonzero(payloads.version == track.version)
    at = payloads.start[fits]
    blocks: list[Block] = []
    for spec in track.format.blocks if track.format else ():
        if spec.layout is None:
            continue
        whole = at + max(spec.layout.head, spec.size or 0) <= payloads.end[fits]
        block = Block(spec.layout, payloads.buffer, at[whole])
        size = np.maximum(block.size, spec.size or 0)
        inside = at[whole] + size <= payloads.end[fits][whole]
        keep = np.flatnonzero(whole)[inside]
        if len(keep) < len(fits):
            fits = fits[keep]
            blocks = [Block(b.layout, b.buffer, b.start[keep]) for b in blocks]
            block = Block(spec.layout, payloads.buffer, at[keep])
        blocks.append(block)
        at = at[keep] + size[inside]
    lost = len(payloads.rows) - len(fits)
    if lost:
        where = Where(path, stream=track.stream.name, byte=int(index.offset[payloads.rows[0]]))
        notes.add(Problem.UNDECODABLE, f"{lost} records do not fit their layout", where, lost)
    if not len(fits):
        return None
    columns = _times(track, index, payloads.rows[fits], blocks)
    if blocks:
        columns |= columns_of(track.stream.kind, blocks[0], track.shape)
    elif track.stream.kind is not Kind.RAW:
        columns |= columns_of(track.stream.kind, _no_fields(len(fits)), track.shape)
    for number, block in enumerate(blocks[1:], 2):
        columns |= {f"{name}_{number}" if name in columns else name: block.arrow(name) for name in block.names}
    rows = pa.RecordBatch.from_pydict(columns)
    chosen = _window(track, rows, start_ns, end_ns)
    if not len(chosen):
        return None
    if len(chosen) < len(fits):
        rows = rows.take(pa.array(chosen))
    payload = None
    if bulk and track.stream.has_payload:
        payload = Payload(payloads.buffer, at[chosen], (payloads.end[fits] - at)[chosen])
    return Batch(track.stream.name, rows, payload)


def _times(track: Track, index: Index, rows: NDArray[np.int64], blocks: list[Block]) -> dict[str, pa.Array]:
    """Device time as the stamp, host time as time of receipt, the record's own beside them.

    A record without a field that says when it was captured is ordered by its own time alone.
    """
    own, known = floats_to_ns(index.entries["timestamp"][rows], "s")
    record = pa.array(own, mask=~known)
    if track.captured is None:
        return {"log_ns": record}
    times = {"stamp_ns": _stamps(blocks[0], track.captured)}
    if blocks[0].is_fixed(ARRIVED):
        arrived = np.asarray(blocks[0].fixed(ARRIVED), np.int64)
        times["log_ns"] = pa.array(arrived, mask=arrived < 0)
    return times | {"record_ns": record}


def _stamps(block: Block, name: str) -> pa.Array:
    if block.is_fixed(name):
        return pa.array(np.asarray(block.fixed(name), np.int64))
    values, offsets = block.vector(name)  # a time for each sample of sound: the first is the record's
    some = np.diff(offsets) > 0
    first = np.zeros(len(block), np.int64)
    first[some] = values[offsets[:-1][some], 0]
    return pa.array(first, mask=~some)


def _window(track: Track, rows: pa.RecordBatch, start_ns: int | None, end_ns: int | None) -> NDArray[np.int64]:
    if start_ns is None and end_ns is None:
        return np.arange(rows.num_rows)
    return np.flatnonzero(in_window(timeline_ns(track.stream, rows), start_ns, end_ns))


def _no_fields(rows: int) -> Block:
    from twinloop.formats.vrs.layout import Layout

    return Block(Layout((), 0, 0), np.zeros(1, np.uint8), np.zeros(rows, np.int64))
