"""By how much commands lead the states that follow them, by two estimators that fail in different ways.

Both work on a uniform grid of commands a and states s, element d, with one step as `dt`:

- **least mean absolute difference** (the average magnitude difference function of Ross et al., "Average
  magnitude difference function pitch extractor", IEEE Trans. ASSP 22(5), 1974, between two signals):
  D(k) = sum_d w_d mean_t |a_d(t) - s_d(t + k) - c_d(k)|, where c_d(k) is the mean of a_d(t) - s_d(t + k),
  so that a constant offset between leader and follower does not count. Positions: robust to noise, blind
  where the motion is slow and one-way.
- **velocity cross-correlation** (Knapp and Carter, "The generalized correlation method for estimation of
  time delay", IEEE Trans. ASSP 24(4), 1976): R(k) = mean_d of the normalised correlation of da_d(t) with
  ds_d(t + k). Velocities: blind to offsets and scale, misled by noise and by periodic motion.

The lag is the shift with the least D, or the largest R, refined below a step: R by the parabola through its
peak and the neighbours. D has the shape of a V where noise is small and of a parabola where it is large (a
parabola through a V is off by up to a sixth of a step), so D is refined by the best a |k - x|^p + b through
five points, p from 1 to 2. Positive: the command leads. Elements that do not move beyond their noise are left
out; w_d tames elements whose motion is over twice the median's, as where units are mixed.

Confidence (0 to 1; for ranking, not a probability) is the geometric mean of three numbers: the
correlation at its peak, how far the least difference lies below the median over all shifts, and the
agreement of the two, 1 / (1 + (difference / 2 steps)^2).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FINEST_NS = 10_000_000  # shortest step; finer streams are averaged onto it
_LONGEST_GRID = 20_000  # steps in all
_MOVES_BEYOND_NOISE = 6.0
_TAMED = 2.0
_SANE = 1e100  # larger numbers are none
# Unrelated signals reach peaks of 0.39 and depths of 0.44 in 5 s, 0.22 and 0.22 in 12 s, hardly ever both.
_LEAST_PEAK = 0.3
_LEAST_DEPTH = 0.3
_CLEAR_DEPTH = 0.5


@dataclass(frozen=True, slots=True)
class ElementLag:
    """One element's own lag by least mean absolute difference; `depth` is how clear the minimum is."""

    name: str
    lag_ns: float
    depth: float


@dataclass(frozen=True, slots=True)
class Lag:
    """A measured lag; positive: the command leads the state.

    Attributes:
        lag_ns: by least mean absolute difference. correlation_ns: by velocity cross-correlation.
        step_ns: of the grid. peak: the correlation at its largest. depth: 1 - D(lag) / median D.
        elements: of those that move, their own lags.
        at_edge: the best shift is the longest one tried: the lag may be longer.
    """

    lag_ns: float
    correlation_ns: float
    step_ns: float
    peak: float
    depth: float
    elements: tuple[ElementLag, ...]
    at_edge: bool

    @property
    def agreement(self) -> float:
        """1 where both estimators say the same, 0.5 where they are two steps apart."""
        return float(1 / (1 + ((self.lag_ns - self.correlation_ns) / (2 * self.step_ns)) ** 2))

    @property
    def doubt(self) -> str:
        """Why the lag is not to be believed; empty where it is."""
        if self.peak < _LEAST_PEAK or self.depth < _LEAST_DEPTH:
            return "commands and states do not resemble each other enough to measure a lag"
        return "the lag is longer than what was searched" if self.at_edge else ""

    @property
    def clear_elements(self) -> tuple[ElementLag, ...]:
        """The elements whose own lag is beyond doubt."""
        return tuple(element for element in self.elements if element.depth >= _CLEAR_DEPTH)

    @property
    def confidence(self) -> float:
        """0 to 1, see the module."""
        return float(np.cbrt(max(self.peak, 0.0) * max(self.depth, 0.0) * self.agreement))


