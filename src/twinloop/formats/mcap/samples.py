"""The first and the last message of each channel: they tell what a stream is like before it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from twinloop.formats.bag.channel import Sample
from twinloop.formats.mcap.chunk import index_entries, message_tape
from twinloop.formats.mcap.contents import Contents, Region
from twinloop.formats.mcap.records import (
    MESSAGE_FIELDS_BYTES,
    MESSAGE_HEADER,
    PREFIX,
    BadRecord,
    ChunkIndex,
    Opcode,
)
from twinloop.formats.mcap.tape import FileTape
from twinloop.formats.mcap.walk import Found, headers_at, walk

if TYPE_CHECKING:
    from twinloop.formats.mcap.source import Source
    from twinloop.formats.mcap.tape import Tape

#: Bytes that looking for samples may decompress or walk, so that a file of any size opens quickly.
BUDGET_BYTES = 48 << 20


def samples(source: Source, contents: Contents, *, last: bool) -> dict[int, Sample]:
    """Channel id -> its first (or last) message in the file's order.

    Channels that are not met within `BUDGET_BYTES` are left out, as are damaged messages.
    """
    counted = contents.counted
    missing = {
        channel
        for channel in contents.channels
        if (contents.tallies[channel].count if channel in contents.tallies else 0 if counted else None) != 0
    }
    found: dict[int, Sample] = {}
    left = BUDGET_BYTES
    parts = contents.parts()
    for part in reversed(parts) if last else parts:
        if not missing or left <= 0:
            break
        if isinstance(part, Region):
            fresh, cost = _of_region(source, contents, part, missing, left, last)
        elif here := (part.channels & missing if part.channels else missing):
            fresh, cost = _of_chunk(source, part, here, left, last)
        else:
            continue
        found |= fresh
        missing -= fresh.keys()
        left -= cost
    return found


def _of_chunk(
    source: Source, chunk: ChunkIndex, wanted: set[int] | frozenset[int], budget: int, last: bool
) -> tuple[dict[int, Sample], int]:
    try:
        tape, size = message_tape(source, chunk)
        if not chunk.channels:
            return _walked(tape, min(size, budget), wanted, last), size
        entries = index_entries(source.read(chunk.offset + chunk.length, chunk.index_length))
    except BadRecord:
        return {}, 0
    places: dict[int, int] = {}
    for channel in wanted:
        offsets = entries.offset[entries.channel == channel]
        if len(offsets):
            places[channel] = int(offsets.max() if last else offsets.min())
    found, cost = {}, 0
    for channel, place in sorted(places.items(), key=lambda item: item[1]):
        if cost > budget:
            break
        sample = _message_at(tape, place, size, channel)
        cost = place
        if sample is not None:
            found[channel] = sample
            cost += len(sample.data)
    return found, cost if chunk.compression else len(places)


def _of_region(
    source: Source, contents: Contents, region: Region, wanted: set[int], budget: int, last: bool
) -> tuple[dict[int, Sample], int]:
    tape, found = FileTape(source), {}
    places = {
        channel: tally.last if last else tally.first
        for channel, tally in contents.tallies.items()
        if channel in wanted
    }
    for channel, place in places.items():
        if place is not None and region.offset <= place < region.end:
            sample = _message_at(tape, place, region.end, channel)
            if sample is not None:
                found[channel] = sample
    if any(place is not None for place in places.values()):
        return found, 0
    if last and region.end - region.offset > budget:
        return {}, 0
    end = min(region.end, region.offset + budget)
    return _walked(tape, end, wanted, last, region.offset), end - region.offset


def _message_at(tape: Tape, at: int, limit: int, channel: int) -> Sample | None:
    raw = bytes(tape.read(at, MESSAGE_HEADER.itemsize))
    if len(raw) < MESSAGE_HEADER.itemsize:
        return None
    header = np.frombuffer(raw, MESSAGE_HEADER)[0]
    size = int(header["length"]) - MESSAGE_FIELDS_BYTES
    start = at + MESSAGE_HEADER.itemsize
    if header["opcode"] != Opcode.MESSAGE or header["channel"] != channel or not 0 <= size <= limit - start:
        return None
    data = bytes(tape.read(start, size))
    return Sample(data, int(header["log_ns"])) if len(data) == size else None


def _walked(
    tape: Tape, end: int, wanted: set[int] | frozenset[int], last: bool, start: int = 0
) -> dict[int, Sample]:
    found: dict[int, Sample] = {}
    for item in walk(tape, start, end, window=1 << 20):
        if not isinstance(item, Found):
            continue
        headers = headers_at(item.buffer, item.positions)
        for channel in np.unique(headers["channel"]).tolist():
            if channel not in wanted or (channel in found and not last):
                continue
            rows = np.flatnonzero(headers["channel"] == channel)
            row = int(rows[-1 if last else 0])
            first = int(item.positions[row]) + MESSAGE_HEADER.itemsize
            after = int(item.positions[row]) + PREFIX.size + int(headers["length"][row])
            found[channel] = Sample(item.buffer[first:after].tobytes(), int(headers["log_ns"][row]))
        if not last and len(found) == len(wanted):
            break
    return found
