"""The video files of one camera: episodes one after the other, packets copied, image k at k / fps."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from twinloop.core.errors import TwinloopError
from twinloop.deliver.bitstream import has_start_codes, nal_bytes
from twinloop.deliver.lerobot.avcc import ParameterSets
from twinloop.deliver.lerobot.camera import Run
from twinloop.deliver.lerobot.limits import LONGEST_FILE_S, VIDEO_FILE_MB, next_file, place_in
from twinloop.formats.video.probe import open_video

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import av

    from twinloop.formats.video.probe import VideoHeader

VIDEO_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"


@dataclass(frozen=True, slots=True)
class VideoPlace:
    """Where an episode lies: seconds in the file `videos/<key>/chunk-<chunk>/file-<file>.mp4`."""

    chunk: int
    file: int
    from_s: float
    to_s: float


@dataclass(slots=True)
class _OpenFile:
    path: Path
    output: av.container.OutputContainer
    track: av.VideoStream
    parameters: tuple[object, ...]
    start_codes: bool
    images: int = 0
    bytes: int = 0
    crc: int = 0


class CameraFiles:
    """Writes the video files of one camera below `root`, and checks each after closing it.

    A new file starts where LeRobot's would (200 MB), where parameter sets change, and before
    `LONGEST_FILE_S`; with `one_each`, with every episode.

    Args:
        pattern: the path of a file, from ``video_key``, ``chunk`` and ``file``.
    """

    def __init__(
        self,
        root: Path,
        key: str,
        fps: int,
        *,
        file_mb: float = VIDEO_FILE_MB,
        longest_s: float = LONGEST_FILE_S,
        pattern: str = VIDEO_PATH,
        one_each: bool = False,
    ) -> None:
        self._root = root
        self._pattern = pattern
        self._one_each = one_each
        self._key = key
        self._fps = fps
        self._most_bytes = file_mb * 1024**2
        self._most_images = longest_s * fps
        self._chunk, self._file = 0, -1
        self._open: _OpenFile | None = None
        self.headers: list[VideoHeader] = []

    def append(self, runs: Sequence[Run], lead: int = 0) -> VideoPlace:
        """Copy the packets of `runs`; the first `lead` images belong to no row.

        Raises:
            TwinloopError: a source changed since it was indexed, or the runs' parameter sets do not go into
                one file.
        """
        images = sum(run.stop - run.first for run in runs)
        target = self._target(runs, images, sum(run.bytes for run in runs))
        start = target.images
        for run in runs:
            self._copy(run, target)
        return VideoPlace(self._chunk, self._file, (start + lead) / self._fps, (start + images) / self._fps)

    def close(self) -> None:
        """Close the file that is open, and check it: as many packets as were put in, their bytes the same.

        Raises:
            TwinloopError: the file does not hold what was put in.
        """
        if self._open is None:
            return
        done, self._open = self._open, None
        done.output.close()
        _verify(done, self._fps)

    def abandon(self) -> None:
        """Let go of the file that is open, unchecked: the export failed."""
        if self._open is not None:
            done, self._open = self._open, None
            done.output.close()

    def _target(self, runs: Sequence[Run], images: int, size: int) -> _OpenFile:
        header = runs[-1].index.header
        sets = _common_sets(runs)
        parameters = (header.codec, header.width, header.height, header.pix_fmt, sets)
        current = self._open
        if (
            current is None
            or self._one_each
            or current.parameters != parameters
            or current.bytes + size >= self._most_bytes
            or current.images + images > self._most_images
        ):
            self.close()
            current = self._start(runs[-1], sets, parameters)
        return current

    def _start(self, run: Run, sets: bytes, parameters: tuple[object, ...]) -> _OpenFile:
        import av

        self._chunk, self._file = next_file(self._chunk, self._file)
        path = self._root / place_in(self._pattern, self._chunk, self._file, self._key)
        path.parent.mkdir(parents=True, exist_ok=True)
        output = av.open(str(path), "w", options={"movflags": "faststart"})
        with open_video(run.index.header.file) as source:
            track = output.add_stream_from_template(source.streams.video[0], opaque=True)
        if sets != run.index.extradata:
            track.codec_context.extradata = sets
        # MP4 doubles this base until it is fine enough: k / fps stays exact in a file of any length.
        track.time_base = Fraction(1, self._fps)
        self.headers.append(run.index.header)
        self._open = _OpenFile(path, output, track, parameters, has_start_codes(run.index.extradata))
        return self._open

    def _copy(self, run: Run, target: _OpenFile) -> None:
        time_base = Fraction(1, self._fps)
        for packet in _packets(run):
            target.crc = _added(target.crc, packet, target.start_codes, start_codes=True)
            packet.stream = target.track
            packet.time_base = time_base
            packet.pts = packet.dts = target.images
            packet.duration = 1
            target.images += 1
            target.bytes += packet.size
            target.output.mux_one(packet)


def _common_sets(runs: Sequence[Run]) -> bytes:
    """The set-up bytes of a track that holds all of `runs`."""
    own, *others = dict.fromkeys(run.index.extradata for run in reversed(runs))
    for other in others:
        mine, theirs = ParameterSets.parse(own), ParameterSets.parse(other)
        joined = mine.joined(theirs) if mine and theirs else None
        if joined is None:
            raise TwinloopError(
                "the parameter sets of an episode's parts do not go into one file",
                where=runs[0].index.header.file,
                fix="re-encode: --reencode",
            )
        own = joined
    return own


def _packets(run: Run) -> Iterator[av.Packet]:
    """The packets [first, stop) of a file.

    Raises:
        TwinloopError: the file no longer holds them.
    """
    wanted = run.index.pts[run.first : run.stop].tolist()
    done = 0
    with open_video(run.index.header.file) as container:
        track = container.streams.video[0]
        if run.first:
            container.seek(int(wanted[0]), stream=track)
        for packet in container.demux(track):
            if not packet.size or packet.pts is None or packet.pts < wanted[0]:
                continue
            if done == len(wanted) or packet.pts != wanted[done]:
                break
            done += 1
            yield packet
    if done < len(wanted):
        raise TwinloopError(
            f"the video no longer holds the image of pts {wanted[done]}",
            where=run.index.header.file,
            expected="the file as it was when the export began",
            fix="export again; `twinloop store fsck` tells whether the store is whole",
        )


def _verify(done: _OpenFile, fps: int) -> None:
    count, crc, misplaced = 0, 0, 0
    with open_video(done.path) as container:
        track = container.streams.video[0]
        for packet in container.demux(track):
            if not packet.size:
                continue
            misplaced += packet.pts is None or packet.pts * (track.time_base or 0) * fps != count
            count += 1
            crc = _added(crc, packet, done.start_codes, start_codes=False)
    if (count, crc, misplaced) != (done.images, done.crc, 0):
        raise TwinloopError(
            f"the written video does not hold what went in: {count} images of {done.images}, {misplaced} "
            f"of them off their times, bytes {'the same' if crc == done.crc else 'not the same'}",
            where=str(done.path),
            fix="export again; check the disk",
        )


def _added(crc: int, packet: av.Packet, normalise: bool, start_codes: bool) -> int:
    """`crc` with a packet's bytes. MP4 replaces start codes by lengths: then the units count, not those."""
    if not normalise:
        return zlib.crc32(packet, crc)
    return zlib.crc32(nal_bytes(bytes(packet), start_codes), crc)
