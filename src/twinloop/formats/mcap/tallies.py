"""What MessageIndex records tell of each channel without a chunk being read: spans, counts, sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from twinloop.formats.mcap.chunk import IndexEntries, index_entries
from twinloop.formats.mcap.records import BadRecord

if TYPE_CHECKING:
    from twinloop.formats.mcap.contents import Contents
    from twinloop.formats.mcap.records import ChunkIndex
    from twinloop.formats.mcap.source import Source

#: A file with no more chunks and index bytes than this has all its indexes read when it is opened.
ALL_CHUNKS = 512
ALL_BYTES = 8 << 20


def read_tallies(source: Source, contents: Contents) -> None:
    """Fill in the spans of the channels, of a smaller file their counts and sizes too.

    The span of a channel in a large file is that of the first and the last chunk that hold it, which is
    exact where chunks follow one another in time.
    """
    chunks = contents.chunks
    if not chunks or not all(chunk.channels for chunk in chunks):
        return
    if len(chunks) <= ALL_CHUNKS and sum(chunk.index_length for chunk in chunks) <= ALL_BYTES:
        _all(source, contents)
    else:
        _outermost(source, contents)


def _all(source: Source, contents: Contents) -> None:
    channels, log_ns, sizes = [], [], []
    for chunk in contents.chunks:
        entries = _entries(source, chunk)
        if not len(entries):
            return
        order = np.argsort(entries.offset, kind="stable")
        length = np.diff(np.append(entries.offset[order], chunk.uncompressed_size))
        channels.append(entries.channel[order])
        log_ns.append(entries.log_ns[order])
        sizes.append(length.clip(0) * (chunk.stored / max(chunk.uncompressed_size, 1)))
    channel = np.concatenate(channels)
    order = np.argsort(channel, kind="stable")
    channel = channel[order]
    first = np.flatnonzero(np.diff(channel, prepend=-1))
    count = np.diff(np.append(first, len(channel)))
    times, stored = np.concatenate(log_ns)[order], np.concatenate(sizes)[order]
    for row in zip(
        channel[first].tolist(),
        np.minimum.reduceat(times, first).tolist(),
        np.maximum.reduceat(times, first).tolist(),
        count.tolist(),
        np.add.reduceat(stored, first).tolist(),
        strict=True,
    ):
        tally = contents.tally(row[0])
        tally.widen(row[1], row[2])
        tally.count = row[3] if tally.count is None else tally.count
        tally.bytes = round(row[4])
    contents.counted = contents.counted or not contents.regions


def _outermost(source: Source, contents: Contents) -> None:
    first: dict[int, ChunkIndex] = {}
    last: dict[int, ChunkIndex] = {}
    for chunk in contents.chunks:
        for channel in chunk.channels:
            first.setdefault(channel, chunk)
            last[channel] = chunk
    holders = {chunk.offset: chunk for chunk in (*first.values(), *last.values())}
    for chunk in holders.values():
        entries = _entries(source, chunk)
        for channel in np.unique(entries.channel).tolist():
            if first.get(channel) is chunk or last.get(channel) is chunk:
                mine = entries.log_ns[entries.channel == channel]
                contents.tally(channel).widen(int(mine.min()), int(mine.max()))


def _entries(source: Source, chunk: ChunkIndex) -> IndexEntries:
    try:
        return index_entries(source.read(chunk.offset + chunk.length, chunk.index_length))
    except BadRecord:
        return index_entries(b"")
