"""nuScenes' tables and infos pass the suite of all readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nuscenes_files import CAMERAS, SAMPLES, write_infos, write_tables

from twinloop.core.kinds import Kind
from twinloop.formats.nuscenes.info_reader import READER as INFOS
from twinloop.formats.nuscenes.reader import READER
from twinloop.testing.conformance import ExpectedStream, ReaderConformance, Sample

if TYPE_CHECKING:
    from pathlib import Path

STAMPED, NUMBERED = frozenset({"stamp_ns"}), frozenset({"stamp_ns", "seq"})


class TestNuScenes(ReaderConformance):
    reader = READER

    def make_sample(self, folder: Path) -> Sample:
        kinds = {"LIDAR_TOP": Kind.POINTS, "RADAR_FRONT": Kind.POINTS} | dict.fromkeys(CAMERAS, Kind.IMAGE)
        streams = {name: ExpectedStream(kind, SAMPLES, STAMPED) for name, kind in kinds.items()}
        streams["ego"] = ExpectedStream(Kind.POSE, 4 * SAMPLES, STAMPED)
        streams["boxes"] = ExpectedStream(Kind.DETECTIONS, 2 * SAMPLES, STAMPED)
        return Sample(write_tables(folder / "nuscenes"), streams)


class TestSceneInfos(ReaderConformance):
    reader = INFOS

    def make_sample(self, folder: Path) -> Sample:
        kinds = {"LIDAR_TOP": Kind.POINTS} | dict.fromkeys(CAMERAS, Kind.IMAGE)
        streams = {name: ExpectedStream(kind, SAMPLES, NUMBERED) for name, kind in kinds.items()}
        streams["ego"] = ExpectedStream(Kind.POSE, SAMPLES, STAMPED)
        streams["boxes"] = ExpectedStream(Kind.DETECTIONS, 2 * SAMPLES, NUMBERED)
        streams["CAM_FRONT/boxes"] = ExpectedStream(Kind.DETECTIONS, SAMPLES, NUMBERED)
        return Sample(write_infos(folder / "scene"), streams)
