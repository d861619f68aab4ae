"""Where a stream's clock was set: its stamps jump, and the recorder's times do not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from twinloop.checks.measure.delay import Delay
    from twinloop.checks.measure.timing import Timing

_LEAST_PERIODS = 2.0
_LEAST_NS = 5e6
_ALIKE = 0.3  # of the jump: how far the delay's shift may differ from it


@dataclass(frozen=True, slots=True)
class ClockStep:
    """The clock was set by `jump_ns` (forward, if positive) before the sample `row`, at `time_ns`."""

    row: int
    time_ns: int
    jump_ns: float


def find_steps(timing: Timing, delay: Delay | None) -> tuple[ClockStep, ...]:
    """The steps of a clock, by row.

    A jump of the stamps is a step if the floor of the delay (log - stamp) shifts by as much the other way
    and stays there. Where samples are lost, log times jump with the stamps and the floor stays.
    """
    if delay is None:
        return ()
    long, back = timing.long, timing.backwards
    jumps = [
        (int(row), int(end), float(end - start - timing.period_ns))
        for row, start, end in zip(long.row, long.start_ns, long.end_ns, strict=True)
    ]
    jumps += [
        (int(row), int(start), float(start - end - timing.period_ns))
        for row, start, end in zip(back.row, back.start_ns, back.end_ns, strict=True)
    ]
    least = max(_LEAST_PERIODS * timing.period_ns, _LEAST_NS)
    steps = []
    for row, time, jump in sorted(jumps):
        shift = delay.shift_at(row) if abs(jump) > least else None
        if shift is not None and abs(shift + jump) < _ALIKE * abs(jump):
            steps.append(ClockStep(row, time, -shift))
    return tuple(steps)
