"""Folders of pictures pass the suite of all readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenes import jpeg, png

from twinloop.core.kinds import Kind
from twinloop.formats.image_folder.reader import READER
from twinloop.testing.conformance import ExpectedStream, ReaderConformance, Sample

if TYPE_CHECKING:
    from pathlib import Path


class TestNumbered(ReaderConformance):
    reader = READER

    def make_sample(self, folder: Path) -> Sample:
        pictures = folder / "pictures"
        pictures.mkdir()
        for k in range(1, 6):
            (pictures / f"left{k:02}.jpg").write_bytes(jpeg(k))
            (pictures / f"right{k:02}.png").write_bytes(png(k))
        stream = ExpectedStream(Kind.IMAGE, 5, frozenset({"seq"}))
        return Sample(pictures, {"left": stream, "right": stream})


class TestTimed(ReaderConformance):
    reader = READER

    def make_sample(self, folder: Path) -> Sample:
        pictures = folder / "rgb"
        pictures.mkdir()
        for k in range(5):
            (pictures / f"1305031102.{175304 + k * 33000}.png").write_bytes(png(k))
        return Sample(pictures, {"images": ExpectedStream(Kind.IMAGE, 5, frozenset({"stamp_ns"}))})
