from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twinloop.checks.measure.timing import Timing, TimingMeter


def measured(times: np.ndarray, block: int | None = None, seq: np.ndarray | None = None) -> Timing:
    meter = TimingMeter()
    rows = np.arange(len(times))
    for begin in range(0, len(times), block or len(times) or 1):
        part = slice(begin, begin + (block or len(times)))
        meter.add(times[part], rows[part], None if seq is None else seq[part])
    return meter.finish()


def regular(count: int, period_ns: int = 10_000_000, start: int = 1_700_000_000_000_000_000) -> np.ndarray:
    return start + np.arange(count, dtype=np.int64) * period_ns


def test_a_regular_stream() -> None:
    timing = measured(regular(1000))
    assert (timing.count, timing.period_ns, timing.jitter_ns, timing.intervals.steadiness) == (1000, 1e7, 0, 1)
    assert timing.mean_ns == 1e7
    assert timing.span_ns == 999 * 10_000_000
    assert len(timing.long) == timing.backwards.total == timing.repeated.total == 0


@pytest.mark.parametrize("times", [np.empty(0, np.int64), regular(1), regular(2)])
def test_very_few_samples(times: np.ndarray) -> None:
    timing = measured(times)
    assert timing.count == len(times)
    assert timing.period_ns == (1e7 if len(times) == 2 else 0)
    assert timing.jitter_ns == 0
    assert np.isfinite(timing.gap_limit_ns(1.5))


@given(seed=st.integers(0, 1000), block=st.sampled_from([1, 7, 100, 5000]))
@settings(max_examples=20, deadline=None, derandomize=True)
def test_blocks_make_no_difference(seed: int, block: int) -> None:
    rng = np.random.default_rng(seed)
    count = 3000 if block == 1 else 40_000
    times = regular(count) + rng.integers(-2_000_000, 2_000_000, count)
    times[rng.integers(0, count, 5)] -= 200_000_000
    times = np.delete(times, rng.integers(1, count - 1, 5))
    whole, parts = measured(times), measured(times, block)
    assert parts.count == whole.count
    assert parts.first_ns == whole.first_ns
    assert parts.last_ns == whole.last_ns
    assert parts.backwards.row.tolist() == whole.backwards.row.tolist()
    assert parts.period_ns == pytest.approx(whole.period_ns, rel=1e-3)
    lost = [timing.long.row[timing.long.excess > 0.6].tolist() for timing in (whole, parts)]
    assert lost[0] == lost[1]


def test_long_streams_take_little_memory_and_keep_the_longest_intervals() -> None:
    times = regular(600_000, 1_000_000)
    times[400_000:] += 50_000_000
    timing = measured(times, 10_000)
    assert len(timing.sample_ns) <= 65_536
    assert timing.long.row.tolist() == [400_000]
    assert timing.long.length_ns.tolist() == [51_000_000]
    assert timing.long.excess[0] == pytest.approx(50)


def test_the_number_of_missing_samples() -> None:
    times = np.delete(regular(1000), [300, 301, 302, 700])
    long = measured(times).long
    assert np.rint(long.excess).tolist() == [3, 1]
    assert long.row.tolist() == [300, 697]


def test_a_late_sample_is_not_a_missing_one() -> None:
    times = regular(1000)
    times[500] += 9_000_000
    long = measured(times).long
    assert long.excess[0] == pytest.approx(0, abs=0.05)


def test_a_stall_that_is_made_up_for_misses_nothing() -> None:
    times = regular(1000)
    times[400:440] = times[440] - 1000 * np.arange(40, 0, -1)
    long = measured(times).long
    assert long.length_ns[0] > 400_000_000
    assert long.excess[0] == pytest.approx(0, abs=0.1)
    assert long.followed[0]


def test_two_samples_in_the_wrong_order_are_no_gap() -> None:
    times = regular(1000)
    times[[500, 501]] = times[[501, 500]]
    timing = measured(times)
    assert timing.backwards.row.tolist() == [501]
    assert (timing.backwards.end_ns - timing.backwards.start_ns).tolist() == [10_000_000]
    assert len(timing.long) == 0


def test_samples_without_a_time_are_not_missing() -> None:
    meter = TimingMeter()
    times, rows = regular(1000), np.arange(1000)
    keep = (rows < 500) | (rows > 503)
    meter.add(times[keep], rows[keep], None)
    long = meter.finish().long
    assert long.unplaced.tolist() == [4]
    assert long.excess[0] == pytest.approx(0)


def test_the_producers_count_tells_what_is_lost() -> None:
    keep = np.delete(np.arange(1000), [200, 201])
    long = measured(regular(1000)[keep], seq=keep.astype(np.int64)).long
    assert long.lost_seq.tolist() == [2]


def test_lost_samples_and_stalls_do_not_count_as_jitter() -> None:
    rng = np.random.default_rng(0)
    times = regular(5000) + (rng.normal(size=5000) * 200_000).astype(np.int64)
    clean = measured(times).jitter_ns
    times = np.delete(times, rng.choice(np.arange(1, 4999), 200, replace=False))
    assert measured(times).jitter_ns == pytest.approx(clean, rel=0.1)
    assert clean == pytest.approx(np.sqrt(2) * 200_000, rel=0.05)


def test_distance_from_a_grid() -> None:
    meter = TimingMeter(rate_hz=30.0)
    times = np.rint(np.arange(300) * 1e9 / 30).astype(np.int64)
    times[123] += 250_000
    meter.add(times, np.arange(300), None)
    distance, row, time = meter.finish().off_grid or (0, 0, 0)
    assert (distance, row, time) == (pytest.approx(250_000, abs=1), 123, times[123])
