"""Each planted fault is found by its own rule and no other, at its place and with its number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import clean_recordings as clean
import numpy as np
import pyarrow as pa
import pytest

from twinloop.checks.catalog import built_in_rules
from twinloop.checks.run import check
from twinloop.core.clock import Clock, Epoch
from twinloop.core.errors import Where
from twinloop.core.finding import CheckReport, Finding, Severity
from twinloop.core.kinds import Kind
from twinloop.core.mapping import Mapping
from twinloop.core.recording import Problem, ReadNote
from twinloop.core.stream import VideoSegment
from twinloop.testing.memory import MemoryRecording, MemoryStream, changed, memory_stream, without_rows

SEEDS = (0, 1, 2)


@dataclass
class Planted:
    """A recording with one fault, and what its finding must say."""

    recording: MemoryRecording
    stream: str | None
    value: float | None = None
    tolerance: float = 1e-6
    at_s: float | None = None
    until_s: float | None = None
    within_s: float = 0.02
    severity: Severity = Severity.WARNING
    mapping: Mapping = field(default_factory=lambda: clean.MAPPING)
    episode: int | None = None
    also: frozenset[str] = frozenset()


def plant(items: dict[str, MemoryStream], stream: str | None, **expected: object) -> Planted:
    return Planted(clean.recording(items), stream, **expected)  # type: ignore[arg-type]


def column(item: MemoryStream, name: str) -> np.ndarray:
    array = item.table.column(name)
    return np.stack(array.to_numpy()) if pa.types.is_nested(array.type) else array.to_numpy().copy()


# --- structure -------------------------------------------------------------------------------------------


def noted(problem: Problem, severity: Severity) -> Callable[[int], Planted]:
    def make(seed: int) -> Planted:
        note = ReadNote(problem, "what the reader saw", Where(file="a.mcap", stream="/imu", byte=77), lost=3)
        recording = clean.recording(clean.streams(clean.Recipe(seed)), notes=[note])
        return Planted(recording, "/imu", value=3, severity=severity)

    return make


def count_mismatch(seed: int) -> Planted:
    items = clean.streams(clean.Recipe(seed))
    items["/imu"] = changed(items["/imu"], count=4321)
    return plant(items, "/imu", value=4000, severity=Severity.ERROR)


def empty_stream(seed: int) -> Planted:
    items = clean.streams(clean.Recipe(seed))
    items["/second"] = memory_stream("/second", Kind.IMAGE, stamp_ns=[])
    return plant(items, "/second", value=0)


# --- time ------------------------------------------------------------------------------------------------


def backwards(seed: int) -> Planted:
    """Two samples in the wrong order."""
    items = clean.streams(clean.Recipe(seed, jitter=0))
    order = np.arange(4000)
    order[[1000, 1001]] = [1001, 1000]
    item = items["/imu"]
    table = item.table.take(pa.array(order))
    items["/imu"] = MemoryStream(item.stream, table)
    return plant(items, "/imu", value=5.0, at_s=5.0, severity=Severity.ERROR)


def repeated_time(seed: int) -> Planted:
    """A stamp taken over from the sample before."""
    items = clean.streams(clean.Recipe(seed))
    stamps = column(items["/imu"], "stamp_ns")
    stamps[2000] = stamps[1999]
    items["/imu"] = changed(items["/imu"], {"stamp_ns": stamps})
    return plant(items, "/imu", value=1, at_s=10.0)


def zero_stamp(seed: int) -> Planted:
    items = clean.streams(clean.Recipe(seed))
    stamps = column(items["/camera"], "stamp_ns")
    stamps[[300, 301, 302]] = 0
    items["/camera"] = changed(items["/camera"], {"stamp_ns": stamps})
    return plant(items, "/camera", value=3, at_s=10.02, until_s=10.09, within_s=0.03, severity=Severity.ERROR)


def gap(seed: int) -> Planted:
    """Ten images lost."""
    items = clean.streams(clean.Recipe(seed))
    items["/camera"] = without_rows(items["/camera"], np.arange(300, 310))
    return plant(items, "/camera", value=11 / 30 * 1e3, tolerance=6, at_s=299 / 30, until_s=310 / 30)


def gap_of_one(seed: int) -> Planted:
    items = clean.streams(clean.Recipe(seed, jitter=0.05))
    items["/imu"] = without_rows(items["/imu"], [1234])
    return plant(items, "/imu", value=10.0, tolerance=1.5, at_s=1233 / 200, until_s=1235 / 200)


def long_gap(seed: int) -> Planted:
    items = clean.streams(clean.Recipe(seed))
    items["/follower"] = without_rows(items["/follower"], np.arange(800, 860))
    return plant(items, "/follower", value=610, tolerance=2, at_s=7.99, until_s=8.6, severity=Severity.ERROR)


def held_up(seed: int) -> Planted:
    """A recorder that stalls for 0.4 s, on a stream that has no stamps."""
    items = clean.streams(clean.Recipe(seed))
    log = column(items["/imu"], "log_ns")
    stalled = (log >= clean.EPOCH_NS + 6_000_000_000) & (log < clean.EPOCH_NS + 6_400_000_000)
    log[stalled] = clean.EPOCH_NS + 6_400_000_000 + np.arange(stalled.sum()) * 20_000
    items["/imu"] = memory_stream(
        "/imu", Kind.IMU, {"angular_velocity": column(items["/imu"], "angular_velocity")}, log_ns=log
    )
    return plant(items, "/imu", value=400, tolerance=6, at_s=6.0, until_s=6.4)


def jitter(seed: int) -> Planted:
    """Images at 30 Hz whose intervals scatter by 20 %."""
    items = clean.streams(clean.Recipe(seed, jitter=0))
    rng = np.random.default_rng(seed)
    stamps = column(items["/camera"], "stamp_ns")
    stamps += (rng.normal(size=len(stamps)) * 0.2 / np.sqrt(2) / 30 * 1e9).astype(np.int64)
    logs = column(items["/camera"], "log_ns") + 20_000_000
    items["/camera"] = changed(items["/camera"], {"stamp_ns": np.sort(stamps), "log_ns": logs})
    return plant(items, "/camera", value=6.67, tolerance=0.8)


def declared_rate(seed: int) -> Planted:
    items = clean.streams(clean.Recipe(seed))
    items["/camera"] = changed(items["/camera"], rate_hz=25.0)
    return plant(items, "/camera", value=30, tolerance=0.1, severity=Severity.ERROR)


def clock_drift(seed: int) -> Planted:
    """Stamps of a clock that runs 250 ppm slow."""
    items = clean.streams(clean.Recipe(seed))
    stamps = column(items["/imu"], "stamp_ns")
    slow = clean.EPOCH_NS + np.rint((stamps - clean.EPOCH_NS) * (1 - 250e-6)).astype(np.int64)
    items["/imu"] = changed(items["/imu"], {"stamp_ns": slow})
    return plant(items, "/imu", value=250, tolerance=5)


def fast_clock(seed: int) -> Planted:
    """Stamps of a clock that runs 5 % fast."""
    items = clean.streams(clean.Recipe(seed))
    stamps = column(items["/camera"], "stamp_ns")
    fast = clean.EPOCH_NS + np.rint((stamps - clean.EPOCH_NS) * 1.05).astype(np.int64)
    logs = column(items["/camera"], "log_ns")
    items["/camera"] = changed(items["/camera"], {"stamp_ns": fast, "log_ns": logs})
    return plant(
        items,
        "/camera",
        value=-47_600,
        tolerance=300,
        severity=Severity.ERROR,
        # Its images reach beyond the others' end, so that theirs come early; no rule can know whose fault.
        also=frozenset({"SYN003"}),
    )


def log_latency(seed: int) -> Planted:
    items = clean.streams(clean.Recipe(seed, camera_latency_s=0.35))
    return plant(items, "/camera", value=350, tolerance=3)


def growing_latency(seed: int) -> Planted:
    """A queue that fills for some seconds and stays full."""
    items = clean.streams(clean.Recipe(seed, duration_s=40))
    logs = column(items["/camera"], "log_ns")
    seconds = (logs - clean.EPOCH_NS) / 1e9
    logs += (np.clip((seconds - 20) / 5, 0, 1) * 120e6).astype(np.int64)
    items["/camera"] = changed(items["/camera"], {"log_ns": logs})
    return plant(items, "/camera", value=120, tolerance=3)


def clock_step(seed: int) -> Planted:
    """The camera's clock is set forward by half a second."""
    items = clean.streams(clean.Recipe(seed))
    stamps = column(items["/camera"], "stamp_ns")
    stamps[240:] += 500_000_000
    items["/camera"] = changed(items["/camera"], {"stamp_ns": stamps})
    return plant(items, "/camera", value=500, tolerance=2, at_s=8.5, severity=Severity.ERROR)


