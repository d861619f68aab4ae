"""Which of two joint streams moves first, and by how much: what tells a command from a state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from twinloop.formats.mapping.feature import FeatureSamples

_STEP_S = 0.01
_REACH_S = 1.0
_SMOOTH = 5
#: Beyond anything that moves: flipped bits in a number, whose square would overflow.
_LARGEST = 1e100
_MOST_STEPS = 6000
_BEYOND_NOISE = 5.0


@dataclass(frozen=True, slots=True)
class Lead:
    """`seconds` by which the first stream moves before the second, and how alike they move (0 to 1)."""

    seconds: float
    likeness: float


def measure_lead(first: FeatureSamples, second: FeatureSamples) -> Lead | None:
    """The shift at which the velocities of (N, D) and (M, D) samples correlate best, all elements pooled.

    Generalised cross-correlation without weighting (Knapp and Carter, IEEE Trans. ASSP 24(4), 1976), on a
    grid of 10 ms (or the slower stream's period), up to 1 s either way. None: they share too little time,
    or one of them does not move.
    """
    if min(len(first), len(second)) < 20:
        return None
    start = max(first.times_ns.min(), second.times_ns.min())
    end = min(first.times_ns.max(), second.times_ns.max())
    step_ns = max(_STEP_S * 1e9, _period(first), _period(second))
    steps = min(int((end - start) / step_ns), _MOST_STEPS)
    reach = int(_REACH_S * 1e9 / step_ns)
    if steps < 3 * reach:
        return None
    grid = float(start) + np.arange(steps, dtype=np.float64) * step_ns
    a, b = _motion(first, grid), _motion(second, grid)
    moving = (a != 0).any(axis=0) & (b != 0).any(axis=0)
    a, b = a[:, moving], b[:, moving]
    energy = float(np.sqrt((a**2).sum() * (b**2).sum()))
    if not np.isfinite(energy) or energy < 1e-12:
        return None
    size = 1 << (2 * len(a)).bit_length()
    products = np.fft.irfft(
        (np.conj(np.fft.rfft(a, size, axis=0)) * np.fft.rfft(b, size, axis=0)).sum(axis=1), size
    )
    shifts = np.arange(-reach, reach + 1)
    curve = products[shifts] / energy
    best = int(curve.argmax())
    return Lead(float(shifts[best] * step_ns / 1e9), float(np.clip(curve[best], 0, 1)))


def _period(samples: FeatureSamples) -> float:
    gaps = np.diff(np.sort(samples.times_ns))
    return float(np.median(gaps[gaps > 0])) if (gaps > 0).any() else 0.0


def _motion(samples: FeatureSamples, grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Smoothed velocities (T, D) on the grid, in parts of each element's spread; zero where it is at rest."""
    order = np.argsort(samples.times_ns, kind="stable")
    times = samples.times_ns[order].astype(np.float64)
    motion = np.zeros((len(grid) - 2 * _SMOOTH - 1, samples.values.shape[1]))
    for element, column in enumerate(samples.values[order].T):
        finite = np.abs(column) < _LARGEST  # not of NaN either
        if not finite.any():
            continue
        on_grid = np.interp(grid, times[finite], column[finite])
        noise = np.median(np.abs(np.diff(on_grid, 2)))
        smooth = np.convolve(on_grid, np.ones(_SMOOTH) / _SMOOTH, "same")[_SMOOTH:-_SMOOTH]
        spread = smooth.std()
        if spread > max(_BEYOND_NOISE * noise, 1e-9):
            motion[:, element] = np.diff(smooth) / spread
    return motion
