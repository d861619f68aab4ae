"""Tracked boxes pass the suite of all readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mot_files import FRAMES, write_detrac, write_mot, write_truth, write_vatic

from twinloop.core.kinds import Kind
from twinloop.formats.mot.reader import READER
from twinloop.testing.conformance import ExpectedStream, ReaderConformance, Sample

if TYPE_CHECKING:
    from pathlib import Path


class _Boxes(ReaderConformance):
    reader = READER
    says_what_is_lost = False  # a text that is cut between two lines is whole

    def sample_of(self, path: Path, boxes: int) -> Sample:
        return Sample(path, {"boxes": ExpectedStream(Kind.DETECTIONS, boxes, frozenset({"seq"}))})


class TestMot(_Boxes):
    def make_sample(self, folder: Path) -> Sample:
        return self.sample_of(write_mot(folder / "test.txt"), 2 * FRAMES)


class TestMotTruth(_Boxes):
    def make_sample(self, folder: Path) -> Sample:
        return self.sample_of(write_truth(folder / "gt.txt"), 2 * FRAMES)


class TestDetrac(_Boxes):
    says_what_is_lost = True

    def make_sample(self, folder: Path) -> Sample:
        return self.sample_of(write_detrac(folder / "MVI_1.xml"), FRAMES)


class TestVatic(_Boxes):
    def make_sample(self, folder: Path) -> Sample:
        return self.sample_of(write_vatic(folder / "tracks.txt"), FRAMES)