def clock_step_back(seed: int) -> Planted:
    items = clean.streams(clean.Recipe(seed))
    stamps = column(items["/imu"], "stamp_ns")
    stamps[1600:] -= 80_000_000
    items["/imu"] = changed(items["/imu"], {"stamp_ns": stamps})
    return plant(items, "/imu", value=-80, tolerance=2, at_s=7.92, severity=Severity.ERROR)


def off_grid(seed: int) -> Planted:
    items, episodes, mapping = clean.grid_dataset(seed=seed)
    stamps = column(items["action"], "stamp_ns")
    stamps[2 * 240 + 100] += 400_000
    items["action"] = changed(items["action"], {"stamp_ns": stamps})
    return Planted(
        clean.recording(items, episodes=episodes),
        "action",
        value=4e-4,
        at_s=100 / 30,
        episode=2,
        severity=Severity.ERROR,
        mapping=mapping,
    )


def stamp_ahead(seed: int) -> Planted:
    """An inertial sensor whose clock is 40 ms ahead."""
    items = clean.streams(clean.Recipe(seed))
    stamps = column(items["/imu"], "stamp_ns") + 40_000_000
    items["/imu"] = changed(items["/imu"], {"stamp_ns": stamps})
    return plant(items, "/imu", value=38, tolerance=0.5)


