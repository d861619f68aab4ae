"""An image stream on its way into video files: which file, which pts, for every row."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from twinloop.core.errors import UnreadableError
from twinloop.store.decoders import open_decoder
from twinloop.store.display_order import DisplayOrder, ReorderedError
from twinloop.store.image_runs import LUMA_SECOND, Shape, runs
from twinloop.store.image_stats import ImageSampler
from twinloop.store.media import IN_MP4, EncodedFile, MediaError, MediaFile, PacketFile
from twinloop.store.packets import read_access

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.core.stream import Payload, VideoSegment
    from twinloop.store.manifest import SegmentFacts

#: Raw layouts that a lossy codec may take where the user chose one: pictures, never measurements.
_LOSSY_LAYOUTS = frozenset({"rgb24", "bgr24", "rgba", "bgra", "gray", "yuyv422"})


@dataclass(slots=True)
class _Placed:
    """For each row its segment (-1: none), pts, and whether it is a keyframe."""

    segment: NDArray[np.int32]
    pts: NDArray[np.int64]
    keyframe: NDArray[np.bool_]

    @classmethod
    def nowhere(cls, rows: int) -> _Placed:
        return cls(np.full(rows, -1, np.int32), np.zeros(rows, np.int64), np.zeros(rows, bool))

    def columns(self) -> dict[str, pa.Array]:
        missing = self.segment < 0
        return {
            "segment": pa.array(self.segment, mask=missing),
            "pts": pa.array(self.pts, mask=missing),
            "keyframe": pa.array(self.keyframe, mask=missing),
        }


class ImageSink:
    """Writes the images of one stream into ``<folder>/<stem>.mp4|mkv``, ``<stem>.2...``.

    A new file begins where encoding, size or parameter sets change. Rows without a usable image (no bytes,
    fewer than the size asks for, no keyframe yet) get no pts and are counted in `unused`, by reason.

    Attributes:
        files: the finished files, in the order of their segments.
    """

    def __init__(
        self, folder: Path, stem: str, *, lossy: bool = False, order: DisplayOrder | None = None
    ) -> None:
        self._folder = folder
        self._stem = stem
        self._lossy = lossy
        self._order = order
        self._rows = 0
        self._first_pts = 0
        self._current: MediaFile | None = None
        self._shape: Shape | None = None
        self.files: list[MediaFile] = []
        self.sampler = ImageSampler()
        self.unused: Counter[str] = Counter()

    @staticmethod
    def takes(columns: pa.RecordBatch, payload: Payload) -> bool | None:
        """Whether a stream that begins with this batch can be held as video; None: no image to judge by."""
        for _, _, shape in runs(columns, payload, list(payload)):
            if shape is not None:
                return bool(shape.codec)
        return None

    def append(
        self, columns: pa.RecordBatch, payload: Payload, times_ns: NDArray[np.int64]
    ) -> dict[str, pa.Array]:
        """Add images; the columns `segment`, `pts` and `keyframe` of their rows.

        Raises:
            MediaError: FFmpeg refuses them.
            ReorderedError: they are video packets in another order than shown, and no order was given.
        """
        import av

        placed = _Placed.nowhere(len(payload))
        images = list(payload)
        try:
            for start, stop, shape in runs(columns, payload, images):
                if shape is None:
                    self.unused["no bytes"] += stop - start
                elif not shape.codec:
                    self.unused[f"encoding {shape.encoding or 'unknown'} in a stream of another"] += (
                        stop - start
                    )
                elif shape.depends:
                    self._append_dependent(range(start, stop), shape, images, times_ns, placed)
                else:
                    self._append_run(range(start, stop), shape, images, times_ns, placed)
        except (av.FFmpegError, ValueError) as error:
            raise MediaError(f"images of {self._stem} cannot be muxed: {error}") from error
        self._rows += len(payload)
        return placed.columns()

    def _append_run(
        self,
        rows: range,
        shape: Shape,
        images: Sequence[memoryview[Any]],
        times_ns: NDArray[np.int64],
        placed: _Placed,
    ) -> None:
        file = self._file_for(shape)
        times = times_ns[rows.start : rows.stop]
        ticks = file.ticks.of(times)
        sampled = self.sampler.choose(times)
        used = np.ones(len(rows), bool)
        if isinstance(file, PacketFile):
            for image, tick in zip(images[rows.start : rows.stop], ticks.tolist(), strict=True):
                file.append(image, tick)
            for place in sampled:
                self.sampler.add_packet(shape.codec, images[rows[place]], int(times[place]))
        else:
            assert isinstance(file, EncodedFile)
            for place, (row, tick) in enumerate(zip(rows, ticks.tolist(), strict=True)):
                pixels = self._raw_image(images[row], shape)
                if pixels is None:
                    used[place] = False
                    continue
                file.append(pixels, shape.layout, tick)
                if place in sampled:
                    self.sampler.add_raw(pixels, shape.layout, int(times[place]))
        some = np.arange(rows.start, rows.stop)[used]
        placed.segment[some] = len(self.files)
        placed.pts[some] = ticks[used]
        placed.keyframe[some] = True

    def _append_dependent(
        self,
        rows: range,
        shape: Shape,
        images: Sequence[memoryview[Any]],
        times_ns: NDArray[np.int64],
        placed: _Placed,
    ) -> None:
        for row in rows:
            access = read_access(shape.codec, bytes(images[row]))
            before = self._current
            file = self._packet_file(shape, access.data, access.keyframe, access.parameters)
            if self._order is not None and file is not before:
                self._first_pts = int(self._order.pts[self._rows + row])
            if file is None:
                self.unused["before the first keyframe with its parameter sets"] += 1
                continue
            if self._order is not None:
                tick = int(self._order.pts[self._rows + row]) - self._first_pts
                decode_tick = int(self._order.dts[self._rows + row]) - self._first_pts
            elif access.b_slices or file.has_b_frames:
                raise ReorderedError(f"{self._stem} has video packets in another order than shown")
            else:
                tick = decode_tick = int(file.ticks.of(times_ns[row : row + 1])[0])
            file.append(access.data, tick, access.keyframe, decode_tick)
            placed.segment[row], placed.pts[row] = len(self.files), tick
            placed.keyframe[row] = access.keyframe
            if access.keyframe and self.sampler.choose(times_ns[row : row + 1]):
                self.sampler.add_packet(shape.codec, access.data, int(times_ns[row]), file.parameters)

    def _packet_file(self, shape: Shape, data: bytes, keyframe: bool, parameters: bytes) -> PacketFile | None:
        """The file for a packet: the current one, or at a keyframe with other parameter sets a new one."""
        current = self._current
        if isinstance(current, PacketFile) and self._shape == shape:
            if not keyframe or not parameters or parameters == current.parameters:
                return current
        elif not keyframe:
            return None
        needs_parameters = shape.codec in ("h264", "hevc", "av1")
        if needs_parameters and not parameters:
            return None
        probe = _probe(shape.codec, data, parameters)
        if probe is None:
            return None
        size, pix_fmt, has_b_frames = probe
        self._finish_current()
        file = PacketFile(
            self._path(shape.codec),
            shape.codec,
            size,
            pix_fmt=pix_fmt,
            parameters=parameters,
            has_b_frames=has_b_frames,
        )
        self._current, self._shape = file, shape
        return file

    def _file_for(self, shape: Shape) -> MediaFile:
        if self._current is not None and self._shape == shape:
            return self._current
        self._finish_current()
        size = (shape.width, shape.height)
        if shape.codec == "ffv1":
            lossy = self._lossy and shape.layout in _LOSSY_LAYOUTS and not (shape.width | shape.height) & 1
            path = self._path("h264" if lossy else "ffv1")
            self._current = EncodedFile(path, size, shape.pix_fmt, lossy=lossy)
        else:
            self._current = PacketFile(self._path(shape.codec), shape.codec, size)
        self._shape = shape
        return self._current

    def _path(self, codec: str) -> Path:
        suffix = "mp4" if codec in IN_MP4 else "mkv"
        number = len(self.files) + 1
        return self._folder / (f"{self._stem}.{suffix}" if number == 1 else f"{self._stem}.{number}.{suffix}")

    def _raw_image(self, data: memoryview[Any], shape: Shape) -> NDArray[Any] | None:
        from twinloop.formats.video.still import raw_pixels

        try:
            pixels = raw_pixels(data, shape.encoding, shape.width, shape.height, shape.step, shape.big_endian)
        except UnreadableError:
            self.unused["fewer bytes than its size asks for"] += 1
            return None
        if shape.encoding.lower() in LUMA_SECOND:
            pixels = pixels[:, :, ::-1]
        return np.ascontiguousarray(pixels)

    def _finish_current(self) -> None:
        if self._current is None:
            return
        self._current.finish()
        self.files.append(self._current)
        self._current = self._shape = None

    def close(self) -> None:
        """Close and check the last file."""
        self._finish_current()

    def segments(self, places: list[str]) -> tuple[VideoSegment, ...]:
        """The files as segments, at their places in the store."""
        return tuple(file.segment(place) for file, place in zip(self.files, places, strict=True))

    def facts(self) -> tuple[SegmentFacts, ...]:
        """What an export must know of each file."""
        return tuple(file.facts() for file in self.files)


def _probe(codec: str, data: bytes, parameters: bytes) -> tuple[tuple[int, int], str, bool] | None:
    """((width, height), pix_fmt, has_b_frames) from decoding a keyframe; None if it does not decode."""
    import av

    context = open_decoder(codec, parameters)
    try:
        pictures = [*context.decode(av.Packet(data)), *context.decode(None)]
    except av.FFmpegError:
        return None
    if not pictures:
        return None
    picture = pictures[0]
    return (picture.width, picture.height), picture.format.name, bool(context.has_b_frames)
