"""A joint's state stands still while its command moves.

## What it does

Reports spans in which the state keeps exactly the same value and the command goes elsewhere.

## Why it matters

A driver that repeats its last reading looks like a robot that does not obey. The policy learns that this
action does nothing here.

## How it is measured

Runs of identical values of at least `least_s` and `least_samples`, during which the command covers at least
`moves` of its range in the episode. As a gripper that holds an object also stands still while it is told to
close, one of three more signs is asked for: all moving joints of the feature stand still together; or the
state, outside the run, changes in nine of ten samples, so that a sensor with that much noise cannot be
silent; or the command passes from one side of the state to the other. Joints that stand still in the same
span are one finding. The value is its length.

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
    from twinloop.checks.subject import EpisodeSubject

_LIVELY = 0.9
_ACROSS = 0.02


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
    for pair in subject.commands():
        for still in _standstills(pair, limits):
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


def _standstills(pair: CommandPair, limits: Limits) -> list[_Standstill]:
    times, state = _sorted(*pair.state)
    command_times, command = _sorted(*pair.command)
    if len(times) < limits.least_samples or len(command_times) < 3:
        return []
    reach = np.ptp(command, axis=0)
    moves = moving(command)
    same = state[1:] == state[:-1]
    found: list[_Standstill] = []
    together = int(moves.sum()) >= 2
    if together:
        for begin, end in _runs(same[:, moves].all(axis=1), times, limits):
            joints = _moved(pair, command_times, command, reach, moves, times[begin], times[end], limits)
            if len(joints) >= 2:
                found.append(_Standstill(int(times[begin]), int(times[end]), joints))
    for d in np.flatnonzero(moves):
        only = np.zeros(len(moves), np.bool_)
        only[d] = True
        for begin, end in _runs(same[:, d], times, limits):
            joints = _moved(pair, command_times, command, reach, only, times[begin], times[end], limits)
            if joints and (
                _lively(same[:, d], begin, end)
                or _crosses(
                    command[_between(command_times, times[begin], times[end]), d], state[begin, d], reach[d]
                )
            ):
                found.append(_Standstill(int(times[begin]), int(times[end]), joints))
    return _merged(found)


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


def _between(times: NDArray[np.int64], start: int, end: int) -> slice:
    return slice(int(np.searchsorted(times, start)), int(np.searchsorted(times, end, "right")))


def _moved(
    pair: CommandPair,
    command_times: NDArray[np.int64],
    command: NDArray[np.float64],
    reach: NDArray[np.float64],
    chosen: NDArray[np.bool_],
    start: int,
    end: int,
    limits: Limits,
) -> dict[str, float]:
    """Of the chosen joints, those whose command moves in a span, and how far."""
    part = command[_between(command_times, start, end)]
    if len(part) < 2:
        return {}
    moved = np.ptp(part, axis=0) / np.where(reach > 0, reach, 1)
    return {pair.names[d]: float(moved[d]) for d in np.flatnonzero(chosen & (moved >= limits.moves))}


def _lively(same: NDArray[np.bool_], begin: int, end: int) -> bool:
    """Whether the state changes nearly always outside a run."""
    outside = np.concatenate([same[:begin], same[end:]])
    return len(outside) >= 10 and float(1 - outside.mean()) >= _LIVELY


def _crosses(command: NDArray[np.float64], at: float, reach: float) -> bool:
    """Whether a command is clearly on both sides of where the state stands."""
    return bool(command.max() > at + _ACROSS * reach and command.min() < at - _ACROSS * reach)


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
