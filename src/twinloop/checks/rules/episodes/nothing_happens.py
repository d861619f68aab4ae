"""Nothing moves in an episode.

## What it does

Reports episodes in which neither state nor action changes beyond its noise.

## Why it matters

Such an episode teaches to stand still. It is recorded when the robot was not enabled, the leader was not
connected, or a simulation did not step.

## How it is measured

An element moves if its range between the 1st and the 99th percentile is over six times its noise (from
second differences) and over a millionth of its size. The episode is reported if no element of any feature
of state or action does; the value is the number that do. Where the cameras can be read, a few of their
pictures are compared, and the message says whether those change.

## Example

A converter that ran on a simulation at rest: `EPI001 nothing moves in 9.9 s: none of 6 elements of
observation.state, none of 6 of action; the pictures of observation.images.wrist do not change either (mean
grey difference 0.8)`.

## Repair

Exclude the episode.

## Tuning

- `least_s`: shortest episode that is judged, in seconds (0.5).
- `still_grey`: mean difference of grey values below which pictures count as the same (2.0).

## References

- rdq: no_motion; robot-data-audit: effective motion ratio 0.02
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.checks.measure.lag import moving
from twinloop.checks.measure.pictures import picture_change
from twinloop.checks.rule import Broken, Need, Scope, rule
from twinloop.checks.wording import duration, few
from twinloop.core.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.checks.subject import EpisodeSubject


@dataclass(frozen=True, slots=True)
class Limits:
    """`least_s` seconds; `still_grey` of 255."""

    least_s: float = 0.5
    still_grey: float = 2.0


@rule(
    code="EPI001",
    name="nothing_happens",
    severity=Severity.ERROR,
    scope=Scope.EPISODE,
    needs=(Need.STATE_OR_ACTION,),
    since="0.1",
)
def nothing_happens(subject: EpisodeSubject, limits: Limits) -> Iterator[Broken]:
    features = {name: samples for name, samples in subject.samples.items() if len(samples) >= 3}
    if not features or any(moving(samples.values).any() for samples in features.values()):
        return
    start = min(int(samples.times_ns.min()) for samples in features.values())
    end = max(int(samples.times_ns.max()) for samples in features.values())
    if end - start < limits.least_s * 1e9:
        return
    which = ", ".join(f"none of {len(samples.names)} elements of {name}" for name, samples in features.items())
    of_first = next(f for f in subject.mapping.features if f.name in features) if subject.mapping else None
    yield Broken(
        message=f"nothing moves in {duration(end - start)}: {which}{_pictures(subject, limits)}",
        fix="exclude the episode",
        stream=of_first.stream if of_first else None,
        start_ns=start,
        end_ns=end,
        value=0.0,
        limit=1.0,
        unit="element",
    )


def _pictures(subject: EpisodeSubject, limits: Limits) -> str:
    changes = picture_change(subject)
    if not changes:
        return ""
    most = f"mean grey difference {max(changes.values()):.1f}"
    moving_pictures = [name for name, change in changes.items() if change >= limits.still_grey]
    if not moving_pictures:
        return f"; the pictures of {few(list(changes))} do not change either ({most})"
    return f"; but the pictures of {few(moving_pictures)} do change ({most})"
