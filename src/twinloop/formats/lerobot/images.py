"""Images of a dataset: which image of which video belongs to a row, and pictures held as bytes or files."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import TwinloopError, Where
from twinloop.core.recording import Problem
from twinloop.core.stream import Payload

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray

    from twinloop.core.stream import VideoSegment
    from twinloop.formats.lerobot.entry import EpisodeEntry
    from twinloop.formats.lerobot.info import FeatureInfo
    from twinloop.formats.notes import Notes


def open_segments(
    feature: FeatureInfo, episodes: Sequence[EpisodeEntry], notes: Notes
) -> tuple[VideoSegment, ...]:
    """One segment for each video file of a camera that opens, in the episodes' order."""
    segments: dict[Path, VideoSegment] = {}
    models: dict[tuple[str, int, int], VideoSegment] = {}
    for episode in episodes:
        path = episode.videos[feature.name].file
        if path is None or path in segments:
            continue
        try:
            segments[path] = _segment(path, models)
        except TwinloopError as error:
            notes.add(Problem.CORRUPT, error.what, Where(file=str(path), stream=feature.name), None)
    found = tuple(segments.values())
    _note_wrong_declaration(feature, found, notes)
    return found


def _segment(path: Path, models: dict[tuple[str, int, int], VideoSegment]) -> VideoSegment:
    """A file as a segment; MP4s like one that was probed before are not probed again.

    Raises:
        UnreadableError: the file is no video.
    """
    from twinloop.formats.video.mp4_header import mp4_header
    from twinloop.formats.video.probe import video_header

    brief = mp4_header(path)
    look = (brief.codec_tag, brief.width, brief.height) if brief else None
    if brief and look in models:
        return replace(
            models[look], file=str(path), time_base=(1, brief.timescale), images=brief.images or None
        )
    segment = video_header(path).segment()
    if brief and look and segment.time_base == (1, brief.timescale):
        models[look] = segment
    return segment


def _note_wrong_declaration(feature: FeatureInfo, segments: tuple[VideoSegment, ...], notes: Notes) -> None:
    """Note where info.json says another codec or size than the files have."""
    declared = str((feature.video or {}).get("codec") or "")
    alias = {"libsvtav1": "av1", "libaom-av1": "av1", "libx264": "h264", "libx265": "hevc", "h265": "hevc"}
    codecs = sorted({segment.codec for segment in segments})
    if declared and codecs and codecs != [alias.get(declared, declared)]:
        notes.add(
            Problem.PATH,
            f"info.json says codec {declared}, the files are {', '.join(codecs)}",
            Where(file=segments[0].file, stream=feature.name),
        )
    sizes = sorted({(segment.width, segment.height) for segment in segments})
    if sizes and feature.picture_size != (0, 0) and sizes != [feature.picture_size]:
        shown = ", ".join(f"{w}x{h}" for w, h in sizes)
        notes.add(
            Problem.PATH,
            f"info.json says {feature.picture_size[0]}x{feature.picture_size[1]}, the files are {shown}",
            Where(file=segments[0].file, stream=feature.name),
        )


