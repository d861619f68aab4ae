"""Argoverse 2 logs pass the suite of all readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from av2_logs import BOXES, POINTS, POSES, SWEEPS, write_log

from twinloop.core.kinds import Kind
from twinloop.formats.av2.reader import READER
from twinloop.testing.conformance import ExpectedStream, ReaderConformance, Sample

if TYPE_CHECKING:
    from pathlib import Path

STAMPED = frozenset({"stamp_ns"})


class TestArgoverse2(ReaderConformance):
    reader = READER

    def make_sample(self, folder: Path) -> Sample:
        return Sample(
            write_log(folder / "7fab2350"),
            {
                "lidar": ExpectedStream(Kind.POINTS, SWEEPS, STAMPED),
                "ring_front_center": ExpectedStream(Kind.IMAGE, SWEEPS, STAMPED),
                "annotations": ExpectedStream(Kind.DETECTIONS, SWEEPS * BOXES, STAMPED),
                "city_SE3_egovehicle": ExpectedStream(Kind.POSE, POSES, STAMPED),
                "flow_labels": ExpectedStream(Kind.TABLE, POINTS, frozenset()),
            },
        )
