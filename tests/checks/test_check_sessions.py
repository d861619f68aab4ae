"""Synthetic sessions recorded as MCAP files, with defects planted in them: the whole way through a format."""

from __future__ import annotations

from pathlib import Path

import pytest

from twinloop.checks.run import check
from twinloop.core.finding import CheckReport, Severity
from twinloop.core.kinds import Role
from twinloop.core.mapping import Cut, EpisodeCut, Feature, Mapping
from twinloop.formats.reader import open_recording
from twinloop.testing import faults, file_faults
from twinloop.testing.robot_tracks import CameraSpec
from twinloop.testing.synthetic import SessionSpec, Truth, record_session

LEADER, FOLLOWER = "/leader/joint_states", "/follower/joint_states"
WRIST = "/wrist/image/compressed"
SMALL = (CameraSpec("wrist", 15.0, 48, 36),)
MAPPING = Mapping(
    (
        Feature("action", LEADER, Role.ACTION, field="position"),
        Feature("observation.state", FOLLOWER, Role.OBSERVATION, field="position"),
        Feature("observation.images.wrist", WRIST, Role.OBSERVATION),
    ),
    EpisodeCut(Cut.WHOLE),
)


def session(folder: Path, *planted: object, seed: int = 0) -> tuple[Truth, CheckReport]:
    spec = SessionSpec(
        seed=seed,
        duration_s=8,
        cameras=SMALL,
        imu_hz=200,
        wrench_hz=100,
        tf_hz=50,
        faults=planted,  # type: ignore[arg-type]
    )
    truth = record_session(folder / "session.mcap", spec)
    with open_recording(truth.path) as recording:
        report = check(recording, mapping=MAPPING)
    assert report.failed == ()
    return truth, report


@pytest.mark.parametrize("seed", range(3))
def test_a_sound_session_raises_no_alarm(tmp_path: Path, seed: int) -> None:
    truth, report = session(tmp_path, faults.ShuffledJoints(FOLLOWER), seed=seed)
    assert [(f.code, f.stream, f.message) for f in report.at_least(Severity.WARNING)] == []
    [lag] = [f for f in report.findings if f.code == "SYN004"]
    assert lag.value == pytest.approx(truth.spec.servo_lag_s * 1e3, abs=3)


@pytest.mark.parametrize(
    ("code", "planted", "value"),
    [
        ("TIM004", faults.DroppedSamples(WRIST, 3.0, 0.3), None),
        ("TIM008", faults.ClockDrift(WRIST, 900.0), -900),
        ("TIM014", faults.ClockStep(FOLLOWER, 4.0, 300.0), 300),
        ("TIM014", faults.ClockStep(FOLLOWER, 4.0, -300.0), -300),
        ("SYN002", faults.LateStart(WRIST, 2.0), 2),
        ("SYN003", faults.EarlyEnd(WRIST, 2.0), 2),
        ("SIG003", faults.JointStuck(FOLLOWER, "elbow_pitch", 3.0, 1.0), 1),
        ("SIG002", faults.JointStuck(FOLLOWER, "elbow_pitch"), 0),
        ("SIG001", faults.NanBurst(FOLLOWER, "elbow_pitch", 3.0), 5),
        ("TIM001", faults.ReorderedStamps(FOLLOWER, 3.0, 2), 5),
        ("TIM002", faults.RepeatedStamps(FOLLOWER, 3.0), 3),
        ("TIM003", faults.ZeroStamps(FOLLOWER, 3.0, 0.1), 19),
        ("TIM006", faults.Jitter(WRIST, 10.0), 13),
        ("SYN004", faults.Lag(FOLLOWER, 200.0), 320),
        ("STR007", file_faults.LyingCounts(FOLLOWER), None),
    ],
    ids=lambda item: item if isinstance(item, str) else type(item).__name__,
)
def test_a_planted_defect_is_found_as_what_it_is(
    tmp_path: Path, code: str, planted: object, value: float | None
) -> None:
    truth, report = session(tmp_path, planted)
    alarms = report.at_least(Severity.WARNING)
    assert {finding.code for finding in alarms} == {code}
    [defect] = truth.planted
    first = alarms[0]
    if value is not None:
        assert first.value == pytest.approx(value, rel=0.15)
    if defect.stream and first.stream and "->" not in first.stream:
        assert first.stream == defect.stream
    if first.start_ns is not None and defect.start_ns is not None and code in ("TIM004", "SIG001", "SIG003"):
        assert first.start_ns == pytest.approx(defect.start_ns, abs=7e7)
        assert first.end_ns == pytest.approx(defect.end_ns, abs=7e7)


@pytest.mark.parametrize(
    ("code", "damage"),
    [
        ("STR002", file_faults.Truncated()),
        ("STR003", file_faults.CorruptChunk()),
        ("STR003", file_faults.FlippedBytes()),
    ],
    ids=lambda item: item if isinstance(item, str) else type(item).__name__,
)
def test_a_damaged_session_is_checked_as_far_as_it_can_be_read(
    tmp_path: Path, code: str, damage: object
) -> None:
    _, report = session(tmp_path, damage)
    assert code in {finding.code for finding in report.at_least(Severity.ERROR)}
