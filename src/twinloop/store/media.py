"""Video files of the store: packets put in unchanged, or images encoded without loss; checked after closing.

The files' own times are for players and for seeking: real time where it runs forward, steps of a tick where
it does not, so that every image has its own pts. The true times stand in the stream's table.
"""

from __future__ import annotations

import hashlib
import io
import zlib
from abc import ABC, abstractmethod
from array import array
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from twinloop.core.errors import TwinloopError
from twinloop.core.stream import VideoSegment
from twinloop.store.manifest import SegmentFacts
from twinloop.store.packets import essence

if TYPE_CHECKING:
    from pathlib import Path

    import av
    from numpy.typing import NDArray

MP4_BASE = Fraction(1, 90_000)
MKV_BASE = Fraction(1, 1000)
#: Codecs whose packets go into MP4; the others' into Matroska (PNG is none that FFmpeg lets in there).
IN_MP4 = frozenset({"h264", "hevc", "av1", "png"})
_LONGEST_STEP_NS = 10_000_000_000
_FIRST_STEP_NS = 33_333_333


class MediaError(TwinloopError):
    """Images could not be held in a video file; the stream must be held in another way."""


class Ticks:
    """Strictly increasing pts for images at any times: their true steps, cut to between a tick and 10 s."""

    def __init__(self, base: Fraction) -> None:
        self._per_s = base.denominator // base.numerator
        self._last_time: int | None = None
        self._run_ns = 0
        self._last_tick = -1

    def of(self, times_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Ticks (N,) int64 of the next N images."""
        if not len(times_ns):
            return np.empty(0, np.int64)
        before = times_ns[0] if self._last_time is None else self._last_time
        steps = np.clip(np.diff(times_ns, prepend=before), 0, _LONGEST_STEP_NS)
        run = self._run_ns + np.cumsum(steps)
        seconds, rest = np.divmod(run, 1_000_000_000)
        ticks = seconds * self._per_s + rest * self._per_s // 1_000_000_000
        ramp = np.arange(1, len(ticks) + 1)
        ticks = np.maximum(np.maximum.accumulate(ticks - ramp), self._last_tick) + ramp
        self._last_time, self._run_ns, self._last_tick = int(times_ns[-1]), int(run[-1]), int(ticks[-1])
        return ticks


class MediaFile(ABC):
    """One video file being written."""

    def __init__(self, path: Path, container: str, base: Fraction, codec: str, size: tuple[int, int]) -> None:
        import av

        self.path = path
        self.codec = codec
        self.width, self.height = size
        self.base = base
        self.pix_fmt = ""
        self.ticks = Ticks(base)
        self._written = array("q")
        self._dependent = array("q")
        self._step = max(int(_FIRST_STEP_NS * base.denominator // 1_000_000_000), 1)
        # bitexact: no random ids or dates, so that the same images make the same file.
        self._output = av.open(str(path), "w", format=container, options={"fflags": "+bitexact"})

    def _mux(
        self, packet: av.Packet, tick: int, keyframe: bool, track: Any, decode_tick: int | None = None
    ) -> None:
        written = self._written
        if written:
            # FFmpeg loses the last image of a file whose packets have no duration.
            self._step = max(tick - written[-1], 1)
        if not keyframe:
            self._dependent.append(len(written))
        written.append(tick)
        packet.stream = track
        packet.time_base = self.base
        packet.pts, packet.dts = tick, tick if decode_tick is None else decode_tick
        packet.duration = self._step
        packet.is_keyframe = keyframe
        self._output.mux_one(packet)

    def finish(self) -> None:
        """Close the file and compare what is in it with what was put in.

        Raises:
            MediaError: they differ.
        """
        import av

        try:
            self._flush()
            self._output.close()
            self._check()
        except av.FFmpegError as error:
            raise MediaError(f"a video file cannot be written: {error}", where=str(self.path)) from error

    def _flush(self) -> None:
        """Write what the encoder still holds."""

    @abstractmethod
    def _check(self) -> None:
        """Raise MediaError if the closed file does not hold what was put in."""

    def _check_ticks(self, found: array[int]) -> None:
        if found != self._written:
            raise MediaError(
                f"of {len(self._written)} images the closed video holds {len(found)}, or at other times",
                where=str(self.path),
            )

    def segment(self, file: str) -> VideoSegment:
        """The file as a segment of its stream, at the place `file`."""
        base = (self.base.numerator, self.base.denominator)
        count = len(self._written)
        return VideoSegment(file, base, self.codec, self.width, self.height, self.pix_fmt, count)

    def facts(self) -> SegmentFacts:
        """What an export must know of it."""
        keyframe = np.ones(len(self._written) + 1, bool)
        keyframe[np.frombuffer(self._dependent, np.int64)] = False
        starts = np.flatnonzero(keyframe)
        return SegmentFacts(
            images=len(self._written),
            keyframes=len(starts) - 1,
            longest_gop=int(np.diff(starts).max(initial=0)),
        )


class _Content:
    """A checksum over what of packets a change of framing must keep."""

    def __init__(self, codec: str) -> None:
        self._codec = codec
        self.crc = 0

    def add(self, data: bytes) -> None:
        for piece in essence(self._codec, data):
            self.crc = zlib.crc32(piece, self.crc)


def _packet_track(
    output: av.container.OutputContainer, codec: str, size: tuple[int, int], parameters: bytes
) -> av.VideoStream:
    """A track for packets that stay as they are; PyAV takes parameter sets only from a stream that has them."""
    import av

    if not parameters:
        return cast("av.VideoStream", output.add_mux_stream(codec, width=size[0], height=size[1]))
    with av.open(io.BytesIO(parameters), format=_RAW_FORMATS[codec]) as bare:
        track = output.add_stream_from_template(bare.streams.video[0], opaque=True)
    track.width, track.height = size
    return track


#: FFmpeg's names of the formats that are nothing but packets of a codec.
_RAW_FORMATS = {"h264": "h264", "hevc": "hevc", "av1": "obu"}


class PacketFile(MediaFile):
    """Encoded packets, as they came."""

    def __init__(
        self,
        path: Path,
        codec: str,
        size: tuple[int, int],
        *,
        pix_fmt: str = "",
        parameters: bytes = b"",
        has_b_frames: bool = False,
    ) -> None:
        in_mp4 = codec in IN_MP4
        super().__init__(path, "mp4" if in_mp4 else "matroska", MP4_BASE if in_mp4 else MKV_BASE, codec, size)
        self.pix_fmt = pix_fmt
        self.has_b_frames = has_b_frames
        self.parameters = parameters
        self._track = _packet_track(self._output, codec, size, parameters)
        self._track.time_base = self.base
        self._reframed = codec in ("h264", "hevc", "av1")
        self._content = _Content(codec) if self._reframed else None
        self._sizes = array("q")

    def append(self, data: Any, tick: int, keyframe: bool = True, decode_tick: int | None = None) -> None:
        """Add one image's packet (any buffer). `decode_tick`: its dts, where that is not its pts."""
        import av

        if self._content:
            self._content.add(data)
        else:
            self._sizes.append(len(data))
        self._mux(av.Packet(data), tick, keyframe, self._track, decode_tick)

    def _check(self) -> None:
        import av

        ticks, sizes = array("q"), array("q")
        content = _Content(self.codec)
        with av.open(str(self.path)) as container:
            for packet in container.demux(container.streams.video[0]):
                if packet.pts is None:
                    continue
                ticks.append(packet.pts)
                if self._content:
                    content.add(bytes(packet))
                else:
                    sizes.append(packet.size)
        self._check_ticks(ticks)
        if sizes != self._sizes or (self._content and content.crc != self._content.crc):
            raise MediaError("the packets in the closed video are not the ones put in", where=str(self.path))

    def facts(self) -> SegmentFacts:
        """What an export must know of it."""
        from dataclasses import replace

        return replace(
            super().facts(),
            has_b_frames=self.has_b_frames,
            parameters_sha256=hashlib.sha256(self.parameters).hexdigest() if self.parameters else "",
        )


class EncodedFile(MediaFile):
    """Raw images, encoded: FFV1 (lossless), or h264 where the user chose so."""

    def __init__(self, path: Path, size: tuple[int, int], pix_fmt: str, *, lossy: bool = False) -> None:
        if lossy:
            super().__init__(path, "mp4", MP4_BASE, "h264", size)
        else:
            super().__init__(path, "matroska", MKV_BASE, "ffv1", size)
        self.lossy = lossy
        self.pix_fmt = "yuv420p" if lossy else pix_fmt
        # Two images a second apart must not share a pts in the encoder's own base, hence the file's base.
        track = self._output.add_stream("libx264" if lossy else "ffv1", rate=30)
        track.time_base = track.codec_context.time_base = self.base
        track.width, track.height, track.pix_fmt = size[0], size[1], self.pix_fmt
        track.codec_context.thread_count = 1
        track.options = dict(_LOSSY if lossy else _LOSSLESS)
        self._track = track

    def append(self, image: NDArray[Any], layout: str, tick: int) -> None:
        """Add one image: an array as `VideoFrame.from_ndarray` takes it for `layout`."""
        import av

        frame = av.VideoFrame.from_ndarray(image, format=layout)
        if layout != self.pix_fmt:
            frame = frame.reformat(format=self.pix_fmt, threads=1)
        frame.pts, frame.time_base = tick, self.base
        for packet in self._track.encode(frame):
            self._put(packet)

    def _put(self, packet: av.Packet) -> None:
        assert packet.pts is not None
        self._mux(packet, packet.pts, packet.is_keyframe, self._track)

    def _flush(self) -> None:
        for packet in self._track.encode(None):
            self._put(packet)

    def _check(self) -> None:
        import av

        found = array("q")
        with av.open(str(self.path)) as container:
            for packet in container.demux(container.streams.video[0]):
                if packet.pts is not None:
                    found.append(packet.pts)
        self._check_ticks(found)

    def facts(self) -> SegmentFacts:
        """What an export must know of it."""
        from dataclasses import replace

        return replace(super().facts(), reencoded=self.lossy)


_LOSSLESS = {"level": "3", "slicecrc": "1", "g": "1"}
_LOSSY = {"crf": "18", "preset": "veryfast", "g": "10", "bf": "0"}
