"""Images' pts for players: increasing whatever the times, and true where they run forward."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from twinloop.store.media import MKV_BASE, MP4_BASE, Ticks

TIMES = arrays(np.int64, st.integers(0, 40), elements=st.integers(0, 2**62))


@pytest.mark.parametrize("base", [MKV_BASE, MP4_BASE])
@given(times=TIMES, cut=st.integers(0, 40))
def test_ticks_increase_and_do_not_depend_on_batches(base, times, cut):
    whole = Ticks(base).of(times)
    halves = Ticks(base)
    pieces = np.concatenate([halves.of(times[:cut]), halves.of(times[cut:])])
    np.testing.assert_array_equal(whole, pieces)
    assert (np.diff(whole) > 0).all()
    if len(whole):
        assert whole[0] == 0


@given(arrays(np.int64, st.integers(1, 40), elements=st.integers(2_000_000, 9_000_000_000)))
def test_ticks_are_the_times_where_they_run_forward(steps):
    times = 1_767_607_200_000_000_000 + np.cumsum(steps)
    ticks = Ticks(MKV_BASE).of(times)
    np.testing.assert_array_equal(ticks, (times - times[0]) // 1_000_000)
