"""Robot descriptions pass the suite of all readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robots import URDF

from twinloop.core.kinds import Kind
from twinloop.formats.urdf.reader import READER
from twinloop.testing.conformance import ExpectedStream, ReaderConformance, Sample

if TYPE_CHECKING:
    from pathlib import Path


class TestUrdf(ReaderConformance):
    reader = READER

    def make_sample(self, folder: Path) -> Sample:
        (folder / "meshes").mkdir()
        (folder / "meshes/base.stl").write_bytes(b"solid base\nendsolid\n")
        (folder / "arm.urdf").write_text(URDF)
        return Sample(folder / "arm.urdf", {"robot_description": ExpectedStream(Kind.TEXT, 1, frozenset())})
