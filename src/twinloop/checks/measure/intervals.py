"""What the intervals between samples are like: their median, spread, extremes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_STRAYS = 0.05  # share of intervals that may be stalls and bursts without counting as jitter


@dataclass(frozen=True, slots=True)
class Intervals:
    """Intervals between samples that are neighbours in time, in ns.

    Attributes:
        median: the period. shortest, longest: exact, repeats apart. late: 99th percentile.
        steadiness: share within half a period of the period: 1 for a clockwork, less for events.
        regular_mean, jitter, regular_shortest, regular_longest: mean, standard deviation and extremes of
            the regular intervals: without those near 2, 3, ... periods (lost samples) and, unless they are over
            5 % of all, without others beyond half a period from the period (stalls and the bursts after them).
    """

    median: float = 0.0
    shortest: float = 0.0
    longest: float = 0.0
    late: float = 0.0
    steadiness: float = 0.0
    regular_mean: float = 0.0
    jitter: float = 0.0
    regular_shortest: float = 0.0
    regular_longest: float = 0.0

    @classmethod
    def of(cls, sample: NDArray[np.float64], repeats: float, shortest: float, longest: float) -> Intervals:
        """From positive intervals (I,), all or some, and how many of length zero there are for each."""
        if not len(sample):
            return cls()
        median = float(np.median(sample))
        near = np.abs(sample - median) <= 0.5 * median
        regular = _regular(sample, median)
        return cls(
            median=median,
            shortest=shortest,
            longest=longest,
            late=float(np.quantile(sample, 0.99)),
            steadiness=float(near.mean()) / (1 + repeats),
            regular_mean=float(regular.mean()),
            jitter=float(regular.std()),
            regular_shortest=float(regular.min()),
            regular_longest=float(regular.max()),
        )


def _regular(sample: NDArray[np.float64], median: float) -> NDArray[np.float64]:
    periods = sample / median
    lost = (periods > 1.5) & (np.abs(periods - np.rint(periods)) < 0.25)
    rest = sample[~lost]
    inner = np.abs(rest - median) <= 0.5 * median
    return rest[inner] if inner.mean() >= 1 - _STRAYS else rest
