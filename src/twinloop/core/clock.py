"""Clocks and the models that take times of one clock to another.

A clock is a time domain. Models are stored beside the data and applied on read, never baked into it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

NS_PER_S = 1_000_000_000


class Epoch(StrEnum):
    """Where a clock counts from."""

    UNIX = "unix"
    BOOT = "boot"
    DEVICE = "device"
    SIM = "sim"
    EPISODE = "episode"  # restarts with the recording, as grid times of a dataset do
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Clock:
    """A time domain: what it counts from and whose oscillator drives it."""

    epoch: Epoch = Epoch.UNKNOWN
    host: str = ""

    def __str__(self) -> str:
        return f"{self.epoch.value}@{self.host}" if self.host else self.epoch.value


@dataclass(frozen=True, slots=True)
class ClockModel:
    """A continuous piecewise-linear map from `source` time to `target` time.

    `knots_ns` (K,) int64, strictly increasing source times; `offset_ns` (K,) int64, target minus source
    at each knot. Between knots the offset is linear; outside, the nearest segment goes on (one knot: a
    constant offset). Integer arithmetic keeps nanoseconds exact at the knots.

    Attributes:
        method: how it was found, e.g. ``least squares on log_ns`` or ``declared``.
        sigma_ns: standard deviation of the mapped time, if known.
    """

    source: Clock
    target: Clock
    knots_ns: tuple[int, ...] = (0,)
    offset_ns: tuple[int, ...] = (0,)
    method: str = "declared"
    sigma_ns: float | None = None

    def __post_init__(self) -> None:
        if not self.knots_ns or len(self.knots_ns) != len(self.offset_ns):
            raise UsageError(
                f"a clock model has {len(self.knots_ns)} knots and {len(self.offset_ns)} offsets",
                expected="as many offsets as knots, at least one",
            )
        if any(b <= a for a, b in zip(self.knots_ns, self.knots_ns[1:], strict=False)):
            raise UsageError("the knots of a clock model do not increase", expected="increasing source times")

    @classmethod
    def affine(
        cls,
        source: Clock,
        target: Clock,
        *,
        at_ns: int,
        offset_ns: int,
        drift_ppm: float,
        method: str = "declared",
        sigma_ns: float | None = None,
    ) -> ClockModel:
        """Offset `offset_ns` at source time `at_ns`, growing by `drift_ppm` microseconds a second."""
        day = 86_400 * NS_PER_S
        later = offset_ns + round(day * drift_ppm * 1e-6)
        return cls(source, target, (at_ns, at_ns + day), (offset_ns, later), method, sigma_ns)

    @property
    def drift_ppm(self) -> float:
        """Rate error over the whole model, in parts per million (0 for a constant offset)."""
        if len(self.knots_ns) == 1:
            return 0.0
        return (self.offset_ns[-1] - self.offset_ns[0]) / (self.knots_ns[-1] - self.knots_ns[0]) * 1e6

    def apply(self, source_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Target times (N,) int64 ns of source times (N,) int64 ns."""
        source_ns = np.asarray(source_ns, np.int64)
        knots = np.asarray(self.knots_ns, np.int64)
        offsets = np.asarray(self.offset_ns, np.int64)
        if len(knots) == 1:
            return source_ns + offsets[0]
        segment = np.clip(np.searchsorted(knots, source_ns, "right") - 1, 0, len(knots) - 2)
        slope = np.diff(offsets) / np.diff(knots)
        drift = np.rint((source_ns - knots[segment]) * slope[segment]).astype(np.int64)
        return source_ns + offsets[segment] + drift

    def inverse(self) -> ClockModel:
        """The map back, exact at the knots.

        Raises:
            UsageError: the model runs backwards somewhere (drift of -1e6 ppm or less).
        """
        knots = tuple(k + o for k, o in zip(self.knots_ns, self.offset_ns, strict=True))
        offsets = tuple(-o for o in self.offset_ns)
        return ClockModel(self.target, self.source, knots, offsets, f"inverse of {self.method}", self.sigma_ns)
