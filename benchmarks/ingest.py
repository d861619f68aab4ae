"""Taking recordings in: megabytes of MCAP for each CPU second, and a 16-bit depth image's share.

    python -m benchmarks.ingest [--quick]

Each file holds two JPEG cameras at 30 Hz (every image another one, 40 KB or 8 KB in the mean), joints at 500
and 100 Hz and transforms at 50 Hz, in zstd chunks; 500 MB of it, 60 MB with `--quick`. Hashing, the copy of
the raw file, chunk checksums, streams, video and the first checks are in the figure; imports are not (a small
recording is taken in before). Depth is 640x480 at 16 bit with noise and holes; it must come back bit by bit.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.harness import Target, arguments, finish, in_child
from benchmarks.mcap_input import ARM, HAND, START_NS, Cdr, joint_states, transforms, write_sources

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.mcap_input import Timed

TARGETS = {
    "mb_per_s_40kb": Target(least=120),
    "mb_per_s_8kb": Target(least=60),
    "depth16_ms_per_image_640x480": Target(most=35),
}
_COMMENT = 60_000


def real_jpegs(topic: str, rate_hz: float, seconds: float, mean_bytes: int) -> Iterator[Timed]:
    """sensor_msgs/CompressedImage of valid JPEGs: one picture, and in each another comment of noise."""
    from twinloop.formats.video.still import encode_still

    shade = np.linspace(0, 255, 320, dtype=np.uint8)
    picture = encode_still(np.broadcast_to(shade[None, :, None], (240, 320, 3)).copy())
    rng = np.random.default_rng(sum(topic.encode()))
    for i in range(int(seconds * rate_hz)):
        stamp = START_NS + round(i * 1e9 / rate_hz)
        missing = max(int(rng.normal(mean_bytes, mean_bytes / 10)) - len(picture), 8)
        comment = rng.bytes(min(missing, _COMMENT))
        jpeg = picture[:2] + b"\xff\xfe" + (len(comment) + 2).to_bytes(2, "big") + comment + picture[2:]
        message = Cdr()
        message.header(stamp, topic.strip("/"))
        message.text("jpeg")
        message.u32(len(jpeg))
        message.data += jpeg
        yield topic, stamp + 4_000_000, bytes(message.data)


def depth_images(topic: str, count: int) -> Iterator[Timed]:
    """sensor_msgs/Image, 16UC1: a slanted floor in millimetres with noise, 5 % holes."""
    rng = np.random.default_rng(3)
    rows = np.linspace(600, 3000, 480)[:, None] + np.linspace(0, 200, 640)[None, :]
    for i in range(count):
        depth = (rows + rng.normal(0, 4, rows.shape)).astype("<u2")
        depth[rng.random(rows.shape) < 0.05] = 0
        stamp = START_NS + round(i * 1e9 / 30)
        message = Cdr()
        message.header(stamp, "depth")
        message.u32(480)
        message.u32(640)
        message.text("16UC1")
        message.data += b"\0"
        message.u32(1280)
        message.u32(depth.nbytes)
        message.data += depth.tobytes()
        yield topic, stamp + 4_000_000, bytes(message.data)


def write_cameras(path: Path, megabytes: float, mean_bytes: int) -> None:
    """The file of two cameras, joints and transforms, of about so many megabytes."""
    image, joint, frame = (
        "sensor_msgs/msg/CompressedImage",
        "sensor_msgs/msg/JointState",
        "tf2_msgs/msg/TFMessage",
    )
    seconds = megabytes * 1e6 / (60 * mean_bytes)
    write_sources(
        path,
        {"/camera_left": image, "/camera_right": image, "/arm": joint, "/hand": joint, "/tf": frame},
        [
            real_jpegs("/camera_left", 30, seconds, mean_bytes),
            real_jpegs("/camera_right", 30, seconds, mean_bytes),
            joint_states("/arm", ARM, 500, seconds),
            joint_states("/hand", HAND, 100, seconds),
            transforms("/tf", 50, seconds),
        ],
    )


def ingest_cpu_s(path: Path, warm_up: Path, store: Path) -> float:
    """CPU seconds of taking `path` in, imports left out. For a process of its own."""
    from twinloop.store.ingest import Status, ingest
    from twinloop.store.store import Store

    opened = Store.create(store)
    ingest(opened, warm_up)
    before = time.process_time()
    outcome = ingest(opened, path)
    used = time.process_time() - before
    assert outcome.status is Status.STORED and not outcome.lost, outcome
    return used


def assert_bit_exact(store: Path, topic: str, count: int) -> None:
    """Every depth image in the store is the one that was written."""
    from twinloop.formats.video.decode import decode_images
    from twinloop.store.store import Store

    with Store.open(store).session("last") as session:
        pts = session.read(topic, ["pts"]).column("pts").to_numpy()
        (segment,) = session.streams[topic].segments
        compared = 0
        for (_, image), (_, _, raw) in zip(
            decode_images(segment, pts), depth_images(topic, count), strict=True
        ):
            assert (image == np.frombuffer(raw[-2 * 640 * 480 :], "<u2").reshape(480, 640)).all()
            compared += 1
    assert compared == count


def main() -> None:
    """Generate, take in, print."""
    quick = arguments(__doc__ or "").quick
    megabytes, depths = (60, 30) if quick else (520, 200)
    figures = {}
    with tempfile.TemporaryDirectory(prefix="twinloop-bench-") as name:
        folder = Path(name)
        warm_up = folder / "warm-up.mcap"
        write_cameras(warm_up, 1, 40_000)
        for size in (40, 8):
            path = folder / f"{size}kb.mcap"
            write_cameras(path, megabytes, size * 1000)
            used = in_child(ingest_cpu_s, path, warm_up, folder / f"store-{size}").result
            figures[f"mb_per_s_{size}kb"] = path.stat().st_size / 1e6 / used
            figures[f"cpu_s_{size}kb"] = used
            path.unlink()
        depth = folder / "depth.mcap"
        write_sources(depth, {"/depth": "sensor_msgs/msg/Image"}, [depth_images("/depth", depths)])
        used = in_child(ingest_cpu_s, depth, warm_up, folder / "store-depth").result
        figures["depth16_ms_per_image_640x480"] = used * 1e3 / depths
        assert_bit_exact(folder / "store-depth", "/depth", depths)
    finish("ingest", figures, TARGETS)


if __name__ == "__main__":
    main()