def moving(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which elements (D,) of values (N, D) move beyond their noise.

    Noise is estimated from second differences (their median absolute value, over 0.6745 sqrt(6) for white
    Gaussian noise); an element moves if its range between the 1st and 99th percentile is over six times that,
    and over a millionth of its size.
    """
    if len(values) < 3:
        return np.zeros(values.shape[1], np.bool_)
    low, high = np.quantile(values, [0.01, 0.99], axis=0)
    noise = np.median(np.abs(np.diff(values, 2, axis=0)), axis=0) / (0.6745 * np.sqrt(6))
    size = np.abs(values).max(axis=0)
    return (high - low > _MOVES_BEYOND_NOISE * noise) & (high - low > 1e-6 * size)


def measure_lag(
    command_ns: NDArray[np.int64],
    command: NDArray[np.float64],
    state_ns: NDArray[np.int64],
    state: NDArray[np.float64],
    names: tuple[str, ...],
    search_s: float = 1.0,
) -> Lag | str:
    """The lag between commands (A, D) and states (S, D), elements in the same order; or why there is none.

    Args:
        command_ns, state_ns: (A,), (S,) int64 ns on one clock, any order.
        search_s: longest lag looked for, to both sides; at most a third of what both cover.
    """
    grid = _Grid.over(command_ns, state_ns)
    if isinstance(grid, str):
        return grid
    a, b = grid.sample(command_ns, command), grid.sample(state_ns, state)
    chosen = np.flatnonzero(_sane(a) & _sane(b))
    chosen = chosen[moving(a[:, chosen]) & moving(b[:, chosen])]
    if not len(chosen):
        return "no element moves in both commands and states"
    a, b = a[:, chosen], b[:, chosen]
    reach = max(2, min(round(search_s * 1e9 / grid.step_ns), len(a) // 3))
    differences = _differences(a, b, reach)
    spread = b.std(axis=0)
    weight = 1 / np.maximum(1, spread / (_TAMED * np.median(spread)))
    pooled = differences @ weight
    lowest, refined = _minima(np.column_stack([pooled, differences]))
    least = int(lowest[0])
    correlation = _correlation(a, b, reach)
    largest = int(correlation.argmax())
    return Lag(
        lag_ns=float(least - reach + refined[0]) * grid.step_ns,
        correlation_ns=(largest - reach + _parabola(-correlation, largest)) * grid.step_ns,
        step_ns=grid.step_ns,
        peak=float(correlation[largest]),
        depth=_depth(pooled),
        elements=tuple(
            ElementLag(names[d], float(k - reach + x) * grid.step_ns, _depth(curve))
            for d, curve, k, x in zip(chosen.tolist(), differences.T, lowest[1:], refined[1:], strict=True)
        ),
        at_edge=least in (0, 2 * reach),
    )


@dataclass(frozen=True, slots=True)
class _Grid:
    """Uniform steps over what commands and states both cover."""

    start_ns: int
    step_ns: float
    steps: int

    @classmethod
    def over(cls, first: NDArray[np.int64], second: NDArray[np.int64]) -> _Grid | str:
        if min(len(first), len(second)) < 10:
            return f"{len(first)} commands and {len(second)} states are too few"
        start = int(max(first.min(), second.min()))
        end = int(min(first.max(), second.max()))
        if end <= start:
            return "commands and states share too short a time"
        periods = [float(np.median(np.diff(np.unique(times)))) for times in (first, second)]
        step = max(*periods, float(_FINEST_NS), (end - start) / _LONGEST_GRID)
        steps = int((end - start) / step + 0.5) + 1
        if steps < 20:
            return "commands and states share too short a time"
        return cls(start, step, steps)

    def sample(self, times: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values (T, D) at the grid's steps: means over a step where samples are finer, else linear."""
        order = np.argsort(times, kind="stable")
        since = (times[order] - self.start_ns) / self.step_ns
        values = values[order]
        period = float(np.median(np.diff(since)))
        at = np.arange(self.steps, dtype=np.float64)
        if period < 0.5:
            cell = np.floor(since + 0.5).astype(np.int64)
            inside = (cell >= 0) & (cell < self.steps)
            counts = np.bincount(cell[inside], minlength=self.steps)
            full = np.flatnonzero(counts)
            sums = np.stack(
                [np.bincount(cell[inside], column[inside], self.steps) for column in values.T], axis=1
            )
            since = np.bincount(cell[inside], since[inside], self.steps)[full] / counts[full]
            values = sums[full] / counts[full, None]
        return np.stack([np.interp(at, since, column) for column in values.T], axis=1)


def _differences(a: NDArray[np.float64], b: NDArray[np.float64], reach: int) -> NDArray[np.float64]:
    """Mean absolute differences (2 reach + 1, D) at shifts -reach..reach, each about its mean."""
    a, b = np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)
    steps = a.shape[1]
    curves = np.empty((2 * reach + 1, len(a)))
    for k in range(-reach, reach + 1):
        length = steps - abs(k)
        difference = a[:, max(0, -k) :][:, :length] - b[:, max(0, k) :][:, :length]
        difference -= difference.mean(axis=1, keepdims=True)
        curves[k + reach] = np.abs(difference, out=difference).mean(axis=1)
    return curves


