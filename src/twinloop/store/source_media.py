"""Images that already lie in seekable video files of the source: looked into, sampled, pointed to."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.core.errors import TwinloopError
from twinloop.core.timeline import timeline_ns
from twinloop.store.image_stats import ImageSampler
from twinloop.store.manifest import SegmentFacts
from twinloop.store.streams import write_stats

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from twinloop.core.stream import VideoSegment
    from twinloop.formats.video.probe import PacketIndex
    from twinloop.store.manifest import StreamEntry
    from twinloop.store.raw_files import RawFiles
    from twinloop.store.streams import Layout


def adopt_segments(entry: StreamEntry, raw: RawFiles, layout: Layout) -> StreamEntry:
    """The entry with its segments' facts, sampled image statistics, and files as places of the store.

    A video that does not open is left as the source describes it: the reader's notes and the checks tell.
    """
    from twinloop.formats.video.probe import packet_index

    sampler = ImageSampler()
    facts = []
    rows = _rows(entry, layout)
    for number, segment in enumerate(entry.stream.segments):
        try:
            index = packet_index(segment.file)
        except TwinloopError:
            facts.append(SegmentFacts(0, 0, 0))
            continue
        facts.append(_facts(index))
        _sample(sampler, segment, number, index, rows)
    return replace(
        entry,
        stream=replace(
            entry.stream,
            segments=tuple(
                replace(segment, file=raw.place(segment.file) or str(Path(segment.file).absolute()))
                for segment in entry.stream.segments
            ),
        ),
        segments=tuple(facts),
        image_stats=write_stats(layout, Path(entry.tables[0].key).stem if entry.tables else "images", sampler),
    )


def _facts(index: PacketIndex) -> SegmentFacts:
    starts = np.append(np.flatnonzero(index.keyframe), len(index))
    return SegmentFacts(
        images=len(index.images),
        keyframes=int(index.keyframe.sum()),
        longest_gop=int(np.diff(starts).max(initial=0)),
        has_b_frames=index.has_b_frames,
        parameters_sha256=hashlib.sha256(index.extradata).hexdigest() if index.extradata else "",
    )


def _rows(entry: StreamEntry, layout: Layout) -> tuple[NDArray[np.int64], ...]:
    """(segment, pts, time) of every row that has an image."""
    import pyarrow.parquet as pq

    names = ("segment", "pts", "stamp_ns", "publish_ns", "log_ns")
    parts = []
    for table in entry.tables:
        file = pq.ParquetFile(layout.staging / table.key)
        columns = file.read([name for name in names if name in file.schema_arrow.names], use_threads=False)
        if not {"segment", "pts"} <= set(columns.schema.names):
            continue
        times = timeline_ns(entry.stream, columns)
        segment, pts = (
            np.asarray(columns.column(n).cast(pa.int64()).fill_null(-1)) for n in ("segment", "pts")
        )
        there = segment >= 0
        parts.append((segment[there], pts[there], times[there]))
    if not parts:
        return (np.empty(0, np.int64),) * 3
    return tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


def _sample(
    sampler: ImageSampler,
    segment: VideoSegment,
    number: int,
    index: PacketIndex,
    rows: tuple[NDArray[np.int64], ...],
) -> None:
    from twinloop.formats.video.decode import decode_images

    of_segment, pts, times = rows
    mine = (of_segment == number) & np.isin(pts, index.pts[index.keyframe])
    pts, times = pts[mine], times[mine]
    chosen = sampler.choose(times)
    try:
        for place, picture in decode_images(segment, pts[chosen]):
            sampler.add_picture(picture, int(times[chosen[place]]))
    except TwinloopError:
        return
