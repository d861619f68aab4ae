"""The reader `openarm` passes the suite that plug-ins must pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openarm_files import write_openarm

from twinloop.core.kinds import Kind
from twinloop.formats.openarm.reader import READER
from twinloop.testing.conformance import ExpectedStream, ReaderConformance, Sample

if TYPE_CHECKING:
    from pathlib import Path

STAMPED = frozenset({"stamp_ns"})


class TestOpenArm(ReaderConformance):
    reader = READER

    def make_sample(self, folder: Path) -> Sample:
        streams = {
            "observation.arms.left": ExpectedStream(Kind.JOINTS, 100, STAMPED),
            "observation.lifter.elevation": ExpectedStream(Kind.SCALAR, 100, STAMPED),
            "action.arms.left": ExpectedStream(Kind.JOINTS, 14, STAMPED),
            "observation.images.head": ExpectedStream(Kind.IMAGE, 8, STAMPED),
        }
        return Sample(write_openarm(folder / "dataset"), streams)