def _correlation(a: NDArray[np.float64], b: NDArray[np.float64], reach: int) -> NDArray[np.float64]:
    """Normalised cross-correlation of velocities (2 reach + 1,), the mean over elements.

    Each shift is normalised by the energies of what overlaps there; one norm for all would draw the peak
    towards zero.
    """
    va, vb = np.diff(a, axis=0), np.diff(b, axis=0)
    va, vb = va - va.mean(axis=0), vb - vb.mean(axis=0)
    steps = len(va)
    size = 1 << int(2 * steps - 1).bit_length()
    spectrum = np.conj(np.fft.rfft(va, size, axis=0)) * np.fft.rfft(vb, size, axis=0)
    products = np.fft.irfft(spectrum, size, axis=0)
    shifts = np.arange(-reach, reach + 1)
    begin, length = np.maximum(0, -shifts), steps - np.abs(shifts)
    energy_a = _energy(va, begin, begin + length)
    energy_b = _energy(vb, begin + shifts, begin + shifts + length)
    return np.asarray((products[shifts] / np.sqrt(np.maximum(energy_a * energy_b, 1e-300))).mean(axis=1))


def _energy(
    velocity: NDArray[np.float64], begin: NDArray[np.int64], end: NDArray[np.int64]
) -> NDArray[np.float64]:
    running = np.concatenate([np.zeros((1, velocity.shape[1])), np.cumsum(velocity**2, axis=0)])
    return running[end] - running[begin]


def _sane(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Elements (D,) whose numbers are all finite and whose squares are too; damaged bytes make others."""
    return np.asarray((np.abs(values) < _SANE).all(axis=0))


@cache
def _shapes() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """|k - x|^p at k = -2..2, each about its mean and of length 1 (S, 5), and the x of each (S,)."""
    x, p = (grid.reshape(-1, 1) for grid in np.meshgrid(np.linspace(-0.5, 0.5, 101), np.linspace(1, 2, 11)))
    shapes = np.abs(np.arange(-2, 3) - x) ** p
    shapes -= shapes.mean(axis=1, keepdims=True)
    return shapes / np.linalg.norm(shapes, axis=1, keepdims=True), x[:, 0]


def _minima(curves: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Where each curve (K, D) is least, as a step (D,) and a part of a step from it (D,), -0.5 to 0.5."""
    lowest = curves.argmin(axis=0)
    inner = np.clip(lowest, 2, len(curves) - 3)
    points = curves[inner + np.arange(-2, 3)[:, None], np.arange(curves.shape[1])]
    shapes, shifts = _shapes()
    refined = shifts[(shapes @ (points - points.mean(axis=0))).argmax(axis=0)]
    return lowest, np.where(lowest == inner, refined, 0.0)


def _parabola(curve: NDArray[np.float64], at: int) -> float:
    """Where the parabola through a minimum and its neighbours has its own, -0.5 to 0.5 of a step."""
    if not 0 < at < len(curve) - 1:
        return 0.0
    left, mid, right = curve[at - 1 : at + 2]
    bend = left - 2 * mid + right
    return float(np.clip(0.5 * (left - right) / bend, -0.5, 0.5)) if bend > 0 else 0.0


def _depth(curve: NDArray[np.float64]) -> float:
    middle = float(np.median(curve))
    return 1 - float(curve.min()) / middle if middle > 0 else 0.0
