"""Which of two sets of joints moves first, whatever stands in between."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from twinloop.formats.mapping.feature import FeatureSamples
from twinloop.formats.mapping.proposal.lead import measure_lead


def moving(lag_s: float) -> FeatureSamples:
    times = np.arange(2000) * 5_000_000
    seconds = times / 1e9 - lag_s
    values = np.column_stack([np.sin(2.1 * seconds + 0.3 * seconds**2), np.cos(1.3 * seconds)])
    return FeatureSamples(times, values, ("a", "b"))


@pytest.mark.parametrize("strange", [np.nan, np.inf, -1.7e308])
def test_numbers_with_flipped_bits_change_no_lead_and_make_no_warning(strange):
    leader, follower = moving(0.0), moving(0.12)
    follower.values[700:703] = strange
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lead = measure_lead(leader, follower)
    assert lead is not None
    assert lead.seconds == pytest.approx(0.12, abs=0.011)