def container_clock(seed: int) -> Planted:
    """A webcam whose file claims 30 Hz and that paused twice for a part of a period."""
    items = clean.streams(clean.Recipe(seed))
    stamps = column(items["/camera"], "stamp_ns")
    stamps[300:] += 10_000_000
    stamps[400:] += 9_000_000
    logs = stamps + 30_000_000
    item = changed(items["/camera"], {"stamp_ns": stamps, "log_ns": logs})
    segment = VideoSegment("cam.mp4", (1, 90_000), "h264", 64, 48, images=600)
    table = item.table.append_column("segment", pa.array(np.zeros(600, np.int32)))
    table = table.append_column("pts", pa.array(np.arange(600) * 3000))
    facts = changed(item, segments=(segment,), attributes={"container_rate_hz": "30"})
    items["/camera"] = MemoryStream(facts.stream, table)
    return plant(items, "/camera", value=20, tolerance=3)


# --- synchrony -------------------------------------------------------------------------------------------


def no_overlap(seed: int) -> Planted:
    """A camera stamped by a clock that started with the machine, its stamps taken for the time."""
    items = clean.streams(clean.Recipe(seed))
    stamps = column(items["/camera"], "stamp_ns") - clean.EPOCH_NS + 5_000_000_000
    items["/camera"] = changed(items["/camera"], {"stamp_ns": stamps}, stamp_clock=Clock(Epoch.BOOT))
    return plant(items, "/camera", value=0, severity=Severity.ERROR)


def late_start(seed: int) -> Planted:
    items = clean.streams(clean.Recipe(seed))
    items["/camera"] = without_rows(items["/camera"], np.arange(75))
    return plant(items, "/camera", value=2.5, tolerance=0.02, at_s=0.0, until_s=2.5)


def early_end(seed: int) -> Planted:
    items = clean.streams(clean.Recipe(seed))
    items["/camera"] = without_rows(items["/camera"], np.arange(480, 600))
    return plant(items, "/camera", value=4.0, tolerance=0.05, at_s=16.0, until_s=20.0, within_s=0.05)


def long_lag(seed: int) -> Planted:
    items = clean.streams(clean.Recipe(seed, lag_s=0.27))
    return plant(items, "/leader -> /follower", value=270, tolerance=4)


def state_leads(seed: int) -> Planted:
    items = clean.streams(clean.Recipe(seed, lag_s=-0.1))
    return plant(items, "/leader -> /follower", value=-100, tolerance=4, severity=Severity.ERROR)


