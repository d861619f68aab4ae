"""Rows against the images of real video files."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import clean_recordings as clean
import numpy as np
import pyarrow as pa
import pytest

from twinloop.checks.run import check
from twinloop.core.errors import Where
from twinloop.core.finding import CheckReport, Severity
from twinloop.core.recording import Problem, ReadNote
from twinloop.core.stream import VideoSegment
from twinloop.testing.memory import MemoryRecording, MemoryStream, changed

IMAGES = 120


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> VideoSegment:
    """120 small images at 30 Hz."""
    import av

    path = tmp_path_factory.mktemp("video") / "camera.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=30, options={"preset": "ultrafast", "g": "10", "bf": "0"})
        stream.width, stream.height, stream.pix_fmt, stream.time_base = 64, 48, "yuv420p", Fraction(1, 30)
        for k in range(IMAGES):
            frame = av.VideoFrame.from_ndarray(np.full((48, 64, 3), 2 * k, np.uint8), "rgb24")
            frame.pts, frame.time_base = k, Fraction(1, 30)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    from twinloop.formats.video.probe import video_header

    header = video_header(path)
    return VideoSegment(str(path), header.segment().time_base, "h264", 64, 48)


def camera(video: VideoSegment, numbers: list[int | None], images: int | None = None) -> MemoryStream:
    """A camera stream whose rows name the images `numbers` of the file."""
    items = clean.streams(clean.Recipe(duration_s=len(numbers) / 30))
    ticks = Fraction(1, 30) / Fraction(*video.time_base)
    pts = pa.array([None if k is None else int(k * ticks) for k in numbers], pa.int64())
    table = items["/camera"].table.append_column("segment", pa.array(np.zeros(len(numbers), np.int32)))
    segment = VideoSegment(video.file, video.time_base, "h264", 64, 48, images=images)
    stream = changed(items["/camera"], segments=(segment,)).stream
    return MemoryStream(stream, table.append_column("pts", pts))


def checked(item: MemoryStream, *notes: ReadNote) -> CheckReport:
    report = check(MemoryRecording([item], notes=notes), mapping=clean.MAPPING, select=["VID"])
    assert report.failed == ()
    return report


@pytest.mark.parametrize("images", [None, IMAGES])
def test_one_image_a_row_is_well(video: VideoSegment, images: int | None) -> None:
    assert checked(camera(video, list(range(IMAGES)), images)).findings == ()


def test_images_that_no_row_names(video: VideoSegment) -> None:
    numbers = [k for k in range(IMAGES) if not 50 <= k < 61]
    [finding] = checked(camera(video, list(numbers))).findings
    assert (finding.code, finding.severity, finding.value) == ("VID002", Severity.WARNING, 11)
    assert finding.start_s == pytest.approx(49 / 30, abs=0.01)
    assert finding.end_s == pytest.approx(50 / 30, abs=0.01)
    assert finding.where.file == video.file


def test_rows_that_name_images_the_file_does_not_hold(video: VideoSegment) -> None:
    numbers = [*range(IMAGES), *range(IMAGES, IMAGES + 8)]
    [finding] = checked(camera(video, list(numbers))).findings
    assert (finding.code, finding.severity, finding.value) == ("VID001", Severity.ERROR, 8)
    assert finding.start_s == pytest.approx(IMAGES / 30, abs=0.01)
    assert finding.where.row == IMAGES


def test_rows_without_an_image(video: VideoSegment) -> None:
    numbers: list[int | None] = list(range(IMAGES))
    numbers[30:32] = [None, None]
    found = checked(camera(video, numbers)).findings
    assert [(finding.code, finding.value) for finding in found] == [("VID001", 2), ("VID002", 2)]
    assert found[0].start_s == pytest.approx(1.0, abs=0.01)


def test_a_missing_file_is_told_once(video: VideoSegment) -> None:
    item = camera(video, [None] * IMAGES)
    note = ReadNote(Problem.MISSING_FILE, "no video", Where(stream="/camera"), lost=IMAGES)
    assert checked(item, note).findings == ()
    assert [finding.code for finding in checked(item).findings] == ["VID001"]


def test_a_broken_file_is_left_to_the_reader(video: VideoSegment, tmp_path: Path) -> None:
    path = tmp_path / "broken.mp4"
    path.write_bytes(b"\x00" * 100)
    gone = VideoSegment(str(path), video.time_base, "h264", 64, 48)
    assert checked(camera(gone, list(range(IMAGES)))).findings == ()
