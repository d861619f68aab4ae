"""A stream: one sensor's or controller's samples with their own times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from twinloop.core.clock import Clock
from twinloop.core.errors import UsageError
from twinloop.core.kinds import PAYLOAD_KINDS, Kind, Role, StampSource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class VideoSegment:
    """A run of images inside a seekable video file, in display order.

    A row of an image stream that is held in video files names its segment by number (column `segment`)
    and its image by `pts`, in ticks of the segment's `time_base`. The file's own times are for seeking;
    the true times are the stream's time columns.
    """

    file: str
    time_base: tuple[int, int]
    codec: str
    width: int
    height: int
    pix_fmt: str = ""
    images: int | None = None


@dataclass(frozen=True, slots=True)
class Stream:
    """What is known of a stream before its samples are read.

    Attributes:
        name: topic (MCAP, ROS), feature (LeRobot), column or file name.
        kind, role: column layout; part in learning, if known.
        count: samples the index declares; None if the format has no index.
        start_ns, end_ns: first and last time on `timeline`, if the index has them.
        timeline: the time column that orders this stream with the others of its recording.
        stamp_source, stamp_clock, log_clock: what the stamp is and which clocks the columns are on.
        type_name, encoding: the source's own names, e.g. ``sensor_msgs/msg/JointState``, ``cdr``.
        bytes: size of its messages as stored, before decompression, if the index tells.
        rate_hz: the rate that the source declares (None: it declares none).
        units: column -> unit, where the source declares more than the kind's layout.
        attributes: whatever else the source says of the stream, as strings.
        segments: for images held in video files.
    """

    name: str
    kind: Kind
    role: Role | None = None
    count: int | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    timeline: str = "log_ns"
    stamp_source: StampSource = StampSource.NONE
    stamp_clock: Clock = Clock()
    log_clock: Clock = Clock()
    type_name: str = ""
    encoding: str = ""
    bytes: int | None = None
    rate_hz: float | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)
    segments: tuple[VideoSegment, ...] = ()

    @property
    def has_payload(self) -> bool:
        """Whether batches carry a `Payload` (bulk bytes held by reference)."""
        return self.kind in PAYLOAD_KINDS and not self.segments

    @property
    def measured_rate_hz(self) -> float | None:
        """Mean rate from count and span; None where either is unknown or the span is empty."""
        if self.count is None or self.start_ns is None or self.end_ns is None or self.end_ns <= self.start_ns:
            return None
        return (self.count - 1) * 1e9 / (self.end_ns - self.start_ns)


@dataclass(frozen=True, slots=True)
class Payload:
    """Bulk bytes of N samples: `buffer` (B,) uint8 shared by all, `offset` and `length` (N,) int64 into it.

    The buffer may be a view into memory that the reader uses again: it holds until the next batch is
    asked for. Slices outside the buffer are refused on construction.
    """

    buffer: NDArray[np.uint8]
    offset: NDArray[np.int64]
    length: NDArray[np.int64]

    def __post_init__(self) -> None:
        if len(self.offset) != len(self.length):
            raise UsageError("a payload has different numbers of offsets and lengths")
        if len(self.offset) and (
            self.offset.min() < 0
            or self.length.min() < 0
            or (self.offset + self.length).max() > len(self.buffer)
        ):
            raise UsageError("a payload reaches outside its buffer")

    def __len__(self) -> int:
        return len(self.offset)

    def __getitem__(self, row: int) -> memoryview[Any]:
        start = int(self.offset[row])
        return memoryview(self.buffer.data)[start : start + int(self.length[row])]

    def __iter__(self) -> Iterator[memoryview[Any]]:
        view = memoryview(self.buffer.data)
        spans = zip(self.offset.tolist(), self.length.tolist(), strict=True)
        return (view[start : start + length] for start, length in spans)


@dataclass(frozen=True, slots=True)
class Batch:
    """Some consecutive samples of one stream: columns (N rows), and their bulk bytes where the kind has any."""

    stream: str
    columns: pa.RecordBatch
    payload: Payload | None = None

    def __len__(self) -> int:
        return int(self.columns.num_rows)

    def times(self, column: str) -> NDArray[np.int64] | None:
        """A time column (N,) int64 ns, or None where the source has none or any value is missing."""
        if column not in self.columns.schema.names:
            return None
        array = self.columns.column(column)
        return None if array.null_count else array.to_numpy(zero_copy_only=False)
