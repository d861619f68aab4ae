"""Rows follow a camera's images or a grid; gaps split, and a rate that does not fit is resampled."""

from __future__ import annotations

import numpy as np
import pytest
from export_lab import START_NS, at_rate

from twinloop.deliver.rows import camera_spans, fits_rate, fixed_rows, grid_ns, mean_interval_ns


def test_a_grid_does_not_drift():
    rows = grid_ns(START_NS, 30 * 36_000 + 1, 30)
    assert rows[-1] == START_NS + 36_000 * 10**9
    assert rows[1] - rows[0] == 33_333_333
    assert np.abs(rows - START_NS - np.arange(len(rows)) * 1e9 / 30).max() <= 256  # float64's own steps


def test_every_image_is_a_row():
    times = at_rate(100, 30.0, jitter_ms=5.0)
    (span,) = camera_spans(times, 30)
    assert (span.row_ns == times).all()
    assert not span.resampled


@pytest.mark.parametrize("missing", [[50], [50, 51, 52], list(range(40, 60))])
def test_a_gap_splits(missing):
    times = np.delete(at_rate(100, 30.0), missing)
    first, second = camera_spans(times, 30)
    assert len(first.row_ns) == missing[0]
    assert len(second.row_ns) == 100 - missing[-1] - 1
    assert second.after_gap_s == pytest.approx((len(missing) + 1) / 30)


def test_a_pause_of_up_to_one_and_a_half_periods_is_no_gap():
    times = at_rate(100, 30.0)
    times[50:] += 15_000_000
    assert len(camera_spans(times, 30)) == 1
    times[50:] += 3_000_000
    assert len(camera_spans(times, 30)) == 2


def test_kept_gaps_are_filled_evenly():
    times = np.delete(at_rate(100, 30.0), [50, 51])
    (span,) = camera_spans(times, 30, keep_gaps=True)
    assert span.filled == 2
    assert np.isin(times, span.row_ns).all()
    assert np.abs(np.diff(span.row_ns) - 1e9 / 30).max() < 2


def test_a_rate_over_one_percent_off_gets_a_grid():
    (span,) = camera_spans(at_rate(300, 29.5), 30)
    assert "29.500 Hz, 1.7% off the rows' 30" in span.resampled
    assert (span.row_ns == grid_ns(START_NS, len(span.row_ns), 30)).all()
    assert span.row_ns[-1] <= at_rate(300, 29.5)[-1]
    (span,) = camera_spans(at_rate(300, 29.8), 30)
    assert not span.resampled


def test_rates_are_judged_per_run():
    slow = at_rate(200, 15.0, START_NS + 20 * 10**9)
    fast, slow_span = camera_spans(np.concatenate([at_rate(200, 30.0), slow]), 30)[:2]
    assert not fast.resampled
    assert slow_span.resampled or len(slow_span.row_ns) == 1


def test_stamps_of_whole_milliseconds_measure_30_hz():
    times = at_rate(300, 30.0) // 1_000_000 * 1_000_000
    assert 1e9 / mean_interval_ns(times) == pytest.approx(30, rel=1e-3)
    assert fits_rate(times, 30)


def test_a_short_run_fits_whatever_its_jitter():
    assert fits_rate(START_NS + np.array([0, 36_000_000, 70_000_000]), 30)


def test_images_of_one_time_count_once():
    times = np.sort(np.concatenate([at_rate(50, 30.0), at_rate(50, 30.0)[10:12]]))
    (span,) = camera_spans(times, 30)
    assert len(span.row_ns) == 50


def test_fixed_rows_end_before_the_end():
    rows = fixed_rows(START_NS, START_NS + 10**9, 30)
    assert len(rows) == 30
    assert rows[-1] < START_NS + 10**9
    assert len(fixed_rows(START_NS, START_NS + 10**9 + 1, 30)) == 31
    assert not len(fixed_rows(START_NS, START_NS, 30))


def test_fewer_than_two_images_make_no_span():
    assert camera_spans(np.array([START_NS]), 30) == []
    assert camera_spans(np.zeros(0, np.int64), 30) == []
