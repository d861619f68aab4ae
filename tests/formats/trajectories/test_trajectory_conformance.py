"""Trajectories pass the suite of all readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trajectory_files import ROWS, write_euroc, write_kitti, write_tum

from twinloop.core.kinds import Kind
from twinloop.formats.trajectories.reader import READER
from twinloop.testing.conformance import ExpectedStream, ReaderConformance, Sample

if TYPE_CHECKING:
    from pathlib import Path


class _Trajectory(ReaderConformance):
    reader = READER
    says_what_is_lost = False  # a file that is cut between two lines is whole


class TestTum(_Trajectory):
    def make_sample(self, folder: Path) -> Sample:
        path = write_tum(folder / "slam.txt")
        return Sample(path, {"slam": ExpectedStream(Kind.POSE, ROWS, frozenset({"stamp_ns"}))})


class TestEuroc(_Trajectory):
    def make_sample(self, folder: Path) -> Sample:
        path = write_euroc(folder / "data.csv")
        return Sample(path, {"data": ExpectedStream(Kind.POSE, ROWS, frozenset({"stamp_ns"}))})


class TestKitti(_Trajectory):
    def make_sample(self, folder: Path) -> Sample:
        path = write_kitti(folder / "00.txt", times=True)
        return Sample(path, {"00": ExpectedStream(Kind.POSE, ROWS, frozenset({"stamp_ns", "seq"}))})


class TestKittiWithoutTimes(_Trajectory):
    def make_sample(self, folder: Path) -> Sample:
        path = write_kitti(folder / "00.txt", times=False)
        return Sample(path, {"00": ExpectedStream(Kind.POSE, ROWS, frozenset({"seq"}))})
