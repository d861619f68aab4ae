"""A joint's state stands still while its command moves.

## What it does

Reports spans in which the state keeps exactly the same value and the command goes elsewhere.

## Why it matters

A driver that repeats its last reading looks like a robot that does not obey. The policy learns that this
action does nothing here.

## How it is measured

Runs of identical values of at least `least_s` and `least_samples`, during which the command, as it was one
lag earlier (rule SYN004), covers at least `moves` of its range in the episode and six times its usual
distance from the state. As a gripper that holds an object also stands still while it is told to close, and
a hand that is polled slowly repeats its readings, more signs are asked for. Either all moving joints of the
feature stand still together. Or one joint does for as long, and against as far a way of its command, as
five of its changes usually take; and it has noise that cannot be silent (it changes in nine of ten
samples), or its command goes clearly to both sides of it. Joints that stand still in the same span are one
finding. The value is its length.

## Example

A serial bus dropped out for 0.8 s: `SIG003 6 of 7 joints stand still for 810 ms while their commands move
by up to 32 % of their range`.

## Repair

Exclude the span. Let the driver say when it has no fresh reading instead of repeating the last.

## Tuning

- `least_s`: seconds of standstill (0.25).
- `least_samples`: and samples (8).
- `moves`: movement of the command over its range in the episode (0.05).

## References

- robot-report-card: a flat reading while the command moves by over 1 %
- lerobot-lint: 15 identical frames
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.checks.measure.lag import moving
from twinloop.checks.rule import Broken, Need, Scope, rule
from twinloop.checks.wording import duration, few
from twinloop.core.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from twinloop.checks.commands import CommandPair
    from twinloop.checks.measure.lag import Lag
    from twinloop.checks.subject import EpisodeSubject

_LIVELY = 0.9
_ACROSS = 0.02
_BEYOND_USUAL = 6.0  # times the usual distance of state and command
_SPARE = 0.25  # of the lag
#: Samples that a standstill can be told by.
_FEWEST = 10
_UNUSUAL = 5.0  # changes of the state that would be usual in the time of a run, and to follow the command


@dataclass(frozen=True, slots=True)
class Limits:
    """`least_s` seconds; `least_samples` samples; `moves` of the command's range."""

    least_s: float = 0.25
    least_samples: int = 8
    moves: float = 0.05


@dataclass
class _Standstill:
    """Joints that stand still in one span, and how far their commands go (of their range)."""

    start_ns: int
    end_ns: int
    joints: dict[str, float]


@rule(
    code="SIG003",
    name="stuck",
    severity=Severity.ERROR,
    scope=Scope.EPISODE,
    needs=(Need.COMMAND_AND_STATE,),
    since="0.1",
)
def stuck(subject: EpisodeSubject, limits: Limits) -> Iterator[Broken]:
    for pair, lag in subject.lags():
        if min(len(pair.command[0]), len(pair.state[0])) < _FEWEST:
            continue
        for still in _standstills(_Followed.of(pair, _lags_ns(pair, lag)), limits):
            length = still.end_ns - still.start_ns
            yield Broken(
                message=(
                    f"{len(still.joints)} of {len(pair.names)} joints stand still for {duration(length)} while "
                    f"their commands move by up to {100 * max(still.joints.values()):.0f} % of their range: "
                    f"{few(list(still.joints))}"
                ),
                fix="exclude the span; have the driver say when it has no fresh reading",
                stream=pair.state_feature.stream,
                start_ns=still.start_ns,
                end_ns=still.end_ns,
                value=round(length / 1e9, 6),
                limit=limits.least_s,
                unit="s",
            )


def _lags_ns(pair: CommandPair, lag: Lag | str) -> NDArray[np.float64]:
    """The lag of each element (D,): its own where that is clear, else that of all."""
    if isinstance(lag, str) or lag.doubt:
        return np.zeros(len(pair.names))
    own = {element.name: element.lag_ns for element in lag.clear_elements}
    return np.array([own.get(name, lag.lag_ns) for name in pair.names])


