"""Ouster captures: points a CPU second of a full scan, packets to organised clouds with checksums compared.

``python -m benchmarks.format_pcap`` prints `pcap_points_per_s`; `benchmarks.formats` takes it from `figures`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.harness import Target, arguments, finish, in_child

#: Bytes of the capture that is made; at 128 rings of 1024 columns a turn is 1.6 MB.
_BYTES, _QUICK_BYTES = 100e6, 25e6
_RINGS, _COLUMNS = 128, 1024
TARGETS = {"pcap_points_per_s": Target(least=1e6)}


def figures(*, quick: bool) -> dict[str, float]:
    """`pcap_points_per_s`, measured in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="twinloop-pcap-") as folder:
        path = write_capture(Path(folder), _QUICK_BYTES if quick else _BYTES)
        run = in_child(scan, str(path))
    return {"pcap_points_per_s": run.result / run.cpu_s, "pcap_scan_peak_mb": run.peak_mb}


def write_capture(folder: Path, size: float) -> Path:
    """A capture of about `size` bytes of one sensor with single returns, its metadata beside it."""
    from twinloop.testing.ouster_writer import recording, write_metadata, write_pcap

    sensor = write_metadata(folder / "capture.json", "RNG19_RFL8_SIG16_NIR16", _RINGS, _COLUMNS)
    assert sensor.lidar is not None
    turns = round(size / (sensor.lidar.size * _COLUMNS / sensor.lidar.columns))
    return write_pcap(folder / "capture.pcap", recording(sensor, turns))


def scan(path: str) -> int:
    """All points of a capture; how many there are, with and without a return."""
    from twinloop.formats.reader import open_recording

    points = 0
    with open_recording(path) as opened:
        for batch in opened.scan(["points"]):
            assert batch.payload is not None
            points += len(batch) * _RINGS * _COLUMNS
    return points


if __name__ == "__main__":
    finish("format_pcap", figures(quick=arguments("points a CPU second of a capture").quick), TARGETS)
