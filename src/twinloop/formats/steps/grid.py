"""Times of steps, which their source does not tell: a grid, and where each episode begins on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.clock import NS_PER_S, Clock, Epoch
from twinloop.core.kinds import StampSource
from twinloop.core.recording import EpisodeSpan
from twinloop.core.stream import Stream

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from twinloop.core.kinds import Kind, Role

CLOCK = Clock(Epoch.EPISODE)

#: A control rate (Hz) that can be meant.
_LIKELY_HZ = (0.01, 100_000.0)


def likely_rate(value: object) -> float | None:
    """A declared rate in Hz, None where it can be none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if _LIKELY_HZ[0] <= value <= _LIKELY_HZ[1] else None


def by_chunks(rows: range, size: int) -> Iterator[range]:
    """Rows in runs that end at multiples of `size`, where chunks end."""
    at = rows.start
    while at < rows.stop:
        end = min(rows.stop, (at // size + 1) * size)
        yield range(at, end)
        at = end


@dataclass(frozen=True)
class StepGrid:
    """The times of the steps of E episodes.

    Attributes:
        lengths: (E,) int64, steps of each. rate_hz: as declared; None: steps stand a second apart.
        base_ns: (E,) int64, where each episode begins.
    """

    lengths: NDArray[np.int64]
    rate_hz: float | None
    base_ns: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        seconds = np.maximum(np.ceil(self.lengths / self._rate), 1).astype(np.int64)
        base = np.concatenate(([0], np.cumsum(seconds)[:-1])) if len(seconds) else seconds
        object.__setattr__(self, "base_ns", base * NS_PER_S)

    @property
    def _rate(self) -> float:
        return self.rate_hz or 1.0

    def stamps(self, episode: int, steps: range) -> NDArray[np.int64]:
        """Times (N,) int64 ns of some steps of an episode."""
        since = np.rint(np.arange(steps.start, steps.stop) * (NS_PER_S / self._rate)).astype(np.int64)
        return since + self.base_ns[episode]

    def within(self, episode: int, start_ns: int | None, end_ns: int | None) -> range:
        """The steps of an episode in [start_ns, end_ns)."""
        length = int(self.lengths[episode])
        if start_ns is None and end_ns is None:
            return range(length)
        stamps = self.stamps(episode, range(length))
        first = 0 if start_ns is None else int(np.searchsorted(stamps, start_ns))
        last = length if end_ns is None else int(np.searchsorted(stamps, end_ns))
        return range(first, max(first, last))

    def begins_within(self, episode: int, start_ns: int | None, end_ns: int | None) -> bool:
        """Whether an episode's first instant lies in [start_ns, end_ns)."""
        base = int(self.base_ns[episode])
        return (start_ns is None or base >= start_ns) and (end_ns is None or base < end_ns)

    def span(
        self,
        episode: int,
        *,
        index: int | None = None,
        instruction: str | None = None,
        outcome: str | None = None,
        attributes: Mapping[str, str] | None = None,
    ) -> EpisodeSpan:
        """An episode on the streams' timeline."""
        base = int(self.base_ns[episode])
        return EpisodeSpan(
            index=episode if index is None else index,
            start_ns=base,
            end_ns=base + max(1, round(int(self.lengths[episode]) / self._rate * NS_PER_S)),
            instruction=instruction,
            outcome=outcome,
            attributes=attributes or {},
        )

    def stream(
        self,
        name: str,
        kind: Kind,
        *,
        encoding: str,
        role: Role | None = None,
        type_name: str = "",
        attributes: Mapping[str, str] | None = None,
        bytes: int | None = None,
        samples: NDArray[np.int64] | None = None,
        per_step: bool = True,
    ) -> Stream:
        """A stream with `samples` (E,) in each episode, one a step from its first on (None: all steps);
        `per_step` False: they are of the episode, not of steps."""
        samples = self.lengths if samples is None else samples
        here = np.flatnonzero(samples)
        said = f"a grid of {self.rate_hz:g} Hz" if self.rate_hz else "step numbers, as if a second apart"
        start_ns = end_ns = None
        if len(here):
            last = int(here[-1])
            start_ns = int(self.base_ns[here[0]])
            end = int(samples[last])
            end_ns = int(self.stamps(last, range(end - 1, end))[0])
        return Stream(
            name=name,
            kind=kind,
            role=role,
            count=int(samples.sum()),
            start_ns=start_ns,
            end_ns=end_ns,
            timeline="stamp_ns",
            stamp_source=StampSource.GRID,
            stamp_clock=CLOCK,
            type_name=type_name,
            encoding=encoding,
            bytes=bytes,
            rate_hz=self.rate_hz if per_step else None,
            attributes={**(attributes or {}), "times": said},
        )
