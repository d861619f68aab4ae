"""Small recordings made here: numbers in memory, images in real video files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import av
import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from twinloop.core.kinds import Kind, Role, StampSource
from twinloop.core.mapping import Feature, Mapping
from twinloop.core.recording import Recording
from twinloop.core.session import Episode, Outcome, SessionFacts
from twinloop.core.stream import Batch, Stream, VideoSegment
from twinloop.deliver.lerobot.source import ExportSource
from twinloop.formats.video.probe import packet_index

START_NS = 1_700_000_000_000_000_000
X264 = {"g": "10", "bf": "0", "preset": "ultrafast", "crf": "18"}


class TableRecording(Recording):
    """Streams whose columns are tables in memory; their images lie in files."""

    def __init__(self, path: Path, tables: dict[str, pa.Table], streams: dict[str, Stream]) -> None:
        super().__init__(path, "test", files=(), streams=streams, calibration={"camera": {"fx": 500.0}})
        self.tables = tables

    def scan(self, streams=None, *, start_ns=None, end_ns=None, payload=True) -> Iterator[Batch]:
        for name in self.check_names(streams):
            table = self.tables[name].combine_chunks()
            times = np.asarray(table[self.streams[name].timeline])
            inside = np.ones(len(times), bool)
            inside &= True if start_ns is None else times >= start_ns
            inside &= True if end_ns is None else times < end_ns
            for batch in table.filter(pa.array(inside)).to_batches():
                yield Batch(name, batch)


@dataclass
class Lab:
    """Makes recordings below a folder. Cameras' pixels tell the number of the image: see `shade`."""

    folder: Path
    width: int = 64
    height: int = 48

    def video(
        self,
        name: str,
        images: int,
        encoder: str = "libx264",
        options: dict[str, str] | None = None,
        pix_fmt: str = "yuv420p",
        first: int = 0,
    ) -> Path:
        """A video whose image k has the shade of number `first` + k."""
        path = self.folder / name
        with av.open(str(path), "w") as output:
            track = output.add_stream(encoder, 30, options=X264 if options is None else options)
            track.width, track.height, track.pix_fmt = self.width, self.height, pix_fmt
            for number in range(images):
                pixels = self.pixels(first + number, deep=pix_fmt == "gray16le")
                picture = av.VideoFrame.from_ndarray(
                    pixels, format="gray16le" if pix_fmt == "gray16le" else "rgb24"
                )
                picture.pts = number
                output.mux(track.encode(picture))
            output.mux(track.encode(None))
        return path

    def pixels(self, number: int, deep: bool = False) -> NDArray[np.generic]:
        """The image of a number: a flat shade with a dark corner; depth grows with the number."""
        if deep:
            depth = np.full((self.height, self.width), 500 + 7 * number, np.uint16)
            depth[:4, :4] = 0
            return depth
        pixels = np.full((self.height, self.width, 3), shade(number), np.uint8)
        pixels[:8, :8] = 16
        return pixels

    def camera(self, paths: list[Path], times_ns: NDArray[np.int64], kind: Kind = Kind.IMAGE) -> tuple:
        """(table, stream) of a camera whose images lie one after the other in `paths`."""
        indexes = [packet_index(path) for path in paths]
        pts = np.concatenate([index.images for index in indexes])
        segment = np.repeat(np.arange(len(paths)), [len(index) for index in indexes])
        table = pa.table(
            {
                "stamp_ns": times_ns,
                "log_ns": times_ns + 2_000_000,
                "segment": pa.array(segment, pa.int32()),
                "pts": pa.array(pts, pa.int64()),
            }
        )
        stream = Stream(
            "camera",
            kind,
            count=len(times_ns),
            start_ns=int(times_ns[0]),
            end_ns=int(times_ns[-1]),
            timeline="stamp_ns",
            stamp_source=StampSource.DRIVER,
            segments=tuple(index.header.segment() for index in indexes),
        )
        return table, stream

    def joints(self, times_ns: NDArray[np.int64], names: tuple[str, ...] = ("a", "b")) -> tuple:
        """(table, stream) of joints whose first value is the time in seconds from the first sample."""
        seconds = (times_ns - times_ns[0]) / 1e9
        values = np.stack([seconds + k for k in range(len(names))], axis=1)
        table = pa.table(
            {
                "stamp_ns": times_ns,
                "log_ns": times_ns + 1_000_000,
                "name": pa.array([list(names)] * len(times_ns)),
                "position": pa.array(values.tolist(), pa.list_(pa.float64())),
            }
        )
        stream = Stream(
            "joints",
            Kind.JOINTS,
            count=len(times_ns),
            start_ns=int(times_ns[0]),
            end_ns=int(times_ns[-1]),
            timeline="stamp_ns",
            stamp_source=StampSource.DRIVER,
        )
        return table, stream

    def source(
        self,
        cameras: dict[str, tuple],
        joints: dict[str, tuple] | None = None,
        spans: list[tuple[int, int]] | None = None,
        session: str = "S1",
        **facts: str,
    ) -> ExportSource:
        """A session with cameras and joints by the last part of their features' names.

        `spans`: start and end of each episode; one over everything if not given. Joints named ``action``
        are the action.
        """
        tables, streams, features = {}, {}, []
        for name, (table, stream) in (cameras | (joints or {})).items():
            topic = f"/{name}"
            tables[topic], streams[topic] = table, replace(stream, name=topic)
            if stream.kind is Kind.JOINTS:
                action = name == "action"
                features.append(
                    Feature(
                        name if action else f"observation.{name}",
                        topic,
                        Role.ACTION if action else Role.OBSERVATION,
                        "position",
                        unit="rad",
                    )
                )
            else:
                features.append(Feature(f"observation.images.{name}", topic, Role.OBSERVATION))
        all_spans = spans or [(START_NS - 10**9, START_NS + 10**12)]
        episodes = tuple(
            Episode(f"E{k}", k, start, end, instruction="pick the cube", outcome=Outcome.SUCCESS)
            for k, (start, end) in enumerate(all_spans)
        )
        return ExportSource(
            session,
            TableRecording(self.folder, tables, streams),
            Mapping(tuple(features)),
            episodes,
            SessionFacts(**facts),
        )


