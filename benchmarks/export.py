"""Export of remuxed episodes against decoding and encoding the same episodes.

    python -m benchmarks.export [--quick]

Two cameras of 640x480 at 30 Hz (a moving textured picture with noise; h264, a keyframe each 10 images,
without B-frames), joints at 100 Hz, episodes of 5 s; 60 s of it, 10 s with `--quick`. Ours is the whole
export: rows, numbers, statistics, the copy of the packets and the check of the written files. The peers only
decode the images and encode them again with a group of two images, as LeRobot writes them: libx264 at
`veryfast` (the target), and libsvtav1 at LeRobot's own setting (preset 12, crf 30; run once, it is slow).
`cpu_s_per_hour_...` is for an hour of both cameras.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import av
import numpy as np

import twinloop.formats.video  # noqa: F401  (keeps SVT-AV1 from printing)
from benchmarks.harness import REPEATS, Target, arguments, finish, interleaved
from twinloop.core.kinds import Kind, Role
from twinloop.core.mapping import Feature, Mapping
from twinloop.core.session import Episode
from twinloop.deliver.lerobot.export import export_lerobot
from twinloop.deliver.lerobot.options import ExportOptions
from twinloop.deliver.rows import CameraClock
from twinloop.deliver.source import ExportSource
from twinloop.formats.video.probe import packet_index
from twinloop.testing.memory import MemoryRecording, MemoryStream, memory_stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

TARGETS = {"remux_ratio": Target(least=10)}
START_NS = 1_700_000_000_000_000_000
FPS = 30
EPISODE_S = 5
CAMERAS = ("top", "wrist")
X264 = {"g": "2", "preset": "veryfast", "crf": "23", "bf": "0"}
SVTAV1 = {"g": "2", "preset": "12", "crf": "30"}


def write_video(path: Path, images: int, seed: int) -> None:
    """A textured picture that pans, with sensor noise, as a camera's own encoder would store it."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 255, (24, 80, 3), np.uint8)
    texture = np.kron(coarse, np.ones((40, 16, 1), np.uint8))
    noise = rng.integers(0, 12, (8, 480, 640, 3), np.uint8)
    with av.open(str(path), "w") as output:
        track = output.add_stream("libx264", FPS, options=X264 | {"g": "10"})
        track.width, track.height, track.pix_fmt = 640, 480, "yuv420p"
        for number in range(images):
            shift = 3 * number % 640
            pixels = texture[100 : 100 + 480, shift : shift + 640] // 2 + 60 + noise[number % 8]
            picture = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), format="rgb24")
            picture.pts = number
            output.mux(track.encode(picture))
        output.mux(track.encode(None))


def camera(path: Path, times_ns: NDArray[np.int64]) -> MemoryStream:
    """The stream of a camera whose images lie in `path`."""
    index = packet_index(path)
    columns = {"segment": np.zeros(len(index), np.int32), "pts": index.images}
    return memory_stream(
        f"/{path.stem}", Kind.IMAGE, columns, stamp_ns=times_ns, segments=(index.header.segment(),)
    )


def make_source(folder: Path, seconds: int) -> ExportSource:
    """A session of episodes of 5 s."""
    count = seconds * FPS
    jitter = np.random.default_rng(0).integers(-1_000_000, 1_000_000, count)
    times = START_NS + np.arange(count, dtype=np.int64) * 1_000_000_000 // FPS + jitter
    streams = []
    for number, name in enumerate(CAMERAS):
        write_video(folder / f"{name}.mp4", count, number)
        streams.append(camera(folder / f"{name}.mp4", times - 2_000_000 * number))
    at = START_NS - 50_000_000 + np.arange((seconds + 1) * 100, dtype=np.int64) * 10_000_000
    joints = np.sin(np.arange(len(at))[:, None] / 100 + np.arange(7))
    names = [f"joint_{k}" for k in range(7)]
    streams.append(memory_stream("/joints", Kind.JOINTS, {"position": joints}, names=names, stamp_ns=at))
    features = [Feature(f"observation.images.{name}", f"/{name}", Role.OBSERVATION) for name in CAMERAS]
    features.append(Feature("observation.state", "/joints", Role.OBSERVATION, "position"))
    length = EPISODE_S * 1_000_000_000
    first = START_NS - length // 1000
    episodes = tuple(
        Episode(f"E{k}", k, first + k * length, first + (k + 1) * length, instruction="pick the cube")
        for k in range(seconds // EPISODE_S)
    )
    return ExportSource("S", MemoryRecording(streams), Mapping(tuple(features)), episodes)


def export(source: ExportSource, out: Path) -> None:
    """Ours, all of it. Every camera of every episode must be remuxed, or the figure means nothing."""
    account = export_lerobot([source], out, ExportOptions(CameraClock("top")), force=True)
    assert all(not camera.reencoded for camera in account.cameras.values()), account.cameras
    assert account.rows >= len(source.episodes) * EPISODE_S * FPS - 2


def transcode(folder: Path, encoder: str, options: dict[str, str]) -> None:
    """The peer: decode and encode again, episode by episode, nothing else."""
    for name in CAMERAS:
        with av.open(str(folder / f"{name}.mp4")) as source:
            source.streams.video[0].thread_type = "AUTO"
            pictures = source.decode(video=0)
            episode = 0
            while True:
                part = [picture for _, picture in zip(range(EPISODE_S * FPS), pictures, strict=False)]
                if not part:
                    break
                encode(folder / f"{name}-{episode}.peer.mp4", part, encoder, options)
                episode += 1


def encode(path: Path, pictures: list[av.VideoFrame], encoder: str, options: dict[str, str]) -> None:
    """Pictures of an episode into a file of its own."""
    with av.open(str(path), "w") as output:
        track = output.add_stream(encoder, FPS, options=options)
        track.width, track.height, track.pix_fmt = 640, 480, "yuv420p"
        for number, picture in enumerate(pictures):
            picture.pts, picture.time_base, picture.pict_type = number, Fraction(1, FPS), 0
            output.mux(track.encode(picture))
        output.mux(track.encode(None))


def main() -> None:
    """Run and report."""
    quick = arguments(__doc__ or "").quick
    seconds = 10 if quick else 60
    folder = Path(tempfile.mkdtemp(prefix="twinloop-export-"))
    try:
        source = make_source(folder, seconds)
        export(source, folder / "warm")
        runs = {
            "remux": lambda: export(source, folder / "out"),
            "x264": lambda: transcode(folder, "libx264", X264),
        }
        cpu_s = interleaved(runs, 3 if quick else REPEATS)
        before = time.process_time()
        transcode(folder, "libsvtav1", SVTAV1)
        cpu_s["svtav1"] = time.process_time() - before
    finally:
        shutil.rmtree(folder)
    hours = seconds / 3600
    figures = {
        "remux_ratio": cpu_s["x264"] / cpu_s["remux"],
        "remux_ratio_svtav1": cpu_s["svtav1"] / cpu_s["remux"],
        **{f"cpu_s_per_hour_{name}": value / hours for name, value in cpu_s.items()},
    }
    finish("export", figures, TARGETS)


if __name__ == "__main__":
    main()
