"""What is known of real recordings is found, with its numbers, and nothing is made up beside it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from twinloop.checks.run import check
from twinloop.core.finding import CheckReport, Finding, Severity
from twinloop.formats.reader import open_recording


def checked(path: Path) -> CheckReport:
    with open_recording(path) as recording:
        report = check(recording)
    assert report.failed == ()
    return report


def of(report: CheckReport, code: str) -> list[Finding]:
    return [finding for finding in report.findings if finding.code == code]


def alarms(report: CheckReport) -> set[str]:
    return {finding.code for finding in report.at_least(Severity.WARNING)}


@pytest.fixture(scope="module")
def unitree(test_data: Path) -> CheckReport:
    return checked(test_data / "lerobot-v21-unitree-g1")


def test_unitree_actions_lead_the_state_by_seven_to_nine_frames(unitree: CheckReport) -> None:
    lags = of(unitree, "SYN004")
    assert [finding.episode for finding in lags] == list(range(100))
    frames = np.rint([(finding.value or 0) / 1e3 * 30 for finding in lags])
    assert set(frames) <= {7, 8, 9}
    assert {finding.severity for finding in lags} == {Severity.WARNING}
    assert min(finding.confidence for finding in lags) > 0.3


def test_unitree_hands_follow_later_than_arms(unitree: CheckReport) -> None:
    [finding] = of(unitree, "SYN006")
    assert finding.value == pytest.approx(207, abs=15)
    assert "Hand" in finding.message


def test_unitree_hand_that_went_silent_for_a_second_and_a_half(unitree: CheckReport) -> None:
    """Found by the rule and then seen in the file: all joints of the right hand hold their value, then jump."""
    [finding] = of(unitree, "SIG003")
    assert finding.episode == 53
    assert finding.start_s == pytest.approx(1.4, abs=0.1)
    assert finding.value == pytest.approx(1.6, abs=0.15)


def test_unitree_missing_videos_are_told_once_and_times_not_at_all(unitree: CheckReport) -> None:
    assert alarms(unitree) == {"STR008", "SYN004", "SYN006", "SIG003"}
    assert {"TIM004", "TIM006", "SYN002"} <= {note.code for note in unitree.not_run}
    assert len(of(unitree, "TIM010")) == 1


def test_so101_nothing_happens(test_data: Path) -> None:
    report = checked(test_data / "lerobot-v3-so101-SIM/local_dataset_ros2/data/lerobot_dataset_example")
    found = of(report, "EPI001")
    assert [finding.episode for finding in found] == list(range(6))
    assert all("pictures of observation.images.wrist do not change either" in f.message for f in found)
    assert alarms(report) == {"EPI001"}


def test_jackal_odometry_arrives_late_and_unevenly(test_data: Path) -> None:
    report = checked(test_data / "robot-localization-bags/test/test2.bag")
    [finding] = of(report, "TIM009")
    assert finding.stream == "/jackal_velocity_controller/odom"
    assert finding.value == pytest.approx(28, abs=0.5)
    assert "at most 32 ms" in finding.message
    assert "every 23 ms in the median, 20 ms in the mean" in finding.message
    assert alarms(report) == set()


def test_imu_table_with_lost_samples(test_data: Path) -> None:
    report = checked(test_data / "xio-imu/Examples/Python/sensor_data.csv")
    gaps = of(report, "TIM004")
    assert len(gaps) == 10
    assert all(gap.value == pytest.approx(30.24, abs=0.01) for gap in gaps)
    assert all("2 samples missing" in gap.message for gap in gaps)
    [uneven] = of(report, "TIM006")
    assert "7.56 ms to 30.2 ms at a median of 10.1 ms" in uneven.message


def test_webcams_whose_files_claim_an_even_pace(test_data: Path) -> None:
    report = checked(test_data / "caliscope-multicam/tests/sessions/charuco_calibration/calibration/extrinsic")
    paces = of(report, "TIM013")
    assert {finding.stream for finding in paces} == {"cam_1", "cam_2", "cam_3"}
    assert "beside the file's 6 Hz; true intervals are 125 ms to 208 ms" in paces[0].message
    assert "TIM004" not in alarms(report)
