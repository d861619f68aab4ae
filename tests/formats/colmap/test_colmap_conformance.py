"""COLMAP's models pass the suite of all readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colmap_models import IMAGES, write_binary, write_text

from twinloop.core.kinds import Kind
from twinloop.formats.colmap.reader import READER
from twinloop.testing.conformance import ExpectedStream, ReaderConformance, Sample

if TYPE_CHECKING:
    from pathlib import Path

STREAMS = {
    "images": ExpectedStream(Kind.POSE, IMAGES, frozenset()),
    "points3D": ExpectedStream(Kind.POINTS, 1, frozenset()),
}


class TestBinary(ReaderConformance):
    reader = READER

    def make_sample(self, folder: Path) -> Sample:
        return Sample(write_binary(folder / "0"), STREAMS)


class TestText(ReaderConformance):
    reader = READER
    says_what_is_lost = False  # a text that is cut between two lines is whole

    def make_sample(self, folder: Path) -> Sample:
        return Sample(write_text(folder / "0"), STREAMS)
