import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinloop.core.clock import Clock, ClockModel, Epoch
from twinloop.core.errors import UsageError

DEVICE, UNIX = Clock(Epoch.DEVICE, "camera"), Clock(Epoch.UNIX, "recorder")
YEAR_NS = 365 * 86_400 * 10**9


@given(
    at=st.integers(-YEAR_NS, 60 * YEAR_NS),
    offset=st.integers(-60 * YEAR_NS, 60 * YEAR_NS),
    drift=st.floats(-500, 500),
    later=st.integers(-86_400 * 10**9, 86_400 * 10**9),
)
def test_inverse_undoes_an_affine_model_to_the_nanosecond(at, offset, drift, later):
    model = ClockModel.affine(DEVICE, UNIX, at_ns=at, offset_ns=offset, drift_ppm=drift)
    times = np.array([at, at + later])
    back = model.inverse().apply(model.apply(times))
    assert np.abs(back - times).max() <= 1


def test_drift_is_what_was_asked_for():
    model = ClockModel.affine(DEVICE, UNIX, at_ns=0, offset_ns=5, drift_ppm=40)
    assert model.drift_ppm == pytest.approx(40)
    assert model.apply(np.array([10**9])).tolist() == [10**9 + 5 + 40_000]


def test_large_times_keep_their_nanoseconds():
    model = ClockModel(DEVICE, UNIX, (0,), (1,))
    assert model.apply(np.array([1_780_000_000_123_456_789])).tolist() == [1_780_000_000_123_456_790]


def test_piecewise_model_is_continuous_and_goes_on_outside_its_knots():
    model = ClockModel(DEVICE, UNIX, (0, 100, 200), (0, 10, 10))
    assert model.apply(np.array([-10, 0, 50, 100, 150, 200, 300])).tolist() == [-11, 0, 55, 110, 160, 210, 310]


@pytest.mark.parametrize(("knots", "offsets"), [((), ()), ((0, 1), (0,)), ((1, 1), (0, 0))])
def test_impossible_models_are_refused(knots, offsets):
    with pytest.raises(UsageError):
        ClockModel(DEVICE, UNIX, knots, offsets)
