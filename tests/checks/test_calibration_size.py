"""VID003: calibration and pictures of different sizes."""

from __future__ import annotations

import clean_recordings as clean
import pytest

from twinloop.checks.run import check
from twinloop.core.calibration import CameraCalibration, CameraModel, encode_calibration
from twinloop.core.finding import CheckReport
from twinloop.core.stream import VideoSegment
from twinloop.testing.memory import changed


def checked(width: int, height: int, *, calibrated: bool = True) -> CheckReport:
    items = clean.streams()
    segment = VideoSegment("cam.mp4", (1, 90_000), "h264", 1080, 1920)
    items["/camera"] = changed(items["/camera"], segments=(segment,))
    recording = clean.recording(items)
    camera = CameraCalibration("/camera", CameraModel.PINHOLE, width, height, (900.0, 900.0, 540.0, 960.0))
    recording.calibration = encode_calibration([camera] if calibrated else [])
    return check(recording, mapping=clean.MAPPING)


def test_a_calibration_of_the_same_size_is_sound() -> None:
    report = checked(1080, 1920)
    assert not [finding for finding in report.findings if finding.code == "VID003"]
    assert "VID003" not in {note.code for note in report.not_run}


@pytest.mark.parametrize(
    ("width", "height", "value", "words"),
    [(1088, 1920, 1080.0, "1088x1920"), (1080, 1080, 1920.0, "1080x1080"), (1920, 1080, 1080.0, "on its side")],
)
def test_another_size_is_told(width: int, height: int, value: float, words: str) -> None:
    (finding,) = [finding for finding in checked(width, height).findings if finding.code == "VID003"]
    assert finding.value == value
    assert words in finding.message


def test_without_calibration_it_does_not_run() -> None:
    assert "VID003" in {note.code for note in checked(1080, 1920, calibrated=False).not_run}
