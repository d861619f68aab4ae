"""Tracks as an MCAP file, in the order in which the recorder got the messages."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from twinloop.testing.ros_messages import definition, messages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from twinloop.testing.track import Track

Compression = Literal["zstd", "lz4", "none"]


@dataclass(frozen=True, slots=True)
class McapOptions:
    """How the file is laid out.

    Attributes:
        chunk_bytes: size at which a chunk is closed; 0 writes messages outside chunks.
        summary: whether index and statistics stand at the end.
        metadata, attachments: records to carry.
    """

    compression: Compression = "zstd"
    chunk_bytes: int = 1 << 20
    summary: bool = True
    metadata: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    attachments: Mapping[str, bytes] = field(default_factory=dict)


def write_mcap(path: Path, tracks: Iterable[Track], options: McapOptions | None = None) -> None:
    """Write tracks to an MCAP file of profile ``ros2``; pictures are made on the way, one at a time."""
    from mcap.writer import CompressionType, IndexType, Writer

    options = options or McapOptions()
    kind = {"zstd": CompressionType.ZSTD, "lz4": CompressionType.LZ4, "none": CompressionType.NONE}
    writer = Writer(
        str(path),
        chunk_size=options.chunk_bytes or 1,
        compression=kind[options.compression],
        use_chunking=options.chunk_bytes > 0,
        use_statistics=options.summary,
        use_summary_offsets=options.summary,
        repeat_channels=options.summary,
        repeat_schemas=options.summary,
        index_types=IndexType.ALL if options.summary else IndexType.NONE,
    )
    writer.start(profile="ros2", library="twinloop")
    tracks = list(tracks)
    schemas: dict[str, int] = {}
    channels = []
    for track in tracks:
        if track.type_name not in schemas:
            data = definition(track.type_name).encode()
            schemas[track.type_name] = writer.register_schema(track.type_name, "ros2msg", data)
        channels.append(writer.register_channel(track.topic, "cdr", schemas[track.type_name]))
    for log_ns, index, row, data in in_log_order(tracks):
        stamp = int(tracks[index].stamp_ns[row])
        writer.add_message(channels[index], log_ns, data, stamp or log_ns, int(tracks[index].seq[row]))
    for name, values in options.metadata.items():
        writer.add_metadata(name, dict(values))
    for name, content in options.attachments.items():
        writer.add_attachment(0, 0, name, "application/octet-stream", content)
    writer.finish()


def in_log_order(tracks: list[Track]) -> Iterator[tuple[int, int, int, bytes]]:
    """All messages as (log_ns, number of the track, row, bytes), merged by log time."""
    return heapq.merge(*(_run(index, track) for index, track in enumerate(tracks)), key=lambda item: item[0])


def _run(index: int, track: Track) -> Iterator[tuple[int, int, int, bytes]]:
    order = np.maximum.accumulate(track.log_ns) if len(track) else track.log_ns
    for row, (log_ns, data) in enumerate(zip(order.tolist(), messages(track), strict=True)):
        yield log_ns, index, row, data
