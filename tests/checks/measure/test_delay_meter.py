from __future__ import annotations

import numpy as np
import pytest

from twinloop.checks.measure.delay import Delay, DelayMeter

EPOCH = 1_700_000_000_000_000_000


def measured(stamps: np.ndarray, logs: np.ndarray, block: int = 1000) -> Delay:
    meter = DelayMeter()
    rows = np.arange(len(stamps))
    for begin in range(0, len(stamps), block):
        part = slice(begin, begin + block)
        meter.add(stamps[part], logs[part], rows[part])
    delay = meter.finish()
    assert delay is not None
    return delay


def stream(count: int, ppm: float, seed: int = 0, rate_hz: float = 100.0) -> tuple[np.ndarray, np.ndarray]:
    """Stamps of a clock that runs slow by ppm, and log times with queues in them."""
    rng = np.random.default_rng(seed)
    true = np.arange(count) / rate_hz * 1e9
    stamps = EPOCH + np.rint(true * (1 - ppm * 1e-6)).astype(np.int64)
    queue = rng.exponential(1e6, count) + 20e6 * (rng.random(count) < 0.05)
    return stamps, EPOCH + np.rint(true + 2e6 + queue).astype(np.int64)


@pytest.mark.parametrize("ppm", [-120.0, 0.0, 35.0, 250.0, 50_000.0])
@pytest.mark.parametrize("count", [2_000, 30_000])
def test_drift_is_measured_through_queues(ppm: float, count: int) -> None:
    delay = measured(*stream(count, ppm))
    assert delay.line is not None
    off_ms = abs(delay.line.shift_ns - ppm * 1e-6 * count / 100 * 1e9) / 1e6
    assert off_ms < 0.3 + 0.06 * abs(ppm) * 1e-6 * count / 100 * 1e3
    assert delay.line.confidence > 0.9 if abs(ppm) >= 250 else True


def test_a_queue_that_comes_and_goes_is_no_drift() -> None:
    stamps, logs = stream(6000, 0.0)
    logs[2000:2400] += 40_000_000
    line = measured(stamps, logs).line
    assert line is not None
    assert abs(line.shift_ns) < 0.3e6


def test_extremes_are_exact() -> None:
    stamps, logs = stream(50_000, 0.0)
    logs[31_234] = stamps[31_234] + 900_000_000
    logs[2_345] = stamps[2_345] - 5_000_000
    delay = measured(stamps, logs)
    assert (delay.most_ns, delay.most_at_ns) == (900_000_000, stamps[31_234])
    assert (delay.least_ns, delay.least_at_ns) == (-5_000_000, stamps[2_345])
    assert len(delay.delays_ns) <= 16_384
    assert delay.floor.shape[1] <= 1_024


def test_the_floor_shifts_where_a_clock_is_set() -> None:
    stamps, logs = stream(5000, 0.0)
    stamps[2500:] += 70_000_000
    delay = measured(stamps, logs)
    assert delay.shift_at(2500) == pytest.approx(-70e6, abs=1e6)
    assert delay.shift_at(1000) == pytest.approx(0, abs=1e6)
    assert delay.shift_at(0) is None


def test_too_few_samples_have_no_line() -> None:
    assert measured(*stream(20, 0.0)).line is None
    assert DelayMeter().finish() is None


def test_stamps_that_stand_still_have_no_line() -> None:
    stamps = np.full(500, EPOCH)
    assert measured(stamps, stamps + np.arange(500)).line is None
