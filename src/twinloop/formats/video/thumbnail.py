"""Small pictures spread evenly over an image stream, for reports and galleries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from twinloop.core.errors import UnreadableError
from twinloop.core.timeline import timeline_ns
from twinloop.formats.video.decode import decode_images
from twinloop.formats.video.pixels import to_pixels
from twinloop.formats.video.still import decode_still

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from twinloop.core.recording import Recording
    from twinloop.core.stream import Batch, Stream

#: Stream encodings whose rows need the rows before them -> FFmpeg's decoder.
_CODED = {"h264": "h264", "h265": "hevc", "hevc": "hevc", "av1": "libdav1d", "vp9": "vp9", "vp8": "vp8"}
#: Access units to try from a chosen time on, before giving that picture up (five seconds at 60 Hz).
_PATIENCE = 300


def thumbnails(
    recording: Recording, stream: str, count: int, width: int = 320
) -> list[tuple[int, NDArray[np.uint8]]]:
    """Up to `count` pictures of an image or depth stream, evenly spread, as (time on its timeline in ns, RGB).

    RGB is uint8 (H, W, 3), at most `width` pixels wide. Depth is shown as gray between its 2nd and 98th
    percentile, near dark. For streams coded between images (h264...) a picture may be later than its place
    by up to a keyframe interval; the time is its own. Rows that do not decode are left out.
    """
    kind = recording.streams[stream]
    chosen = _from_segments(recording, kind, count) if kind.segments else _from_payload(recording, kind, count)
    return [(time, _small(image, width)) for time, image in chosen]


def _from_segments(recording: Recording, stream: Stream, count: int) -> Iterator[tuple[int, NDArray[Any]]]:
    times, segments, pts = [], [], []
    for batch in recording.scan([stream.name], payload=False):
        held = np.asarray(batch.columns.column("pts").is_valid())
        times.append(timeline_ns(stream, batch.columns)[held])
        segments.append(np.asarray(batch.columns.column("segment").drop_null(), np.int64))
        pts.append(np.asarray(batch.columns.column("pts").drop_null(), np.int64))
    if not times:
        return
    time, segment, tick = np.concatenate(times), np.concatenate(segments), np.concatenate(pts)
    rows = _spread(len(time), count)
    for number in np.unique(segment[rows]):
        here = rows[segment[rows] == number]
        try:
            for row, image in decode_images(stream.segments[number], tick[here]):
                yield int(time[here[row]]), image
        except UnreadableError:
            continue


def _from_payload(recording: Recording, stream: Stream, count: int) -> Iterator[tuple[int, NDArray[Any]]]:
    span = _span(recording, stream)
    if span is None or count < 1:
        return
    places = [span[0] + (span[1] - span[0]) * k // count for k in range(count)]
    for start, end in zip(places, [*places[1:], span[1] + 1], strict=True):
        batches = recording.scan([stream.name], start_ns=start, end_ns=end)
        found = _first_picture(stream, batches)
        if found is not None:
            yield found


def _first_picture(stream: Stream, batches: Iterator[Batch]) -> tuple[int, NDArray[Any]] | None:
    """The first row that decodes."""
    import av

    coded = None
    tried = 0
    for batch in batches:
        if batch.payload is None:
            continue
        times = timeline_ns(stream, batch.columns)
        for row, data in enumerate(batch.payload):
            name = str(_cell(batch.columns, "encoding", row, stream.encoding)).lower()
            tried += 1
            if tried > _PATIENCE:
                return None
            if name not in _CODED:
                try:
                    return int(times[row]), _still(batch.columns, row, data, name)
                except UnreadableError:
                    continue
            if coded is None:
                coded = cast("av.VideoCodecContext", av.CodecContext.create(_CODED[name], "r"))
                coded.thread_count = 1
            packet = av.Packet(bytes(data))
            packet.pts = int(times[row])
            try:
                pictures = coded.decode(packet)
            except av.FFmpegError:
                continue
            if pictures:
                return pictures[0].pts or 0, to_pixels(pictures[0])
    try:
        pictures = coded.decode(None) if coded is not None else []
    except av.FFmpegError:
        return None
    return (pictures[0].pts or 0, to_pixels(pictures[0])) if pictures else None


def _still(columns: pa.RecordBatch, row: int, data: memoryview[Any], encoding: str) -> NDArray[Any]:
    width, height, step = (int(_cell(columns, name, row, 0)) for name in ("width", "height", "step"))
    return decode_still(data, encoding, width, height, step, bool(_cell(columns, "is_bigendian", row, False)))


def _cell(columns: pa.RecordBatch, name: str, row: int, default: Any) -> Any:
    """One value, or the default where the column is absent or null."""
    if name not in columns.schema.names:
        return default
    value = columns.column(name)[row].as_py()
    return default if value is None else value


def _span(recording: Recording, stream: Stream) -> tuple[int, int] | None:
    """First and last time, from the index or else from a pass over the times."""
    if stream.start_ns is not None and stream.end_ns is not None:
        return stream.start_ns, stream.end_ns
    first: list[int] = []
    last: list[int] = []
    for batch in recording.scan([stream.name], payload=False):
        times = timeline_ns(stream, batch.columns)
        if len(times):
            first.append(int(times.min()))
            last.append(int(times.max()))
    return (min(first), max(last)) if first else None


def _spread(total: int, count: int) -> NDArray[np.int64]:
    """Up to `count` distinct rows, the middles of as many equal parts."""
    if count < 1:
        return np.empty(0, np.int64)
    return np.unique(((np.arange(count) + 0.5) * total / count).astype(np.int64)) if total else np.arange(0)


def _small(image: NDArray[Any], width: int) -> NDArray[np.uint8]:
    """RGB uint8, at most `width` wide."""
    import av

    if image.ndim == 2:
        image = _as_gray(image)
    if image.shape[1] <= width:
        return np.ascontiguousarray(image)
    height = max(1, round(image.shape[0] * width / image.shape[1]))
    picture = av.VideoFrame.from_ndarray(np.ascontiguousarray(image), "rgb24")
    small = picture.reformat(width=width, height=height, interpolation="AREA", threads=1)
    return to_pixels(small).astype(np.uint8)


def _as_gray(depth: NDArray[Any]) -> NDArray[np.uint8]:
    """Depth (H, W) as RGB gray, scaled between percentiles of what was measured (0 and NaN are holes)."""
    values = depth.astype(np.float32)
    measured = np.isfinite(values) & (values > 0)
    if not measured.any():
        return np.zeros((*depth.shape, 3), np.uint8)
    low, high = np.percentile(values[measured], (2, 98))
    scaled = np.where(measured, (values - low) / max(high - low, 1e-9) * 254 + 1, 0)
    return np.repeat(np.clip(np.nan_to_num(scaled), 0, 255).astype(np.uint8)[:, :, None], 3, axis=2)
