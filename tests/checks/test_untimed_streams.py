"""Streams without times: nothing is said of their times, and no alarm is raised."""

from __future__ import annotations

from pathlib import Path

from twinloop.checks.run import check
from twinloop.formats.reader import open_recording


def test_poses_without_times_raise_nothing(tmp_path: Path) -> None:
    rows = [f"1 0 0 {k * 0.1:.1f} 0 1 0 0 0 0 1 0" for k in range(200)]
    (tmp_path / "00.txt").write_text("\n".join(rows) + "\n")
    with open_recording(tmp_path / "00.txt") as recording:
        report = check(recording)
    assert report.failed == ()
    assert report.findings == ()
    assert any("has no times" in note.why or "have no times" in note.why for note in report.not_run)
