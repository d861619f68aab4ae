"""Some joints follow their commands much later than others.

## What it does

Compares the lag of the joints with each other, over all episodes.

## Why it matters

No shift of the action makes all joints right. Hands on a slow bus beside arms on a fast one teach a grasp
that closes early or late.

## How it is measured

Each joint's own lag by least mean absolute difference, where the minimum is clear (depth of 0.5 or more);
the median over episodes, for joints that move in at least half of those in which anything was measured. The
value is the difference between the slowest and the fastest joint.

## Example

Unitree G1 with hands: `SYN006 joints follow their commands after 138 ms (kRightWristYaw) to 345 ms
(kRightHandMiddle)`.

## Repair

Make two features, one for each group, and shift them separately. Poll the slow bus more often.

## Tuning

- `limit_ms`: difference between joints (100.0).

## References

- See SYN004 for the estimator
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.checks.rule import Broken, Need, Scope, rule
from twinloop.checks.wording import duration, few, ms
from twinloop.core.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.checks.subject import EpisodeSubject, SetSubject


@dataclass(frozen=True, slots=True)
class Limits:
    """`limit_ms` milliseconds."""

    limit_ms: float = 100.0


JointLags = dict[str, tuple[float, dict[str, float]]]  # pair -> (step, joint -> lag), in ns


def joint_lags_of_episode(subject: EpisodeSubject, limits: Limits) -> JointLags | None:  # noqa: ARG001
    """Pair -> its step and the lags of its joints, where they are clear."""
    lags = {
        pair.streams: (lag.step_ns, {element.name: element.lag_ns for element in lag.clear_elements})
        for pair, lag in subject.lags()
        if not isinstance(lag, str) and not lag.doubt
    }
    return lags or None


@rule(
    code="SYN006",
    name="joints_lag_apart",
    severity=Severity.WARNING,
    scope=Scope.SET,
    needs=(Need.COMMAND_AND_STATE,),
    since="0.1",
    summarise=joint_lags_of_episode,
)
def joints_lag_apart(subject: SetSubject, limits: Limits) -> Iterator[Broken]:
    for streams in dict.fromkeys(name for _, summary in subject.summaries for name in summary):
        episodes = [summary[streams] for _, summary in subject.summaries if streams in summary]
        lags: dict[str, list[float]] = {}
        for _, joints in episodes:
            for name, lag in joints.items():
                lags.setdefault(name, []).append(lag)
        middle = {name: float(np.median(each)) for name, each in lags.items() if 2 * len(each) >= len(episodes)}
        if len(middle) < 2:
            continue
        order = sorted(middle, key=lambda name: middle[name])
        apart = middle[order[-1]] - middle[order[0]]
        step = max(step for step, _ in episodes)
        if apart > max(limits.limit_ms * 1e6, 2 * step):
            half = (middle[order[0]] + middle[order[-1]]) / 2
            slow = [name for name in reversed(order) if middle[name] > half]
            yield Broken(
                message=(
                    f"joints follow their commands after {duration(middle[order[0]])} ({order[0]}) to "
                    f"{duration(middle[order[-1]])} ({order[-1]}); the slow ones: {few(slow)}"
                ),
                fix="make a feature of each group and align them separately",
                stream=streams,
                value=ms(apart),
                limit=limits.limit_ms,
                unit="ms",
                confidence=min(1.0, len(episodes) / 4),
            )