def lag_varies(seed: int) -> Planted:
    """One of eight episodes has a lag of 5 rows where the others have 2."""
    items, episodes, mapping = clean.grid_dataset(episodes=8, seed=seed)
    state, late = column(items["observation.state"], "position"), slice(5 * 240, 6 * 240)
    seconds = np.arange(240) / 30
    noise = 1e-3 * np.random.default_rng(seed).normal(size=(240, 6))
    state[late] = clean.motion(seed + 5, seconds - 5 / 30) + noise
    items["observation.state"] = changed(items["observation.state"], {"position": state})
    recording = clean.recording(items, episodes=episodes)
    return Planted(
        recording, "action -> observation.state", value=5 / 30 * 1e3, tolerance=5, episode=5, mapping=mapping
    )


def joints_lag_apart(seed: int) -> Planted:
    """The gripper follows 150 ms later than the arm."""
    items = clean.streams(clean.Recipe(seed))
    seconds = (column(items["/follower"], "stamp_ns") - clean.EPOCH_NS) / 1e9
    state = column(items["/follower"], "position")
    state[:, 4:] = clean.motion(seed, seconds - 0.21)[:, 4:] + 1e-3 * np.random.default_rng(3).normal(
        size=(len(state), 2)
    )
    items["/follower"] = changed(items["/follower"], {"position": state})
    return plant(items, "/leader -> /follower", value=150, tolerance=8)


# --- signals ---------------------------------------------------------------------------------------------


def not_finite(seed: int) -> Planted:
    items = clean.streams(clean.Recipe(seed))
    force = column(items["/imu"], "linear_acceleration")
    force[1500:1520, 1] = np.nan
    items["/imu"] = changed(items["/imu"], {"linear_acceleration": force})
    return plant(items, "/imu", value=20, at_s=7.5, until_s=7.595, severity=Severity.ERROR)


def infinite(seed: int) -> Planted:
    items = clean.streams(clean.Recipe(seed))
    state = column(items["/follower"], "position")
    state[700, 2] = np.inf
    items["/follower"] = changed(items["/follower"], {"position": state})
    return plant(items, "/follower", value=1, at_s=7.0, severity=Severity.ERROR)


def dead_joint(seed: int) -> Planted:
    items = clean.streams(clean.Recipe(seed))
    state = column(items["/follower"], "position")
    state[:, 3] = 0.25
    items["/follower"] = changed(items["/follower"], {"position": state})
    return plant(items, "/follower", value=0)


def stuck(seed: int) -> Planted:
    """The follower's driver repeats its last reading for 0.8 s."""
    items = clean.streams(clean.Recipe(seed))
    state = column(items["/follower"], "position")
    state[900:980] = state[900]
    items["/follower"] = changed(items["/follower"], {"position": state})
    return plant(
        items, "/follower", value=0.79, tolerance=0.02, at_s=9.0, until_s=9.79, severity=Severity.ERROR
    )


def one_stuck(seed: int) -> Planted:
    """One encoder is silent for 1.5 s."""
    items = clean.streams(clean.Recipe(seed))
    state = column(items["/follower"], "position")
    state[900:1050, 1] = state[900, 1]
    items["/follower"] = changed(items["/follower"], {"position": state})
    return plant(
        items, "/follower", value=1.49, tolerance=0.02, at_s=9.0, until_s=10.49, severity=Severity.ERROR
    )


def frozen_sensor(seed: int) -> Planted:
    items = clean.streams(clean.Recipe(seed))
    frozen = {name: column(items["/imu"], name) for name in ("angular_velocity", "linear_acceleration")}
    for values in frozen.values():
        values[2000:2240] = values[2000]
    items["/imu"] = changed(items["/imu"], frozen)
    return plant(items, "/imu", value=1.195, tolerance=0.01, at_s=10.0, until_s=11.195, severity=Severity.ERROR)


# --- video and episodes ----------------------------------------------------------------------------------


def row_without_image(seed: int) -> Planted:
    items = clean.streams(clean.Recipe(seed))
    segment = VideoSegment("cam.mp4", (1, 90_000), "h264", 64, 48, images=595)
    pts = pa.array([None if 400 <= k < 405 else k * 3000 for k in range(600)], pa.int64())
    table = items["/camera"].table.append_column("segment", pa.array(np.zeros(600, np.int32)))
    items["/camera"] = MemoryStream(
        changed(items["/camera"], segments=(segment,)).stream, table.append_column("pts", pts)
    )
    return plant(items, "/camera", value=5, at_s=400 / 30, until_s=404 / 30)


