"""Decoding every field of an MCAP file, beside mcap with mcap-ros2-support and beside rosbags.

Two generated files: 60 s of two JPEG cameras, joints at 500 and 100 Hz and transforms at 50 Hz; and 360,000
JointState messages. The peers are read in the order of the file, which is their fastest, and hand out one
Python object a message; twinloop hands out Arrow columns and, for images, their places in memory. What it
costs to copy the images too and to compare the chunks' checksums (rosbags does both always, the mcap package
copies and does not compare) is shown beside.

`numeric_messages_per_s` is taken on a copy of the numeric file whose chunks are not compressed: reading,
locating and decoding are in it.
"""

from __future__ import annotations

import tempfile
from functools import partial
from importlib.metadata import version
from pathlib import Path

from benchmarks.harness import REPEATS, Target, arguments, finish, interleaved
from benchmarks.mcap_input import write_mixed, write_numeric

PEERS = {"mcap-ros2-support": "0.6.0", "rosbags": "0.11.9"}
TARGETS = {
    "ratio_mcap_ros2": Target(least=6),
    "ratio_rosbags": Target(least=5),
    "numeric_ratio_mcap_ros2": Target(least=20),
    "numeric_ratio_rosbags": Target(least=10),
    "numeric_messages_per_s": Target(least=700_000),
}


def twinloop(path: Path, messages: int, *, copy: bool = False, verify: bool = False) -> None:
    """All streams as columns, images by reference; `copy`: their bytes too."""
    from twinloop.formats.reader import ReadOptions, open_recording

    rows = 0
    with open_recording(path, ReadOptions(verify=verify)) as recording:
        for batch in recording.scan():
            rows += len(batch)
            if copy and batch.payload is not None:
                for image in batch.payload:
                    bytes(image)
    assert rows >= messages, (rows, messages)


def mcap_ros2(path: Path, messages: int) -> None:
    """The mcap package with mcap-ros2-support."""
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory

    with path.open("rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        count = sum(1 for _ in reader.iter_decoded_messages(log_time_order=False))
    assert count == messages, (count, messages)


def rosbags(path: Path, messages: int) -> None:
    """The rosbags package."""
    from rosbags.highlevel import AnyReader

    count = 0
    with AnyReader([path]) as reader:
        for connection, _, raw in reader.messages():
            reader.deserialize(raw, connection.msgtype)
            count += 1
    assert count == messages, (count, messages)


def main() -> None:
    """Run both files and print the figures."""
    quick = arguments(__doc__ or "").quick
    for package, wanted in PEERS.items():
        assert version(package) == wanted, f"{package} is {version(package)}, not {wanted}"
    mixed_s, numeric_s, repeats = (20, 30, 3) if quick else (60, 600, REPEATS)
    with tempfile.TemporaryDirectory(prefix="twinloop-bench-") as folder:
        mixed, numeric, plain = (Path(folder) / f"{name}.mcap" for name in ("mixed", "numeric", "plain"))
        mixed_count = write_mixed(mixed, mixed_s)
        numeric_count = write_numeric(numeric, numeric_s)
        write_numeric(plain, numeric_s, compressed=False)
        print(f"mixed: {mixed_count:,} messages, {mixed.stat().st_size / 1e6:.0f} MB; ", end="")
        print(f"numeric: {numeric_count:,} messages; median CPU seconds of {repeats} interleaved runs")
        for path in (mixed, numeric, plain):
            twinloop(path, 0)  # imports, and the file into the page cache
        seconds = {
            f"{name}_{side}": value
            for name, path, count in (("mixed", mixed, mixed_count), ("numeric", numeric, numeric_count))
            for side, value in interleaved(_runs(path, count), repeats).items()
        }
        seconds |= interleaved({"plain": partial(twinloop, plain, numeric_count)}, repeats)
    figures = _figures(seconds, numeric_count)
    finish("mcap_decode", figures, TARGETS)


def _runs(path: Path, count: int) -> dict[str, partial[None]]:
    return {
        "twinloop": partial(twinloop, path, count),
        "copied": partial(twinloop, path, count, copy=True),
        "verified": partial(twinloop, path, count, verify=True),
        "both": partial(twinloop, path, count, copy=True, verify=True),
        "mcap_ros2": partial(mcap_ros2, path, count),
        "rosbags": partial(rosbags, path, count),
    }


def _figures(seconds: dict[str, float], numeric_count: int) -> dict[str, float]:
    figures = {}
    for name, prefix in (("mixed", ""), ("numeric", "numeric_")):
        for peer in ("mcap_ros2", "rosbags"):
            for side, suffix in (
                ("twinloop", ""),
                ("copied", "_copied"),
                ("verified", "_verified"),
                ("both", "_copied_verified"),
            ):
                if side in ("copied", "both") and prefix:
                    continue  # there are no images to copy
                ratio = seconds[f"{name}_{peer}"] / seconds[f"{name}_{side}"]
                figures[f"{prefix}ratio_{peer}{suffix}"] = ratio
    figures["numeric_messages_per_s"] = numeric_count / seconds["plain"]
    figures["numeric_messages_per_s_zstd"] = numeric_count / seconds["numeric_twinloop"]
    return figures | {f"{name}_cpu_s": value for name, value in seconds.items()}


if __name__ == "__main__":
    main()
