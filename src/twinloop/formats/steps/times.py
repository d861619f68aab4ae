"""Times of steps that their source does tell: nanoseconds for each step, episode after episode."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from twinloop.core.clock import NS_PER_S, Clock
from twinloop.core.kinds import StampSource
from twinloop.core.recording import Problem
from twinloop.formats.steps.grid import CLOCK, StepGrid
from twinloop.formats.steps.stamps import Stamps
from twinloop.formats.time_column import epoch_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from twinloop.core.errors import Where
    from twinloop.core.recording import EpisodeSpan
    from twinloop.core.stream import Stream
    from twinloop.formats.notes import Notes

#: What the times of steps, int64 nanoseconds, are called in files of anybody.
TIMESTAMP_NS = "timestamp_ns"
#: More than a century from where any clock counts from.
_FARTHEST_NS = 1 << 62


@dataclass(frozen=True)
class StepTimes(StepGrid):
    """The times of the steps of E episodes, N steps in all.

    Attributes:
        times_ns: (N,) int64, as told; they never fall within an episode. measured: what they are.
        told: where they stand, for people. moved: whether episodes were moved to follow one another, as
            they are where they would lie over one another.
    """

    times_ns: NDArray[np.int64]
    measured: Stamps
    told: str
    moved: bool = False
    _starts: NDArray[np.int64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        ends = np.cumsum(self.lengths)
        starts = ends - self.lengths
        object.__setattr__(self, "_starts", starts)
        some = self.lengths > 0
        firsts, lasts = self.times_ns[starts[some]], self.times_ns[ends[some] - 1]
        shifts = one_after_another(firsts, lasts + 1)
        if shifts.any():
            by = np.zeros(len(self.lengths), np.int64)
            by[some] = shifts
            object.__setattr__(self, "times_ns", self.times_ns + np.repeat(by, self.lengths))
            object.__setattr__(self, "moved", True)
        # Episodes without a step begin where the one before ends.
        before = np.concatenate(([0], self.times_ns))[starts]
        base = np.where(some, np.concatenate((self.times_ns, [0]))[starts], before)
        object.__setattr__(self, "base_ns", base)

    def stamps(self, episode: int, steps: range) -> NDArray[np.int64]:
        if steps.stop > self.lengths[episode]:  # of an episode without steps
            return np.full(len(steps), self.base_ns[episode])
        first = int(self._starts[episode])
        return self.times_ns[first + steps.start : first + steps.stop]

    def span(self, episode: int, **said: Any) -> EpisodeSpan:
        span = super().span(episode, **said)
        length = int(self.lengths[episode])
        end = int(self.stamps(episode, range(length))[-1]) + 1 if length else span.start_ns + 1
        return replace(span, end_ns=end)

    def stream(self, name: str, kind: Any, **said: Any) -> Stream:
        made = super().stream(name, kind, **said)
        return replace(
            made,
            stamp_source=self.measured.source,
            stamp_clock=self.clock,
            attributes={**made.attributes, "times": self.said},
        )

    @property
    def clock(self) -> Clock:
        """The clock of the times."""
        first = int(self.times_ns[0]) if len(self.times_ns) else 0
        return CLOCK if self.moved else self.measured.clock or Clock(epoch_of(first))

    @property
    def said(self) -> str:
        """Where the times stand and what was done to them, for people."""
        return self.told + ("; moved so that episodes follow one another" if self.moved else "")


def timed(
    grid: StepGrid,
    times: Sequence[NDArray[np.int64] | None],
    stamps: Stamps,
    told: str,
    notes: Notes,
    where: Where,
) -> StepGrid:
    """The steps of `grid` at the times of each episode; the grid itself, with a note where some episodes
    have times that are none."""
    if not stamps.are_true or not any(each is not None and len(each) for each in times):
        return grid
    for episode, (each, length) in enumerate(zip(times, grid.lengths.tolist(), strict=True)):
        why = ""
        if each is None or len(each) != length:
            why = f"has {0 if each is None else len(each)} times in {length} steps"
        elif length and max(-int(each.min()), int(each.max())) > _FARTHEST_NS:
            why = "has times that are none"
        elif (np.diff(each) < 0).any():
            why = f"has times that fall, first after step {int(np.argmax(np.diff(each) < 0))}"
        if why:
            message = f"{told} is not taken for the times of the steps: episode {episode} {why}"
            notes.add(Problem.BAD_VALUE, message, where)
            return grid
    joined = np.concatenate([each for each in times if each is not None])
    return StepTimes(grid.lengths, grid.rate_hz, joined, stamps, told)


def agreed(said: Collection[Stamps]) -> Stamps:
    """What the times of all episodes are: of some that are a grid, none can be told from the rest."""
    if not said or len(set(said)) == 1:
        return next(iter(said), Stamps())
    return next((each for each in said if not each.are_true), Stamps(StampSource.DRIVER, Clock()))


def one_after_another(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """What to add to the times (E,) int64 ns of episodes where they would lie over one another, as they do
    where each begins at its own zero: then each begins at the next whole second after the one before."""
    if (starts[1:] >= ends[:-1]).all():
        return np.zeros(len(starts), np.int64)
    seconds = -((starts - ends) // NS_PER_S)  # rounded up
    begins = np.concatenate(([0], np.cumsum(seconds)[:-1])) * NS_PER_S
    return begins - starts
