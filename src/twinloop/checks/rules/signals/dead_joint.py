"""A joint has the same value in all samples of all episodes, while others move.

## What it does

Reports elements of state and action that never change.

## Why it matters

A state that never changes is a sensor that is not read: real joints at rest still tremble by an encoder's
tick. As an input it is useless; normalised by its standard deviation of zero it is NaN.

## How it is measured

The smallest and largest value of each element of joint streams over all episodes; equal means dead (a
robot on wheels rightly has no height). Something else in the
feature must change, or the recording is one in which nothing happens (rule EPI001). For actions it is
information: a joint that the task does not use is commanded to stay.

## Example

`SIG002 observation.state of gripper is 0 in all samples of 100 episodes`.

## Repair

Check the joint's name and its place in the mapping, then the sensor. Drop the element from the feature if
the robot does not have it.

## Tuning

Nothing to tune. `severity` and `enabled` can be set in a profile.

## References

- robovet DATA-108 (exactly constant); lerobot-lint (1 % of the largest standard deviation)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.checks.commands import command_features, state_features
from twinloop.checks.rule import Broken, Need, NoLimits, Scope, rule
from twinloop.checks.wording import count
from twinloop.core.finding import Severity
from twinloop.core.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from twinloop.checks.subject import EpisodeSubject, SetSubject


@dataclass(frozen=True, slots=True)
class Range:
    """What is kept of one feature in one episode: element names, smallest and largest values (D,)."""

    names: tuple[str, ...]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    rows: int


def ranges_of_episode(subject: EpisodeSubject, limits: NoLimits) -> dict[str, Range]:  # noqa: ARG001
    """Feature -> its range."""
    features = subject.mapping.features if subject.mapping else ()
    joints = {
        f.name
        for f in features
        if f.stream in subject.streams and subject.streams[f.stream].kind is Kind.JOINTS
    }
    kept = {}
    for name, samples in subject.samples.items():
        if name in joints and len(samples):
            low, high = np.fmin.reduce(samples.values), np.fmax.reduce(samples.values)
            kept[name] = Range(samples.names, low, high, len(samples))
    return kept


@rule(
    code="SIG002",
    name="dead_joint",
    severity=Severity.WARNING,
    scope=Scope.SET,
    needs=(Need.STATE_OR_ACTION,),
    since="0.1",
    summarise=ranges_of_episode,
)
def dead_joint(subject: SetSubject, limits: NoLimits) -> Iterator[Broken]:  # noqa: ARG001
    states = {feature.name: feature for feature in state_features(subject.mapping)}
    actions = {feature.name: feature for feature in command_features(subject.mapping)}
    for name, feature in (states | actions).items():
        ranges = [summary[name] for _, summary in subject.summaries if name in summary]
        if not ranges or sum(each.rows for each in ranges) < 2:
            continue
        low = np.fmin.reduce([each.low for each in ranges])
        high = np.fmax.reduce([each.high for each in ranges])
        dead = low == high
        if dead.all():
            continue
        for element in np.flatnonzero(dead):
            joint, episodes = ranges[0].names[element], count(len(ranges), "episode")
            yield Broken(
                message=f"{name} of {joint} is {low[element]:g} in all samples of {episodes}",
                fix="check the joint's name in the mapping and its sensor, or drop it from the feature",
                severity=Severity.INFO if name in actions else None,
                stream=feature.stream,
                value=0.0,
                limit=0.0,
                unit=feature.unit,
            )
