"""One camera of a folder: its video file, and what its times are taken from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.clock import Clock, Epoch
from twinloop.core.errors import Where
from twinloop.core.kinds import Kind, Role, StampSource
from twinloop.core.recording import Problem
from twinloop.core.stream import Stream
from twinloop.formats.time_column import epoch_of, floats_to_ns
from twinloop.formats.video.pixels import is_deep_gray

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.formats.notes import Notes
    from twinloop.formats.video.probe import VideoHeader
    from twinloop.formats.video_folder.times_table import ImageTimes

#: Packets looked at to tell a constant rate from a varying one.
_SAMPLE = 300


@dataclass(frozen=True, slots=True)
class Camera:
    """A video file with its header and, where some table has them, its images' times."""

    name: str
    path: Path
    header: VideoHeader
    times: ImageTimes | None

    def stream(self) -> Stream:
        """The stream as the header and the table tell it."""
        header, times = self.header, self.times
        attributes = {
            "encoding": header.codec,
            "width": str(header.width),
            "height": str(header.height),
            "pix_fmt": header.pix_fmt,
        }
        if header.rate_hz:
            attributes["container_rate_hz"] = f"{header.rate_hz:g}"
        if times is None:
            constant = _is_constant(self.path)
            source = StampSource.GRID if constant else StampSource.DRIVER
            clock = Clock(Epoch.EPISODE)
            count, start_ns, end_ns = header.images, *_container_span(header)
            attributes["times"] = f"the container's pts, at a {'constant' if constant else 'varying'} rate"
        else:
            source, count = times.source, len(times.stamp_ns)
            start_ns, end_ns = int(times.stamp_ns.min()), int(times.stamp_ns.max())
            clock = Clock(epoch_of(start_ns))
            said = "declared" if times.unit_declared else "inferred"
            attributes["times"] = f"column {times.column} of {times.file.name}, {times.unit} ({said})"
        return Stream(
            name=self.name,
            kind=Kind.DEPTH if is_deep_gray(header.pix_fmt) else Kind.IMAGE,
            role=Role.OBSERVATION,
            count=count,
            start_ns=start_ns,
            end_ns=end_ns,
            timeline="stamp_ns",
            stamp_source=source,
            stamp_clock=clock,
            type_name=f"{header.codec} {header.width}x{header.height}",
            encoding=header.codec,
            bytes=self.path.stat().st_size,
            rate_hz=header.rate_hz if times is None else None,
            attributes=attributes,
            segments=(header.segment(),),
        )

    def samples(
        self, images: NDArray[np.int64], notes: Notes
    ) -> tuple[dict[str, NDArray[np.int64]], NDArray[np.int64], NDArray[np.bool_]]:
        """Time columns, pts and whether there is an image, (N,) each; `images` (M,) are the file's pts.

        With a table a sample is a row of it, else an image. Rows and images that do not pair are noted.
        """
        if self.times is None:
            ns, _ = floats_to_ns(images.astype(np.float64) * float(self.header.time_base), "s")
            return {"stamp_ns": ns}, images, np.ones(len(images), np.bool_)
        place = image_of_row(self.times, len(images))
        held = (place >= 0) & (place < len(images))
        self.note_count(len(images), notes)
        pts = images[np.where(held, place, 0)] if len(images) else np.zeros(len(place), np.int64)
        return {"stamp_ns": self.times.stamp_ns, **self.times.others}, pts, held

    def note_count(self, images: int, notes: Notes) -> None:
        """Note rows without an image and images without a row."""
        if self.times is None:
            return
        place = image_of_row(self.times, images)
        paired = len(np.unique(place[(place >= 0) & (place < images)]))
        if paired != len(place) or paired != images:
            notes.add(
                Problem.COUNT,
                f"{self.times.file.name} has {len(place)} rows for {self.name}, the video has {images} images; "
                f"{paired} of them pair",
                Where(file=str(self.path), stream=self.name),
                max(0, images - paired),
            )


def image_of_row(times: ImageTimes, images: int) -> NDArray[np.int64]:
    """Which image (counted from 0) each row (N,) of a table is about.

    By the table's image numbers: as they stand where they fit into the video, less their first where the
    recording was cut out of a longer count. Without numbers row k is image k.
    """
    rows = np.arange(len(times.stamp_ns))
    number = times.number
    if number is None or not len(number):
        return rows
    if number.min() >= 0 and number.max() < images:
        return number
    shifted = number - number.min()
    return shifted if shifted.max() < max(images, len(rows)) else rows


def _is_constant(path: Path) -> bool:
    """Whether the first images of a file are equally far apart, give or take a tick of rounding."""
    import av

    from twinloop.formats.video.probe import open_video

    pts: list[int] = []
    with open_video(path) as container:
        try:
            for packet in container.demux(container.streams.video[0]):
                if packet.size and packet.pts is not None:
                    pts.append(packet.pts)
                if len(pts) >= _SAMPLE:
                    break
        except av.FFmpegError:
            pass
    # The last few of a cut-off sample may lack images shown before them.
    steps = np.diff(np.sort(np.array(pts, np.int64))[: -16 if len(pts) >= _SAMPLE else None])
    return len(steps) < 2 or int(steps.max() - steps.min()) <= 1


def _container_span(header: VideoHeader) -> tuple[int | None, int | None]:
    """First and last image's time by the header (start, and start plus duration less a period)."""
    if header.duration_s is None or not header.rate_hz:
        return None, None
    start_s = header.start * float(header.time_base)
    end_s = start_s + max(0.0, header.duration_s - 1 / header.rate_hz)
    if header.images:
        end_s = start_s + (header.images - 1) * header.duration_s / header.images
    return round(start_s * 1e9), round(end_s * 1e9)
