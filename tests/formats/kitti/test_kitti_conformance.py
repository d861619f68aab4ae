"""KITTI's forms pass the suite of all readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kitti_files import FRAMES, write_detections, write_drive, write_frames, write_tracking

from twinloop.core.kinds import Kind
from twinloop.formats.kitti.reader import READER
from twinloop.testing.conformance import ExpectedStream, ReaderConformance, Sample

if TYPE_CHECKING:
    from pathlib import Path

NUMBERED, TIMED = frozenset({"seq"}), frozenset({"stamp_ns", "seq"})


class TestTracking(ReaderConformance):
    reader = READER
    says_what_is_lost = False  # a text that is cut between two lines is whole

    def make_sample(self, folder: Path) -> Sample:
        labels = ExpectedStream(Kind.DETECTIONS, 2 * FRAMES, NUMBERED)
        return Sample(write_tracking(folder / "0000.txt"), {"labels": labels})


class TestDetections(ReaderConformance):
    reader = READER
    says_what_is_lost = False

    def make_sample(self, folder: Path) -> Sample:
        boxes = ExpectedStream(Kind.DETECTIONS, FRAMES, NUMBERED)
        return Sample(write_detections(folder / "0000.txt"), {"detections": boxes})


class TestObjectFrames(ReaderConformance):
    reader = READER
    says_what_is_lost = False

    def make_sample(self, folder: Path) -> Sample:
        return Sample(
            write_frames(folder / "training"),
            {
                "image_2": ExpectedStream(Kind.IMAGE, FRAMES, NUMBERED),
                "velodyne": ExpectedStream(Kind.POINTS, FRAMES, NUMBERED),
                "label_2": ExpectedStream(Kind.DETECTIONS, 2 * FRAMES, NUMBERED),
            },
        )


class TestRawDrive(ReaderConformance):
    reader = READER

    def make_sample(self, folder: Path) -> Sample:
        return Sample(
            write_drive(folder),
            {
                "image_02": ExpectedStream(Kind.IMAGE, FRAMES, TIMED),
                "velodyne": ExpectedStream(Kind.POINTS, FRAMES, TIMED),
                "gnss": ExpectedStream(Kind.GNSS, FRAMES, TIMED),
                "imu": ExpectedStream(Kind.IMU, FRAMES, TIMED),
            },
        )
