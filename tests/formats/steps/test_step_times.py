"""Times that a source tells of its steps."""

from __future__ import annotations

import numpy as np
import pytest

from twinloop.core.clock import Clock, Epoch
from twinloop.core.errors import Where
from twinloop.core.kinds import Kind, StampSource
from twinloop.formats.notes import Notes
from twinloop.formats.steps.grid import StepGrid
from twinloop.formats.steps.stamps import Stamps, stamps_of
from twinloop.formats.steps.times import StepTimes, agreed, timed

T0 = 1_700_000_000_000_000_000
DRIVER = Stamps()


def steps(*episodes: list[int], stamps: Stamps = DRIVER) -> tuple[StepGrid, Notes]:
    grid = StepGrid(np.array([len(times) for times in episodes], np.int64), 10.0)
    notes = Notes()
    times = [np.array(each, np.int64) for each in episodes]
    return timed(grid, times, stamps, "row_ns", notes, Where()), notes


def test_times_are_taken_as_they_stand():
    made, notes = steps([T0, T0 + 7], [], [T0 + 50])
    assert isinstance(made, StepTimes) and not notes.all
    assert made.stamps(0, range(2)).tolist() == [T0, T0 + 7]
    assert made.stamps(2, range(1)).tolist() == [T0 + 50]
    assert made.base_ns.tolist() == [T0, T0 + 7, T0 + 50]
    assert made.stamps(1, range(1)).tolist() == [T0 + 7]  # what is of an episode without steps
    assert made.span(0).end_ns == T0 + 8
    stream = made.stream("action", Kind.TABLE, encoding="x")
    assert (stream.start_ns, stream.end_ns, stream.rate_hz) == (T0, T0 + 50, 10.0)
    assert stream.stamp_source is StampSource.DRIVER and stream.stamp_clock == Clock(Epoch.UNIX)


def test_windows_cut_by_the_told_times():
    made, _ = steps([T0, T0 + 10, T0 + 20], [T0 + 30])
    assert made.within(0, T0 + 1, T0 + 20) == range(1, 2)
    assert made.within(1, None, T0 + 30) == range(0)
    assert made.begins_within(1, T0 + 30, None)


def test_episodes_that_lie_over_one_another_follow_one_another():
    made, _ = steps([0, 1_500_000_000], [0, 5])
    assert made.stamps(1, range(2)).tolist() == [2_000_000_000, 2_000_000_005]
    stream = made.stream("action", Kind.TABLE, encoding="x")
    assert stream.stamp_clock.epoch is Epoch.EPISODE and "moved" in stream.attributes["times"]


@pytest.mark.parametrize(
    ("episode", "why"),
    [([T0 + 1, T0], "fall"), ([T0], "1 times in 2 steps"), ([-(1 << 63), T0], "none")],
)
def test_what_is_no_time_is_noted(episode, why):
    grid, notes = StepGrid(np.array([2]), 10.0), Notes()
    assert timed(grid, [np.array(episode)], DRIVER, "row_ns", notes, Where()) is grid
    assert why in notes.all[0].message


def test_a_grid_that_is_called_one_stays_a_grid():
    made, notes = steps([0, 100_000_000], stamps=stamps_of("grid", "episode"))
    assert type(made) is StepGrid and not notes.all


def test_what_stamps_are_is_told_in_words():
    assert stamps_of("sensor", "device@cam") == Stamps(StampSource.SENSOR, Clock(Epoch.DEVICE, "cam"))
    assert stamps_of("nonsense", None) == Stamps()
    mixed = {stamps_of("grid", "episode"), stamps_of("driver", "unix")}
    assert not agreed(mixed).are_true
    assert agreed({stamps_of("driver", "unix"), stamps_of("log", "unix")}) == Stamps(
        StampSource.DRIVER, Clock()
    )
