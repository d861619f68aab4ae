"""Rules about labels: silent on sound ones, and right about broken ones."""

from __future__ import annotations

from pathlib import Path

import clean_recordings as clean
import numpy as np
import pyarrow as pa
import pytest

from twinloop.checks.run import check
from twinloop.core.clock import Clock, Epoch
from twinloop.core.finding import CheckReport, Finding, Severity
from twinloop.core.kinds import Kind, StampSource
from twinloop.formats.reader import open_recording
from twinloop.testing.memory import MemoryStream, memory_stream

COUNT, FPS = 50, 60.0


def labels(**changes: np.ndarray | pa.Array) -> dict[str, MemoryStream]:
    """Fifty labels of 1.5 s, one every 2 s, spoken in their middle; `changes` replace columns."""
    start = np.arange(COUNT, dtype=np.int64) * 2_000_000_000
    columns = {
        "end_ns": start + 1_500_000_000,
        "name": ["take cup"] * COUNT,
        "narrated_ns": start + 750_000_000,
        "start_frame": np.rint(start / 1e9 * FPS).astype(np.int64) + 1,
    } | changes
    stamps = columns.pop("stamp_ns", start)
    stream = memory_stream(
        "P01_11",
        Kind.LABEL,
        columns,
        stamp_ns=stamps,
        timeline="stamp_ns",
        stamp_source=StampSource.GRID,
        stamp_clock=Clock(Epoch.EPISODE, "P01_11"),
        attributes={"video_fps": str(FPS), "video_duration_s": "100"},
    )
    return {"P01_11": stream}


def found(streams: dict[str, MemoryStream]) -> dict[str, Finding]:
    report = check(clean.recording(streams))
    assert report.failed == ()
    return {finding.code: finding for finding in report.findings if finding.code.startswith("LAB")}


def not_run(report: CheckReport) -> dict[str, str]:
    return {note.code: note.why for note in report.not_run if note.code.startswith("LAB")}


def test_sound_labels_raise_nothing() -> None:
    assert found(labels()) == {}


def test_without_labels_the_rules_do_not_run() -> None:
    report = check(clean.recording(clean.streams()), mapping=clean.MAPPING)
    assert set(not_run(report)) == {"LAB001", "LAB002", "LAB003", "LAB004"}


def test_what_a_source_does_not_say_is_not_measured() -> None:
    streams = labels()
    table = streams["P01_11"].table.drop_columns(["narrated_ns", "start_frame"])
    report = check(clean.recording({"P01_11": MemoryStream(streams["P01_11"].stream, table)}))
    assert set(not_run(report)) == {"LAB001", "LAB003"}


def test_labels_spoken_elsewhere_are_counted() -> None:
    spoken = np.arange(COUNT) * 2_000_000_000 + 750_000_000
    spoken[:5] += np.array([1, 2, 3, 4, 5]) * 1_000_000_000
    finding = found(labels(narrated_ns=spoken))["LAB001"]
    assert finding.severity is Severity.WARNING
    assert finding.value == pytest.approx(10.0)
    assert finding.start_ns == 8_000_000_000  # the fifth is farthest away
    assert "5 of 50 labels (10 %)" in finding.message
    assert "4.25 s away" in finding.message


def test_labels_that_nobody_spoke_count_in_the_whole_only() -> None:
    spoken = pa.array([None] * 25 + [0] * 25, pa.int64())
    finding = found(labels(narrated_ns=spoken))["LAB001"]
    assert finding.value == pytest.approx(50.0)


def test_overlaps_are_told_in_any_order_of_rows() -> None:
    start = np.arange(COUNT, dtype=np.int64) * 2_000_000_000
    end = start + 1_500_000_000
    end[0] = start[3] + 1  # the next three begin before the first has ended
    shuffled = np.random.default_rng(0).permutation(COUNT)
    streams = labels(stamp_ns=start[shuffled], end_ns=end[shuffled])
    finding = found(streams)["LAB002"]
    assert finding.severity is Severity.INFO
    assert finding.value == pytest.approx(6.0)


def test_frames_counted_at_another_rate_are_told() -> None:
    start_s = np.arange(COUNT) * 2.0
    finding = found(labels(start_frame=np.rint(start_s * 50).astype(np.int64)))["LAB003"]
    assert finding.severity is Severity.WARNING
    assert finding.value == pytest.approx(980.0)  # 98 s at 10 frames a second
    assert "49 of 50 labels (98 %)" in finding.message


def test_spans_outside_time_and_video_are_told() -> None:
    start = np.arange(COUNT, dtype=np.int64) * 2_000_000_000
    late = start + 1_500_000_000
    late[-1] = 100_500_000_000
    finding = found(labels(end_ns=late))["LAB004"]
    assert (finding.value, finding.start_ns) == (1.0, 98_000_000_000)
    assert "0.50 s after" in finding.message
    backwards = start + 1_500_000_000
    backwards[7] = start[7] - 1
    assert found(labels(end_ns=backwards))["LAB004"].value == 1.0


def test_the_labels_of_epic_kitchens_are_as_their_source_says(test_data: Path) -> None:
    with open_recording(test_data / "epic-kitchens-ann-NC") as recording:
        assert len(recording.streams) == 138
        assert sum(stream.count or 0 for stream in recording.streams.values()) == 9668
        report = check(recording)
    told = {finding.code: finding for finding in report.findings}
    assert told["LAB001"].message.startswith("4505 of 9668 labels (46.6 %)")
    assert told["LAB002"].message.startswith("2610 of 9668 labels (27 %)")
    assert told["LAB003"].message.startswith("8263 of 9668 labels (85.5 %)")
    assert "by up to 8141 frames" in told["LAB003"].message
