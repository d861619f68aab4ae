from __future__ import annotations

import numpy as np
import pytest

from twinloop.checks.measure.lag import Lag, measure_lag, moving

EPOCH = 1_700_000_000_000_000_000
NAMES = ("a", "b", "c", "d")


def motion(seed: int, seconds: np.ndarray, joints: int = 4) -> np.ndarray:
    rng = np.random.default_rng(seed)
    shape = (5, joints, 1)
    rate, size, phase = rng.uniform(0.1, 1.0, shape), rng.uniform(0.1, 0.4, shape), rng.uniform(0, 6.3, shape)
    return (size * np.sin(2 * np.pi * rate * seconds + phase)).sum(axis=0).T


def pair(
    lag_s: float | np.ndarray,
    *,
    seed: int = 0,
    command_hz: float = 50.0,
    state_hz: float = 50.0,
    duration_s: float = 15.0,
    noise: float = 1e-3,
    offset: float = 0.0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, 7])
    t_command = np.arange(0, duration_s, 1 / command_hz) + rng.uniform(0, 1 / command_hz)
    t_state = np.arange(0, duration_s, 1 / state_hz) + rng.uniform(0, 1 / state_hz)
    lags = np.broadcast_to(lag_s, 4)
    state = np.stack([motion(seed, t_state - lag)[:, d] for d, lag in enumerate(lags)], axis=1)
    state += offset + noise * rng.normal(size=state.shape)
    ns = [EPOCH + np.rint(t * 1e9).astype(np.int64) for t in (t_command, t_state)]
    return ns[0], motion(seed, t_command), ns[1], state


def lag_of(*args: np.ndarray, **facts: float) -> Lag:
    lag = measure_lag(*args, NAMES, **facts)
    assert isinstance(lag, Lag), lag
    return lag


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("lag_ms", [-120.0, -15.0, 0.0, 7.0, 33.0, 150.0, 480.0])
@pytest.mark.parametrize(("command_hz", "state_hz"), [(30, 30), (50, 200), (100, 500), (200, 30)])
def test_both_estimators_find_a_delay_below_a_sample(
    seed: int, lag_ms: float, command_hz: float, state_hz: float
) -> None:
    lag = lag_of(*pair(lag_ms / 1e3, seed=seed, command_hz=command_hz, state_hz=state_hz))
    within = 0.06 * lag.step_ns / 1e6 + 0.5
    assert lag.lag_ns / 1e6 == pytest.approx(lag_ms, abs=within)
    assert lag.correlation_ns / 1e6 == pytest.approx(lag_ms, abs=4 * within)
    assert lag.confidence > 0.8
    assert lag.doubt == ""


def test_an_offset_of_the_leader_does_not_count() -> None:
    lag = lag_of(*pair(0.1, offset=0.4))
    assert lag.lag_ns / 1e6 == pytest.approx(100, abs=1)


def test_noise_lowers_confidence_and_not_the_lag() -> None:
    clean, noisy = lag_of(*pair(0.1)), lag_of(*pair(0.1, noise=0.05))
    assert noisy.lag_ns / 1e6 == pytest.approx(100, abs=8)
    assert noisy.confidence < clean.confidence


def test_a_first_order_servo_lags_by_its_time_constant() -> None:
    fine = np.arange(0, 20, 0.001)
    command = motion(3, fine)
    from scipy.signal import lfilter

    keep = np.exp(-0.001 / 0.05)
    state = lfilter([1 - keep], [1, -keep], command, axis=0)
    ns = EPOCH + np.rint(fine * 1e9).astype(np.int64)
    chosen = slice(1000, None, 10)
    lag = lag_of(ns[chosen], command[chosen], ns[chosen], state[chosen])
    assert lag.lag_ns / 1e6 == pytest.approx(50, abs=4)


def test_joints_that_lag_apart_are_told_apart() -> None:
    lag = lag_of(*pair(np.array([0.05, 0.05, 0.05, 0.3])))
    by_name = {element.name: element.lag_ns / 1e6 for element in lag.clear_elements}
    assert by_name["a"] == pytest.approx(50, abs=3)
    assert by_name["d"] == pytest.approx(300, abs=3)


def test_joints_at_rest_are_left_out() -> None:
    command_ns, command, state_ns, state = pair(0.1)
    rng = np.random.default_rng(1)
    command[:, 0] = 0.3
    state[:, 0] = 0.3 + 1e-3 * rng.normal(size=len(state))
    lag = lag_of(command_ns, command, state_ns, state)
    assert [element.name for element in lag.elements] == ["b", "c", "d"]
    assert lag.lag_ns / 1e6 == pytest.approx(100, abs=1)


def test_mixed_units_do_not_drown_the_others() -> None:
    command_ns, command, state_ns, state = pair(np.array([0.05, 0.05, 0.05, 0.3]))
    command[:, 3] *= 1000
    state[:, 3] *= 1000
    assert lag_of(command_ns, command, state_ns, state).lag_ns / 1e6 < 200


@pytest.mark.parametrize("seed", range(6))
def test_unrelated_signals_have_no_lag(seed: int) -> None:
    command_ns, command, _, _ = pair(0.0, seed=seed, duration_s=30)
    _, _, state_ns, state = pair(0.0, seed=seed + 100, duration_s=30)
    lag = measure_lag(command_ns, command, state_ns, state, NAMES)
    assert isinstance(lag, str) or lag.doubt or lag.confidence < 0.3


def test_a_lag_beyond_the_search_is_not_told() -> None:
    lag = measure_lag(*pair(1.5), NAMES, search_s=0.5)
    assert isinstance(lag, str) or lag.doubt


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda c, a, s, b: (c[:3], a[:3], s, b), "too few"),
        (lambda c, a, s, b: (c, a, s + 60_000_000_000, b), "share too short a time"),
        (lambda c, a, s, b: (c, a * 0, s, b), "no element moves"),
        (lambda c, a, s, b: (c, a * np.nan, s, b), "no element moves"),
        (lambda c, a, s, b: (c * 0 + EPOCH, a, s, b), "share too short a time"),
    ],
)
def test_what_cannot_be_measured_says_why(change: object, why: str) -> None:
    told = measure_lag(*change(*pair(0.1)), NAMES)  # type: ignore[operator]
    assert isinstance(told, str)
    assert why in told


def test_single_nans_do_not_spoil_it() -> None:
    command_ns, command, state_ns, state = pair(0.1)
    state[100, 1] = np.nan
    assert lag_of(command_ns, command, state_ns, state).lag_ns / 1e6 == pytest.approx(100, abs=1)


def test_what_counts_as_moving() -> None:
    rng = np.random.default_rng(0)
    time = np.linspace(0, 10, 500)
    values = np.stack(
        [
            np.sin(time),  # moves
            0.01 * rng.normal(size=500),  # trembles
            np.zeros(500),  # rests
            np.sin(time) + 0.02 * rng.normal(size=500),  # moves and trembles
            1e6 + 1e-4 * np.sin(time),  # beyond its own resolution
        ],
        axis=1,
    )
    assert moving(values).tolist() == [True, False, False, True, False]
    assert moving(values[:2]).tolist() == [False] * 5
