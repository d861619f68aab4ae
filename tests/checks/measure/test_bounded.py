from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from twinloop.checks.measure.bounded import PlaceList, StridedSample


@given(st.lists(st.integers(0, 300), max_size=12), st.integers(2, 64))
def test_a_strided_sample_is_every_nth_whatever_the_blocks(blocks: list[int], capacity: int) -> None:
    sample = StridedSample(capacity)
    start = 0
    for size in blocks:
        sample.add(np.arange(start, start + size))
        start += size
    values = sample.values()
    assert len(values) <= capacity
    assert values.tolist() == list(range(0, start, sample.stride))


def test_places_are_capped_and_counted() -> None:
    places = PlaceList(capacity=3)
    for start in (0, 2, 4):
        rows = np.arange(start, start + 2)
        places.add(rows, rows * 10, rows * 10 + 1)
    kept = places.places()
    assert kept.total == 6
    assert kept.row.tolist() == [0, 1, 2]
    assert kept.within(10, 20).row.tolist() == [1]
    assert len(PlaceList().places()) == 0