def nothing_happens(seed: int) -> Planted:
    items, episodes, mapping = clean.grid_dataset(seed=seed)
    for name in items:
        values = column(items[name], "position")
        values[3 * 240 : 4 * 240] = values[3 * 240]
        items[name] = changed(items[name], {"position": values})
    recording = clean.recording(items, episodes=episodes)
    return Planted(recording, "action", value=0, episode=3, at_s=0.0, severity=Severity.ERROR, mapping=mapping)


E, W = Severity.ERROR, Severity.WARNING
FAULTS: list[tuple[str, Callable[[int], Planted]]] = [
    ("STR001", noted(Problem.EMPTY, E)),
    ("STR002", noted(Problem.TRUNCATED, E)),
    ("STR003", noted(Problem.CORRUPT, E)),
    ("STR004", noted(Problem.INDEX, W)),
    ("STR005", noted(Problem.SCHEMA, W)),
    ("STR006", noted(Problem.UNDECODABLE, E)),
    ("STR007", noted(Problem.COUNT, E)),
    ("STR007", count_mismatch),
    ("STR008", noted(Problem.MISSING_FILE, E)),
    ("STR009", noted(Problem.PATH, W)),
    ("STR010", noted(Problem.BAD_VALUE, E)),
    ("STR011", empty_stream),
    ("TIM001", backwards),
    ("TIM002", repeated_time),
    ("TIM003", zero_stamp),
    ("TIM004", gap),
    ("TIM004", gap_of_one),
    ("TIM004", long_gap),
    ("TIM005", held_up),
    ("TIM006", jitter),
    ("TIM007", declared_rate),
    ("TIM008", clock_drift),
    ("TIM008", fast_clock),
    ("TIM009", log_latency),
    ("TIM009", growing_latency),
    ("TIM011", off_grid),
    ("TIM012", stamp_ahead),
    ("TIM013", container_clock),
    ("TIM014", clock_step),
    ("TIM014", clock_step_back),
    ("SYN001", no_overlap),
    ("SYN002", late_start),
    ("SYN003", early_end),
    ("SYN004", long_lag),
    ("SYN004", state_leads),
    ("SYN005", lag_varies),
    ("SYN006", joints_lag_apart),
    ("SIG001", not_finite),
    ("SIG001", infinite),
    ("SIG002", dead_joint),
    ("SIG003", stuck),
    ("SIG003", one_stuck),
    ("SIG004", frozen_sensor),
    ("VID001", row_without_image),
    ("EPI001", nothing_happens),
]


def worth_telling(report: CheckReport) -> set[str]:
    return {finding.code for finding in report.at_least(Severity.WARNING)}


def named(make: Callable[[int], Planted]) -> str:
    return make.__qualname__.replace(".<locals>", "")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("code", "make"), FAULTS, ids=[f"{c}-{named(m)}" for c, m in FAULTS])
def test_a_planted_fault_is_found_where_it_is_and_nowhere_else(
    code: str, make: Callable[[int], Planted], seed: int
) -> None:
    planted = make(seed)
    report = check(planted.recording, mapping=planted.mapping)
    assert report.failed == ()
    told = [f for f in report.at_least(planted.severity) if f.code == code]
    others = [(f.code, f.stream, f.message) for f in report.at_least(Severity.WARNING) if f.code != code]
    assert [other for other in others if other[0] not in planted.also] == []
    assert len(told) == 1, [f.message for f in told]
    says(told[0], planted)


def says(finding: Finding, planted: Planted) -> None:
    assert finding.stream == planted.stream
    assert finding.severity is planted.severity
    assert finding.message
    assert finding.fix
    if planted.value is not None:
        assert finding.value == pytest.approx(planted.value, abs=planted.tolerance)
    if planted.episode is not None:
        assert finding.episode == planted.episode
    if planted.at_s is not None:
        assert finding.start_s == pytest.approx(planted.at_s, abs=planted.within_s)
    if planted.until_s is not None:
        assert finding.end_s == pytest.approx(planted.until_s, abs=planted.within_s)


def test_every_rule_has_a_planted_fault() -> None:
    covered = {code for code, _ in FAULTS} | {
        "TIM010",  # information only: test_clean_recordings
        "VID002",  # needs a video file: test_video_rows
        "VID003",  # needs calibration: test_calibration_size
        *("LAB001", "LAB002", "LAB003", "LAB004"),  # test_label_rules
    }
    assert {rule.code for rule in built_in_rules()} == covered
