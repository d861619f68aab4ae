"""Clean synthetic recordings for the tests of rules: an arm with a leader, a camera and an inertial sensor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from twinloop.core.kinds import Kind, Role, StampSource
from twinloop.core.mapping import Cut, EpisodeCut, Feature, Mapping
from twinloop.core.recording import EpisodeSpan
from twinloop.testing.memory import MemoryRecording, MemoryStream, memory_stream

EPOCH_NS = 1_700_000_000_000_000_000
JOINTS = ("pan", "lift", "elbow", "flex", "roll", "gripper")

MAPPING = Mapping(
    features=(
        Feature("action", "/leader", Role.ACTION, field="position"),
        Feature("observation.state", "/follower", Role.OBSERVATION, field="position"),
        Feature("observation.images.wrist", "/camera", Role.OBSERVATION),
    ),
    episodes=EpisodeCut(Cut.WHOLE),
)


@dataclass(frozen=True)
class Recipe:
    """What a clean recording is like. Jitter is the standard deviation of a time over the period."""

    seed: int = 0
    duration_s: float = 20.0
    command_hz: float = 100.0
    state_hz: float = 100.0
    camera_hz: float = 30.0
    imu_hz: float = 200.0
    jitter: float = 0.02
    lag_s: float = 0.06
    camera_latency_s: float = 0.02


def times_of(
    rng: np.random.Generator, rate_hz: float, duration_s: float, jitter: float, latency_s: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Seconds, stamps and log times (N,) of a stream."""
    count = int(duration_s * rate_hz)
    seconds = np.arange(count) / rate_hz + jitter / rate_hz * np.clip(rng.normal(size=count), -3, 3)
    stamps = EPOCH_NS + np.rint(seconds * 1e9).astype(np.int64)
    queue = np.abs(rng.normal(size=count)) * 0.3e6
    logs = np.maximum.accumulate(stamps + (latency_s * 1e9 + queue).astype(np.int64))
    return seconds, stamps, logs


def motion(seed: int, seconds: np.ndarray) -> np.ndarray:
    """Smooth positions (N, 6): sums of slow sines, each joint with its own."""
    rng = np.random.default_rng([seed, 1])
    shape = (4, len(JOINTS), 1)
    rate, size, phase = rng.uniform(0.1, 0.9, shape), rng.uniform(0.1, 0.4, shape), rng.uniform(0, 6.3, shape)
    return (size * np.sin(2 * np.pi * rate * seconds + phase)).sum(axis=0).T


def streams(recipe: Recipe = Recipe()) -> dict[str, MemoryStream]:
    """The streams of a clean recording by name."""
    rng = np.random.default_rng(recipe.seed)

    def clock(rate_hz: float, latency_s: float = 0.002) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return times_of(rng, rate_hz, recipe.duration_s, recipe.jitter, latency_s)

    seconds, stamps, logs = clock(recipe.command_hz)
    leader = memory_stream(
        "/leader",
        Kind.JOINTS,
        {"position": motion(recipe.seed, seconds)},
        stamp_ns=stamps,
        log_ns=logs,
        names=JOINTS,
    )
    seconds, stamps, logs = clock(recipe.state_hz)
    state = motion(recipe.seed, seconds - recipe.lag_s) + 1e-3 * rng.normal(size=(len(seconds), len(JOINTS)))
    follower = memory_stream(
        "/follower", Kind.JOINTS, {"position": state}, stamp_ns=stamps, log_ns=logs, names=JOINTS
    )
    seconds, stamps, logs = clock(recipe.camera_hz, recipe.camera_latency_s)
    camera = memory_stream("/camera", Kind.IMAGE, stamp_ns=stamps, log_ns=logs)
    seconds, stamps, logs = clock(recipe.imu_hz)
    noise = rng.normal(size=(2, len(seconds), 3))
    imu = memory_stream(
        "/imu",
        Kind.IMU,
        {"angular_velocity": noise[0], "linear_acceleration": noise[1] + [0, 0, 9.81]},
        stamp_ns=stamps,
        log_ns=logs,
    )
    return {item.stream.name: item for item in (leader, follower, camera, imu)}


def recording(items: dict[str, MemoryStream], **facts: object) -> MemoryRecording:
    """A recording of streams."""
    return MemoryRecording(list(items.values()), **facts)  # type: ignore[arg-type]


def grid_dataset(
    episodes: int = 6, rows: int = 240, rate_hz: float = 30.0, lag_rows: float = 2.0, seed: int = 0
) -> tuple[dict[str, MemoryStream], tuple[EpisodeSpan, ...], Mapping]:
    """Streams, episodes and mapping of a dataset whose times are row / rate, episode after episode."""
    step = 1e9 / rate_hz
    gap = 5_000_000_000
    stamps, state, action, spans = [], [], [], []
    for index in range(episodes):
        start = index * (round(rows * step) + gap)
        seconds = np.arange(rows) / rate_hz
        times = start + np.rint(np.arange(rows) * step).astype(np.int64)
        noise = 1e-3 * np.random.default_rng([seed, index]).normal(size=(rows, len(JOINTS)))
        stamps.append(times)
        action.append(motion(seed + index, seconds))
        state.append(motion(seed + index, seconds - lag_rows / rate_hz) + noise)
        spans.append(EpisodeSpan(index, int(times[0]), int(times[-1]) + round(step)))
    facts = {"stamp_source": StampSource.GRID, "rate_hz": rate_hz, "names": JOINTS}
    times = np.concatenate(stamps)
    items = {
        name: memory_stream(
            name, Kind.JOINTS, {"position": np.concatenate(values)}, stamp_ns=times, role=role, **facts
        )
        for name, values, role in (
            ("observation.state", state, Role.OBSERVATION),
            ("action", action, Role.ACTION),
        )
    }
    mapping = Mapping(
        features=(
            Feature("action", "action", Role.ACTION, field="position"),
            Feature("observation.state", "observation.state", Role.OBSERVATION, field="position"),
        ),
        episodes=EpisodeCut(Cut.MARKED),
    )
    return items, tuple(spans), mapping