@dataclass(frozen=True)
class _Followed:
    """States in order of time with the commands that they should follow.

    Attributes:
        state, command: (S, D), the command as it was one lag before each state.
        reach: (D,) range of each command. error: (D,) median distance of state and command, offsets apart.
        moves: (D,) whether the command moves at all.
        spare_ns: how much of the end of a standstill is not looked at, for the lag is not exact.
    """

    names: tuple[str, ...]
    times: NDArray[np.int64]
    state: NDArray[np.float64]
    command: NDArray[np.float64]
    reach: NDArray[np.float64]
    error: NDArray[np.float64]
    moves: NDArray[np.bool_]
    spare_ns: float

    @classmethod
    def of(cls, pair: CommandPair, lags_ns: NDArray[np.float64]) -> _Followed:
        times, state = _sorted(*pair.state)
        given, values = _sorted(*pair.command)
        command = np.stack(
            [np.interp(times - lag, given, column) for lag, column in zip(lags_ns, values.T, strict=True)],
            axis=1,
        )
        apart = command - state
        error = np.median(np.abs(apart - np.median(apart, axis=0)), axis=0)
        spare = _SPARE * float(np.abs(lags_ns).max()) + float(np.median(np.diff(times)))
        return cls(pair.names, times, state, command, np.ptp(values, axis=0), error, moving(values), spare)

    def usual_change(self, d: int) -> float:
        """Median size of the changes of an element's state."""
        changes = np.abs(np.diff(self.state[:, d]))
        changes = changes[changes > 0]
        return float(np.median(changes)) if len(changes) else 0.0

    def expected(self, begin: int, end: int) -> NDArray[np.float64]:
        """The commands (R, D) that the states of a run should have followed."""
        last = int(np.searchsorted(self.times, self.times[end] - self.spare_ns, "right"))
        return self.command[begin : max(last, begin + 1)]

    def moved(self, begin: int, end: int, limits: Limits) -> NDArray[np.float64]:
        """How far each command goes in a run (D,), of its range; 0 where that is no more than usual."""
        way = np.ptp(self.expected(begin, end), axis=0)
        share = way / np.where(self.reach > 0, self.reach, 1)
        counts = self.moves & (share >= limits.moves) & (way >= _BEYOND_USUAL * self.error)
        return np.where(counts, share, 0.0)


def _standstills(followed: _Followed, limits: Limits) -> list[_Standstill]:
    if len(followed.times) < limits.least_samples or not followed.moves.any():
        return []
    same = followed.state[1:] == followed.state[:-1]
    found: list[_Standstill] = []
    if followed.moves.sum() >= 2:
        for begin, end in _runs(same[:, followed.moves].all(axis=1), followed.times, limits):
            moved = followed.moved(begin, end, limits)
            if (moved > 0).sum() >= 2:
                found.append(_standstill(followed, begin, end, moved))
    for d in np.flatnonzero(followed.moves):
        for begin, end in _runs(same[:, d], followed.times, limits):
            moved = followed.moved(begin, end, limits) * (np.arange(len(followed.moves)) == d)
            changing = _changing_outside(same[:, d], begin, end)
            unusual = (end - begin) * changing >= _UNUSUAL
            unusual &= bool(moved[d] * followed.reach[d] >= _UNUSUAL * followed.usual_change(int(d)))
            alive = changing >= _LIVELY or _crosses(followed, int(d), begin, end)
            if moved[d] > 0 and unusual and alive:
                found.append(_standstill(followed, begin, end, moved))
    return _merged(found)


def _standstill(followed: _Followed, begin: int, end: int, moved: NDArray[np.float64]) -> _Standstill:
    joints = {followed.names[d]: float(moved[d]) for d in np.flatnonzero(moved)}
    return _Standstill(int(followed.times[begin]), int(followed.times[end]), joints)


def _sorted(
    times: NDArray[np.int64], values: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    if (times[1:] >= times[:-1]).all():
        return times, values
    order = np.argsort(times, kind="stable")
    return times[order], values[order]


def _runs(same: NDArray[np.bool_], times: NDArray[np.int64], limits: Limits) -> Iterator[tuple[int, int]]:
    """First and last sample of each run of equal values that is long enough."""
    edges = np.diff(np.concatenate([[0], same.view(np.int8), [0]]))
    for begin, end in zip(
        np.flatnonzero(edges == 1).tolist(), np.flatnonzero(edges == -1).tolist(), strict=True
    ):
        if end - begin + 1 >= limits.least_samples and times[end] - times[begin] >= limits.least_s * 1e9:
            yield begin, end


def _changing_outside(same: NDArray[np.bool_], begin: int, end: int) -> float:
    """Share of samples that differ from the one before, outside a run; 0 where too few are left to tell."""
    outside = np.concatenate([same[:begin], same[end:]])
    return float(1 - outside.mean()) if len(outside) >= 10 else 0.0


def _crosses(followed: _Followed, d: int, begin: int, end: int) -> bool:
    """Whether the command is clearly on both sides of where the state stands."""
    command, at = followed.expected(begin, end)[:, d], followed.state[begin, d]
    clear = max(_ACROSS * followed.reach[d], 0.5 * _BEYOND_USUAL * followed.error[d])
    return bool(command.max() > at + clear and command.min() < at - clear)


def _merged(found: list[_Standstill]) -> list[_Standstill]:
    """Standstills that overlap, as one."""
    merged: list[_Standstill] = []
    for still in sorted(found, key=lambda still: still.start_ns):
        if merged and still.start_ns < merged[-1].end_ns:
            last = merged[-1]
            last.end_ns = max(last.end_ns, still.end_ns)
            for joint, moved in still.joints.items():
                last.joints[joint] = max(moved, last.joints.get(joint, 0.0))
        else:
            merged.append(still)
    return merged
