"""What MessageIndex records tell of each channel without a chunk being read: spans, counts, sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from twinloop.formats.mcap.chunk import IndexEntries, index_entries
from twinloop.formats.mcap.records import BadRecord

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    counts: dict[int, int] = {}
    sizes: dict[int, float] = {}
    for chunk in contents.chunks:
        entries = _entries(source, chunk)
        if not len(entries):
            return
        order = np.argsort(entries.offset, kind="stable")
        length = np.diff(np.append(entries.offset[order], chunk.uncompressed_size)).clip(0)
        stored = chunk.stored / max(chunk.uncompressed_size, 1)
        channels, log_ns = entries.channel[order], entries.log_ns[order]
        for channel in np.unique(channels).tolist():
            mine = channels == channel
            _widen(contents, channel, log_ns[mine])
            counts[channel] = counts.get(channel, 0) + int(mine.sum())
            sizes[channel] = sizes.get(channel, 0.0) + float(length[mine].sum()) * stored
    for channel, count in counts.items():
        tally = contents.tally(channel)
        tally.bytes = round(sizes[channel])
        tally.count = count if tally.count is None else tally.count
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
                _widen(contents, channel, entries.log_ns[entries.channel == channel])


def _entries(source: Source, chunk: ChunkIndex) -> IndexEntries:
    try:
        return index_entries(source.read(chunk.offset + chunk.length, chunk.index_length))
    except BadRecord:
        return index_entries(b"")


def _widen(contents: Contents, channel: int, log_ns: NDArray[np.int64]) -> None:
    tally = contents.tally(channel)
    first, last = int(log_ns.min()), int(log_ns.max())
    tally.start_ns = first if tally.start_ns is None else min(tally.start_ns, first)
    tally.end_ns = last if tally.end_ns is None else max(tally.end_ns, last)