def shade(number: int) -> int:
    """The grey level of image `number`: 26 levels far enough apart to survive any codec."""
    return 30 + 8 * (number % 26)


def number_of(pixels: NDArray[np.uint8]) -> int:
    """The number (modulo 26) that an image tells."""
    return round((float(np.median(pixels)) - 30) / 8) % 26


def at_rate(count: int, rate_hz: float, start_ns: int = START_NS, jitter_ms: float = 0.0) -> NDArray[np.int64]:
    """Times (count,) at a rate, each off by up to `jitter_ms`."""
    noise = np.random.default_rng(0).uniform(-jitter_ms, jitter_ms, count) * 1e6
    return (start_ns + np.arange(count) * 1e9 / rate_hz + noise).astype(np.int64)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


@pytest.fixture
def two_cameras(lab: Lab) -> Callable[..., ExportSource]:
    """A session of two 30 Hz cameras and 100 Hz joints; keyword arguments replace the cameras' times."""

    def make(count: int = 60, **times: NDArray[np.int64]) -> ExportSource:
        top = times.get("top", at_rate(count, 30.0, jitter_ms=1.0))
        wrist = times.get("wrist", at_rate(count, 30.0, START_NS + 4_000_000))
        joints = at_rate(int(count / 30 * 100) + 20, 100.0, START_NS - 50_000_000)
        return lab.source(
            {
                "top": lab.camera([lab.video("top.mp4", len(top))], top),
                "wrist": lab.camera([lab.video("wrist.mkv", len(wrist), first=5)], wrist),
            },
            {"state": lab.joints(joints), "action": lab.joints(joints + 3_000_000)},
        )

    return make


__all__ = ["START_NS", "Lab", "TableRecording", "VideoSegment", "at_rate", "number_of", "shade"]
