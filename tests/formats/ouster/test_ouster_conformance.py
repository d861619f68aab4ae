"""Ouster captures pass the suite of readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.kinds import Kind
from twinloop.formats.ouster.reader import READER
from twinloop.testing.conformance import ExpectedStream, ReaderConformance, Sample
from twinloop.testing.ouster_writer import recording, write_metadata, write_pcap, write_pcapng

if TYPE_CHECKING:
    from pathlib import Path

BOTH, COUNTED = frozenset({"stamp_ns", "log_ns"}), frozenset({"stamp_ns", "log_ns", "seq"})


class TestOusterPcap(ReaderConformance):
    reader = READER

    def make_sample(self, folder: Path) -> Sample:
        sensor = write_metadata(folder / "take.json", "RNG19_RFL8_SIG16_NIR16_DUAL")
        path = write_pcap(folder / "take.pcap", recording(sensor, 6))
        cloud = ExpectedStream(Kind.POINTS, 6, COUNTED)
        return Sample(path, {"points": cloud, "points2": cloud, "imu": ExpectedStream(Kind.IMU, 6, BOTH)})

    def make_large_sample(self, folder: Path) -> Path:
        sensor = write_metadata(folder / "large.json", "RNG15_RFL8_NIR8", 128, 1024)
        return write_pcap(folder / "large.pcap", recording(sensor, 150))


class TestOusterLegacyFragments(ReaderConformance):
    reader = READER

    def make_sample(self, folder: Path) -> Sample:
        sensor = write_metadata(folder / "take.json", "LEGACY")
        path = write_pcap(folder / "take.pcap", recording(sensor, 4), fragment=1480, vlan=True)
        imu = ExpectedStream(Kind.IMU, 4, BOTH)
        return Sample(path, {"points": ExpectedStream(Kind.POINTS, 4, COUNTED), "imu": imu})


class TestOusterPcapng(ReaderConformance):
    reader = READER

    def make_sample(self, folder: Path) -> Sample:
        sensor = write_metadata(folder / "take.json", "RNG15_RFL8_NIR8")
        path = write_pcapng(folder / "take.pcapng", recording(sensor, 4))
        imu = ExpectedStream(Kind.IMU, 4, BOTH)
        return Sample(path, {"points": ExpectedStream(Kind.POINTS, 4, COUNTED), "imu": imu})
