"""Clean recordings of many rates and jitters raise no error and no warning."""

from __future__ import annotations

import clean_recordings as clean
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twinloop.checks.run import check
from twinloop.core.finding import CheckReport, Severity
from twinloop.core.kinds import Kind
from twinloop.testing.memory import MemoryRecording, memory_stream


def alarms(report: CheckReport) -> list[tuple[str, str | None, str]]:
    assert report.failed == ()
    return [(f.code, f.stream, f.message) for f in report.at_least(Severity.WARNING)]


@given(
    seed=st.integers(0, 10_000),
    command_hz=st.sampled_from([20.0, 50.0, 100.0]),
    state_hz=st.sampled_from([20.0, 50.0, 200.0]),
    camera_hz=st.sampled_from([5.0, 15.0, 30.0, 60.0]),
    imu_hz=st.sampled_from([50.0, 200.0, 400.0]),
    jitter=st.floats(0, 0.05),
    lag_s=st.floats(0.0, 0.15),
    duration_s=st.floats(6.0, 15.0),
)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_no_alarm_on_recordings_of_many_rates(**facts: float) -> None:
    recipe = clean.Recipe(**facts)  # type: ignore[arg-type]
    report = check(clean.recording(clean.streams(recipe)), mapping=clean.MAPPING)
    assert alarms(report) == []
    [lag] = [f for f in report.findings if f.code == "SYN004"]
    assert lag.value == pytest.approx(recipe.lag_s * 1e3, abs=5)
    assert lag.confidence > 0.7


@given(seed=st.integers(0, 10_000), lag_rows=st.floats(0, 4))
@settings(max_examples=10, deadline=None, derandomize=True)
def test_no_alarm_on_grids_and_no_word_about_drops(seed: int, lag_rows: float) -> None:
    items, episodes, mapping = clean.grid_dataset(seed=seed, lag_rows=lag_rows)
    report = check(clean.recording(items, episodes=episodes), mapping=mapping)
    assert alarms(report) == []
    not_run = {note.code for note in report.not_run}
    assert {"TIM004", "TIM005", "TIM006", "SYN001", "SYN002", "SYN003"} <= not_run
    assert [f.value for f in report.findings if f.code == "TIM010"] == [2.0]


@pytest.mark.parametrize("seed", range(4))
def test_streams_that_speak_when_something_happens_have_no_gaps(seed: int) -> None:
    rng = np.random.default_rng(seed)
    items = clean.streams(clean.Recipe(seed=seed))
    when = clean.EPOCH_NS + np.sort(rng.uniform(0, 20e9, 40)).astype(np.int64)
    for name, kind, columns in (
        ("/events", Kind.EVENT, {"name": ["go"] * 40}),
        ("/log", Kind.TEXT, {"text": ["hello"] * 40}),
        ("/goal", Kind.TABLE, {"x": rng.normal(size=40)}),
    ):
        items[name] = memory_stream(name, kind, columns, log_ns=when)
    assert alarms(check(clean.recording(items), mapping=clean.MAPPING)) == []


def test_a_gripper_that_holds_an_object_is_not_stuck() -> None:
    items = clean.streams()
    leader, follower = items["/leader"], items["/follower"]
    command = np.stack(leader.table.column("position").to_numpy())
    state = np.round(np.stack(follower.table.column("position").to_numpy()), 3)
    # The command closes the gripper to 0 between 5 and 7 s; an object stops it at 0.5 until it opens again.
    seconds = np.arange(len(command)) / 100
    close = np.clip(1 - (seconds - 5) / 1.5, 0, 1) * (seconds < 12) + np.clip((seconds - 12) / 1.5, 0, 1)
    command[:, 5] = close
    state[:, 5] = np.maximum(np.interp(seconds - 0.06, seconds, close), 0.5)
    from twinloop.testing.memory import changed

    items["/leader"] = changed(leader, {"position": command})
    items["/follower"] = changed(follower, {"position": state})
    assert alarms(check(clean.recording(items), mapping=clean.MAPPING)) == []


def test_transforms_of_several_publishers_are_not_out_of_order() -> None:
    rng = np.random.default_rng(1)
    log = clean.EPOCH_NS + np.sort(rng.uniform(0, 20e9, 2000)).astype(np.int64)
    message = np.repeat(np.arange(1000), 2)
    stamp = np.repeat(log[::2] - rng.integers(0, 40_000_000, 1000), 2)
    transforms = memory_stream(
        "/tf",
        Kind.TRANSFORMS,
        {"message": message, "parent": ["a"] * 2000, "child": ["b", "c"] * 1000},
        stamp_ns=stamp,
        log_ns=np.repeat(log[::2], 2),
        declared_count=1000,
    )
    assert alarms(check(MemoryRecording([transforms]), mapping=clean.MAPPING)) == []


def test_a_recording_without_anything_raises_no_alarm_and_passes_nothing() -> None:
    report = check(MemoryRecording([]), mapping=clean.MAPPING)
    assert alarms(report) == []
    assert {"TIM004", "SYN004", "SIG001", "VID001"} <= {note.code for note in report.not_run}
