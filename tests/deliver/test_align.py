"""Samples come to the rows they belong to, and none from the future unless asked for."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from twinloop.core.se3 import SE3
from twinloop.deliver.align import NO_SAMPLE, Align, align_samples, latest_at, nearest_to

times = st.lists(st.integers(0, 1000), min_size=1, max_size=30).map(lambda t: np.array(sorted(t), np.int64))
rows = st.lists(st.integers(-10, 1010), min_size=1, max_size=30, unique=True).map(
    lambda t: np.array(sorted(t), np.int64)
)


@given(times, rows)
def test_latest_is_the_last_sample_not_after_the_row(times_ns, row_ns):
    for row, place in zip(row_ns, latest_at(times_ns, row_ns), strict=True):
        before = np.nonzero(times_ns <= row)[0]
        assert place == (before[-1] if len(before) else NO_SAMPLE)


@given(times, rows)
def test_nearest_has_the_least_distance(times_ns, row_ns):
    places = nearest_to(times_ns, row_ns)
    least = np.abs(times_ns[None] - row_ns[:, None]).min(axis=1)
    assert (np.abs(times_ns[places] - row_ns) == least).all()


@given(times, rows)
def test_by_default_nothing_comes_from_the_future(times_ns, row_ns):
    values = times_ns[:, None].astype(float)
    aligned = align_samples(times_ns, values, row_ns)
    assert (aligned.values[aligned.found, 0] <= row_ns[aligned.found]).all()
    assert (aligned.age_ns[aligned.found] >= 0).all()
    assert np.isnan(aligned.values[~aligned.found]).all()
    assert (aligned.found == (row_ns >= times_ns[0])).all()


@given(times, rows)
def test_interpolation_of_a_line_is_the_line(times_ns, row_ns):
    values = 3.0 * times_ns[:, None] + 1
    aligned = align_samples(times_ns, values, row_ns, Align.INTERP)
    inside = aligned.found & (row_ns <= times_ns[-1])
    assert np.allclose(aligned.values[inside, 0], 3.0 * row_ns[inside] + 1)
    after = row_ns > times_ns[-1]
    assert (aligned.values[after, 0] == values[-1, 0]).all()


def test_samples_out_of_order_are_sorted_first():
    times_ns = np.array([30, 10, 20])
    aligned = align_samples(times_ns, times_ns[:, None].astype(float), np.array([10, 25, 40]))
    assert aligned.values[:, 0].tolist() == [10, 20, 30]
    assert aligned.source_ns.tolist() == [10, 20, 30]
    assert aligned.age_ns.tolist() == [0, 5, 10]


def test_interpolated_age_is_the_distance_to_the_farther_sample():
    aligned = align_samples(np.array([0, 100]), np.zeros((2, 1)), np.array([0, 10, 90, 130]), Align.INTERP)
    assert aligned.age_ns.tolist() == [0, 90, 90, 30]


def test_rotations_turn_along_the_shorter_arc_and_keep_their_sign():
    quarter = SE3.exp([[0, 0, 0, 0, 0, np.pi / 2]]).rotation[0]
    values = np.array([[5.0, 1, 0, 0, 0], [7.0, *-quarter]])
    aligned = align_samples(np.array([0, 100]), values, np.array([0, 50, 100]), Align.INTERP, rotations=(1,))
    half = SE3.exp([[0, 0, 0, 0, 0, np.pi / 4]]).rotation[0]
    assert np.allclose(aligned.values[1], [6.0, *half])
    assert np.allclose(np.linalg.norm(aligned.values[:, 1:], axis=1), 1)
    blended = align_samples(np.array([0, 100]), values, np.array([50]), Align.INTERP)
    assert np.linalg.norm(blended.values[0, 1:]) < 0.5


def test_a_rotation_without_direction_holds_the_sample_before():
    values = np.array([[1.0, 0, 0, 0], [0, 0, 0, 0]])
    aligned = align_samples(np.array([0, 100]), values, np.array([50]), Align.INTERP, rotations=(0,))
    assert aligned.values[0].tolist() == [1, 0, 0, 0]


def test_no_samples_at_all_leave_rows_empty():
    for align in Align:
        aligned = align_samples(np.zeros(0, np.int64), np.zeros((0, 3)), np.array([1, 2]), align)
        assert not aligned.found.any()
        assert aligned.values.shape == (2, 3)
        assert np.isnan(aligned.values).all()