class VideoRows:
    """Finds, for each row of one camera, the image that is shown at its time.

    Row at `timestamp` of an episode -> the image nearest to from_timestamp + timestamp, at most half a
    period away (of the rows or the images, whichever is longer) and inside the episode's part of the file,
    so that a row whose image was lost never gets one of the next episode. Packets are listed on first use.
    """

    def __init__(
        self,
        name: str,
        segments: tuple[VideoSegment, ...],
        episodes: Sequence[EpisodeEntry],
        fps: float,
        notes: Notes,
    ) -> None:
        self._name = name
        self._segments = segments
        self._number = {segment.file: number for number, segment in enumerate(segments)}
        self._shared: dict[str, int] = defaultdict(int)  # rows of the episodes that share a file
        for episode in episodes:
            video = episode.videos.get(name)
            if video and video.file and video.end_s is not None:
                self._shared[str(video.file)] += episode.length
        self._period_s = 1.0 / fps
        self._notes = notes
        self._images: dict[int, NDArray[np.int64]] = {}
        self._counted: set[int] = set()

    def place(
        self, episode: EpisodeEntry, timestamp_s: NDArray[np.float64]
    ) -> tuple[int | None, NDArray[np.int64], NDArray[np.bool_]]:
        """(segment, pts (N,), whether there is an image (N,)) of an episode's rows at `timestamp_s` (N,)."""
        nothing = np.zeros(len(timestamp_s), np.int64), np.zeros(len(timestamp_s), np.bool_)
        video = episode.videos.get(self._name)
        number = self._number.get(str(video.file)) if video and video.file else None
        if video is None or number is None:
            return None, *nothing
        pts = self._pts(number)
        mine = self._inside(pts, number, video.start_s, video.end_s)
        self._note_count(episode, number, len(mine))
        if not len(mine):
            return number, *nothing
        tick = self._tick_s(number)
        wanted = (video.start_s + timestamp_s) / tick
        right = np.clip(np.searchsorted(mine, wanted), 1, max(1, len(mine) - 1))
        left = mine[right - 1]
        right_pts = mine[np.minimum(right, len(mine) - 1)]
        nearest = np.where(np.abs(wanted - left) <= np.abs(right_pts - wanted), left, right_pts)
        interval = float(np.median(np.diff(mine))) * tick if len(mine) > 1 else 0.0
        near = np.abs(nearest - wanted) * tick <= 0.505 * max(self._period_s, interval)
        return number, np.where(near, nearest, 0), near & np.isfinite(timestamp_s)

    def _inside(
        self, pts: NDArray[np.int64], number: int, start_s: float, end_s: float | None
    ) -> NDArray[np.int64]:
        """The images of [start, end), with half a period's grace for rounded edges."""
        tick, grace = self._tick_s(number), self._period_s / 2
        first = np.searchsorted(pts, (start_s - grace) / tick)
        last = len(pts) if end_s is None else np.searchsorted(pts, (end_s - grace) / tick)
        return pts[first:last]

    def _tick_s(self, number: int) -> float:
        numerator, denominator = self._segments[number].time_base
        return numerator / denominator

    def _pts(self, number: int) -> NDArray[np.int64]:
        from twinloop.formats.video.probe import packet_index

        if number not in self._images:
            file = self._segments[number].file
            try:
                index = packet_index(file)
            except TwinloopError as error:
                self._notes.add(Problem.CORRUPT, error.what, Where(file=file, stream=self._name), None)
                self._images[number] = np.empty(0, np.int64)
            else:
                if index.error:
                    self._notes.add(Problem.TRUNCATED, index.error, Where(file=file, stream=self._name), None)
                self._images[number] = index.images
                self._note_leftovers(file, len(index.images))
        return self._images[number]

    def _note_leftovers(self, file: str, images: int) -> None:
        """Note a shared file with more images than its episodes have rows (a discarded take left inside)."""
        if file in self._shared and images > self._shared[file]:
            self._notes.add(
                Problem.COUNT,
                f"the file holds {images} images, its episodes have {self._shared[file]} rows",
                Where(file=file, stream=self._name),
            )

    def _note_count(self, episode: EpisodeEntry, number: int, images: int) -> None:
        """Note an episode with another number of images than rows."""
        if episode.index in self._counted:
            return
        self._counted.add(episode.index)
        if images != episode.length:
            self._notes.add(
                Problem.COUNT,
                f"episode {episode.index} has {episode.length} rows and {images} images",
                Where(file=self._segments[number].file, stream=self._name, time_ns=episode.base_ns, row=images),
                max(0, episode.length - images),
            )


def picture_payload(column: pa.Array, root: Path) -> tuple[Payload, NDArray[np.bool_]]:
    """The bytes of embedded pictures (N rows of a struct of `bytes` and `path`, or of plain bytes), and
    which rows have any. Rows that name a file instead are read from below `root`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    paths = None
    if pa.types.is_struct(column.type):
        fields = [column.type.field(i).name for i in range(column.type.num_fields)]
        paths = pc.struct_field(column, "path") if "path" in fields else None
        column = pc.struct_field(column, "bytes") if "bytes" in fields else pa.nulls(len(column), pa.binary())
    column = pc.cast(column, pa.large_binary())
    held = np.asarray(column.is_valid())
    if held.all() or paths is None:
        return _payload(column), held
    data: list[bytes | None] = column.to_pylist()
    for row, path in enumerate(paths.to_pylist()):
        if data[row] is None and path:
            data[row] = _file_bytes(root, path)
    return _payload(pa.array(data, pa.large_binary())), np.array([item is not None for item in data])


def file_payload(paths: Sequence[Path]) -> tuple[Payload, NDArray[np.bool_]]:
    """The bytes of picture files, and which of them are there."""
    import pyarrow as pa

    data = [path.read_bytes() if path.is_file() else None for path in paths]
    return _payload(pa.array(data, pa.large_binary())), np.array([item is not None for item in data], np.bool_)


def _payload(column: pa.Array) -> Payload:
    """A view into an Arrow column of bytes; null rows have length 0."""
    offsets = np.frombuffer(column.buffers()[1], np.int64)[column.offset : column.offset + len(column) + 1]
    buffer = column.buffers()[2]
    data = np.frombuffer(buffer, np.uint8) if buffer is not None and buffer.size else np.empty(0, np.uint8)
    return Payload(data, offsets[:-1].copy(), np.diff(offsets))


def _file_bytes(root: Path, path: str) -> bytes | None:
    """A file below `root`; nothing outside it is read."""
    file = (root / path).resolve()
    return file.read_bytes() if file.is_relative_to(root.resolve()) and file.is_file() else None
