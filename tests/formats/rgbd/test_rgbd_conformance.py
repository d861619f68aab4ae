"""RGB-D frames pass the suite of all readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rgbd_frames import FRAMES, write_frames

from twinloop.core.kinds import Kind
from twinloop.formats.rgbd.reader import READER
from twinloop.testing.conformance import ExpectedStream, ReaderConformance, Sample

if TYPE_CHECKING:
    from pathlib import Path


class TestRgbdFrames(ReaderConformance):
    reader = READER

    def make_sample(self, folder: Path) -> Sample:
        kinds = {"color": Kind.IMAGE, "depth": Kind.DEPTH, "pose": Kind.POSE}
        streams = {name: ExpectedStream(kind, FRAMES, frozenset({"seq"})) for name, kind in kinds.items()}
        return Sample(write_frames(folder / "frames"), streams)
