"""Calibration files pass the suite of all readers: they have no streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibration_files import write

from twinloop.formats.calibrations.reader import READER
from twinloop.testing.conformance import ReaderConformance, Sample

if TYPE_CHECKING:
    from pathlib import Path


class TestCaliscope(ReaderConformance):
    reader = READER
    file = "camera_array.toml"

    def make_sample(self, folder: Path) -> Sample:
        return Sample(write(folder, self.file), {})


class TestQualisys(TestCaliscope):
    file = "rig.qca.txt"


class TestKalibr(TestCaliscope):
    file = "camchain.yaml"


class TestOpenCv(TestCaliscope):
    file = "stereo.yml"


class TestOpenCvXml(TestCaliscope):
    file = "left_intrinsics.xml"
