"""Small recordings made here: numbers in memory, images in real video files."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from twinloop.core.kinds import Kind, Role
from twinloop.core.mapping import Feature, Mapping
from twinloop.core.session import Episode, Outcome, SessionFacts
from twinloop.deliver.source import ExportSource
from twinloop.formats.mapping.feature import read_feature
from twinloop.formats.video.probe import packet_index
from twinloop.testing.memory import MemoryRecording, MemoryStream, changed, memory_stream

START_NS = 1_700_000_000_000_000_000
X264 = {"g": "10", "bf": "0", "preset": "ultrafast", "crf": "18"}


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

    def camera(self, paths: list[Path], times_ns: NDArray[np.int64], kind: Kind = Kind.IMAGE) -> MemoryStream:
        """A camera whose images lie one after the other in `paths`."""
        indexes = [packet_index(path) for path in paths]
        pts = np.concatenate([index.images for index in indexes])
        segment = np.repeat(np.arange(len(paths), dtype=np.int32), [len(index) for index in indexes])
        return memory_stream(
            "camera",
            kind,
            {"segment": pa.array(segment), "pts": pa.array(pts)},
            stamp_ns=times_ns,
            log_ns=times_ns + 2_000_000,
            segments=tuple(index.header.segment() for index in indexes),
        )

    def joints(self, times_ns: NDArray[np.int64], names: tuple[str, ...] = ("a", "b")) -> MemoryStream:
        """Joints whose k-th value is k plus the time in seconds from `START_NS`."""
        values = (times_ns - START_NS)[:, None] / 1e9 + np.arange(len(names))
        return memory_stream(
            "joints",
            Kind.JOINTS,
            {"position": values},
            names=names,
            stamp_ns=times_ns,
            log_ns=times_ns + 1_000_000,
        )

    def source(
        self,
        cameras: dict[str, MemoryStream],
        joints: dict[str, MemoryStream] | None = None,
        spans: list[tuple[int, int]] | None = None,
        session: str = "S1",
        **facts: str,
    ) -> ExportSource:
        """A session with cameras and joints by the last part of their features' names.

        `spans`: start and end of each episode; one over everything if not given. Joints named ``action``
        are the action.
        """
        streams, features = [], []
        for name, held in (cameras | (joints or {})).items():
            topic = f"/{name}"
            streams.append(changed(held, name=topic))
            if held.stream.kind is Kind.JOINTS:
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
        recording = MemoryRecording(streams, path=str(self.folder))
        recording.calibration = {"camera": {"fx": 500.0}}
        return ExportSource(
            session,
            recording,
            Mapping(tuple(features)),
            episodes,
            SessionFacts(**facts),
        )

    def session(self, jpeg_only: bool = False) -> ExportSource:
        """Two episodes of 30 rows: cameras, depth, state, a leader arm and an action of two joints each."""
        times = at_rate(60, 30.0)
        joints = at_rate(300, 100.0, START_NS - 50_000_000)
        middle = START_NS + 10**9 - 1
        jpeg = {"strict": "unofficial", "qmin": "2", "qmax": "2"}
        cameras = {
            "wrist": self.camera([self.video("w.mkv", 60, "mjpeg", jpeg, "yuvj420p")], times),
        }
        if not jpeg_only:
            cameras["top"] = self.camera([self.video("t.mp4", 60)], times)
            deep = self.video("d.mkv", 60, "ffv1", {}, "gray16le")
            cameras["depth"] = self.camera([deep], times, Kind.DEPTH)
        source = self.source(
            cameras,
            {"state": self.joints(joints), "action": self.joints(joints + 3_000_000)},
            spans=[(START_NS, middle), (middle, START_NS + 3 * 10**9)],
            operator="ada",
        )
        leader = Feature("leader.state", "/state", Role.LEADER, "position", unit="rad")
        second = replace(source.episodes[1], instruction="put it down", outcome=Outcome.FAILURE)
        return replace(
            source,
            mapping=Mapping((*source.mapping.features, leader)),
            episodes=(source.episodes[0], second),
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
    return start_ns + np.rint(np.arange(count) * 1e9 / rate_hz + noise).astype(np.int64)


@dataclass
class DatasetView:
    """A LeRobot v3.0 dataset read as lerobot 0.6.1 reads it, by code of its own.

    Rows are looked up by 32-bit times to within 1e-4 s (`decode_video_frames_pyav`), and by number as
    round(time * average rate) (`decode_video_frames_torchcodec`); both must give the same image.
    """

    root: Path

    def __post_init__(self) -> None:
        self.info = json.loads((self.root / "meta/info.json").read_text())
        self.stats = json.loads((self.root / "meta/stats.json").read_text())
        self.episodes = self._tables("meta/episodes").to_pylist()
        self.data = self._tables("data")
        self.rows = pq.read_table(self.root / "twinloop/rows.parquet")
        self.account = json.loads((self.root / "twinloop/account.json").read_text())
        tasks = pq.read_table(self.root / "meta/tasks.parquet")
        self.tasks = dict(zip(tasks["task_index"].to_pylist(), tasks["task"].to_pylist(), strict=True))

    def _tables(self, folder: str) -> pa.Table:
        return pa.concat_tables(pq.read_table(path) for path in sorted((self.root / folder).glob("*/*")))

    def column(self, name: str) -> NDArray[np.generic]:
        """A column of the data, (R,) or (R, D)."""
        return np.array(self.data[name].to_pylist())

    def video(self, episode: dict, camera: str) -> Path:
        """The file that holds an episode of a camera."""
        return self.root / self.info["video_path"].format(
            video_key=camera,
            chunk_index=episode[f"videos/{camera}/chunk_index"],
            file_index=episode[f"videos/{camera}/file_index"],
        )

    def images(self, camera: str, episode: int, fmt: str = "rgb24") -> list[NDArray[np.generic]]:
        """The images of an episode's rows."""
        entry = self.episodes[episode]
        begin = entry[f"videos/{camera}/from_timestamp"]
        rows = slice(entry["dataset_from_index"], entry["dataset_to_index"])
        times = self.column("timestamp")[rows].astype(np.float32)
        with av.open(str(self.video(entry, camera))) as container:
            track = container.streams.video[0]
            rate = float(track.average_rate)
            pictures = list(container.decode(track))
            shown = np.array([float(p.pts * track.time_base) for p in pictures], np.float32)
        found = []
        for time in times.astype(np.float64) + begin:
            distance = np.abs(shown - np.float32(time))
            assert distance.min() < 1e-4, (camera, episode, time)
            assert int(distance.argmin()) == round(time * rate)
            found.append(pictures[int(distance.argmin())].to_ndarray(format=fmt))
        length_s = entry[f"videos/{camera}/to_timestamp"] - begin
        assert abs(length_s - len(times) / self.info["fps"]) < 1e-9
        return found

    def numbers(self, camera: str, episode: int) -> list[int]:
        """The number (modulo 26) that each row's image tells."""
        return [number_of(image) for image in self.images(camera, episode)]


def packets_of(path: Path) -> list[bytes]:
    """The packets of a video, byte by byte."""
    with av.open(str(path)) as container:
        return [bytes(packet) for packet in container.demux(video=0) if packet.size]


def expected_values(source: ExportSource, rows: NDArray[np.int64], feature: str) -> NDArray[np.float64]:
    """What a feature's rows hold by the rule "the latest sample at or before the row", found the slow way."""
    mapped = next(item for item in source.mapping.features if item.name == feature)
    samples = read_feature(source.recording, mapped)
    return np.array([samples.values[np.nonzero(samples.times_ns <= row)[0][-1]] for row in rows])


def files_of(folder: Path) -> dict[str, bytes]:
    """Path -> bytes of all files below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }
