"""Commands lead the states that follow them, by how much, and on the right side.

## What it does

Measures in each episode by how much the action (or the leader) leads the state. A lag of the size that
servos have is information. It is a warning when it exceeds the limit, and an error when the state leads the
action.

## Why it matters

A policy that is trained on an action 270 ms ahead of the state learns a robot that reacts 270 ms late;
deployed on a faster one it overshoots. A state ahead of the action means that rows were shifted: the policy
would learn to repeat what has already happened.

## How it is measured

By two estimators that fail in different ways, refined below a sample: the shift of least mean absolute
difference (each joint about its mean difference, so that a constant leader offset does not count), and the
peak of the cross-correlation of velocities. Elements are matched by name and left out where they do not
move beyond their noise. The value is the first estimate; the message has both, and the joints with the
shortest and longest lag. Confidence is the geometric mean of the correlation's peak, the depth of the least
difference, and the agreement of the two. Nothing is said (`not run`) where commands and states do not
resemble each other: correlation or depth below 0.3, or the best shift at the end of the search of one
second.

The lag is read off the values, so a grid of times does not hide it.

## Example

Unitree G1 with hands, 30 Hz: `SYN004 commands lead the state by 271 ms (8.1 steps) by least difference, 167
ms by velocity correlation; from 138 ms (kRightWristYaw) to 345 ms (kRightHandMiddle)`.

## Repair

Find what delays: smoothing, inverse kinematics, a slow bus. For training, shift the action by the lag if it
is the same in all episodes, or train on the state of a later row.

## Tuning

- `limit_ms`: longest lag that is normal (200.0).
- `ahead_steps`: by how many steps the state may lead before it is an error (1.0).

## References

- Ross et al.: "Average magnitude difference function pitch extractor", IEEE Trans. ASSP 22(5), 1974
- Knapp, Carter: "The generalized correlation method for estimation of time delay", IEEE Trans. ASSP 24(4),
  1976
- MacKenzie, Ware: "Lag as a determinant of human performance in interactive systems", INTERCHI 1993:
  operators lose speed and accuracy steeply between 75 and 225 ms
- Position servos of small arms measured at 32 to 52 ms
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.checks.rule import Broken, Need, NotMeasured, Scope, rule
from twinloop.checks.wording import duration, ms
from twinloop.core.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.checks.commands import CommandPair
    from twinloop.checks.measure.lag import Lag
    from twinloop.checks.subject import EpisodeSubject

_SURE = 0.5


@dataclass(frozen=True, slots=True)
class Limits:
    """`limit_ms` milliseconds; `ahead_steps` steps of the slower stream."""

    limit_ms: float = 200.0
    ahead_steps: float = 1.0


@rule(
    code="SYN004",
    name="action_state_lag",
    severity=Severity.WARNING,
    scope=Scope.EPISODE,
    needs=(Need.COMMAND_AND_STATE,),
    since="0.1",
)
def action_state_lag(subject: EpisodeSubject, limits: Limits) -> Iterator[Broken | NotMeasured]:
    for pair, lag in subject.lags():
        if isinstance(lag, str):
            yield NotMeasured(lag, pair.streams)
        elif doubt := lag.doubt:
            yield NotMeasured(doubt, pair.streams)
        else:
            yield _measured(subject, pair, lag, limits)


def _measured(subject: EpisodeSubject, pair: CommandPair, lag: Lag, limits: Limits) -> Broken:
    steps = f"{abs(lag.lag_ns) / lag.step_ns:.1f} steps of {duration(lag.step_ns)}"
    both = f"by least difference, {duration(lag.correlation_ns)} by velocity correlation"
    backwards = lag.lag_ns < -limits.ahead_steps * lag.step_ns and lag.confidence >= _SURE
    if backwards:
        severity = Severity.ERROR
        message = (
            f"the state leads its command by {duration(-lag.lag_ns)} ({steps}) {both}: the wrong way round"
        )
    else:
        severity = Severity.WARNING if lag.lag_ns > limits.limit_ms * 1e6 else Severity.INFO
        message = f"commands lead the state by {duration(lag.lag_ns)} ({steps}) {both}"
    times = pair.state[0]
    return Broken(
        message=message + _extremes(lag),
        fix="find what delays; for training, shift the action by the lag if it is constant",
        severity=severity,
        stream=pair.streams,
        clock_of=pair.state_feature.stream,
        start_ns=subject.span.start_ns if subject.span else int(times.min()),
        end_ns=subject.span.end_ns if subject.span else int(times.max()),
        value=ms(lag.lag_ns),
        limit=limits.limit_ms,
        unit="ms",
        confidence=lag.confidence,
    )


def _extremes(lag: Lag) -> str:
    """The joints with the shortest and the longest lag, where they differ by over a step."""
    if len(lag.clear_elements) < 2:
        return ""
    least = min(lag.clear_elements, key=lambda element: element.lag_ns)
    most = max(lag.clear_elements, key=lambda element: element.lag_ns)
    if most.lag_ns - least.lag_ns <= lag.step_ns:
        return ""
    slowest = f"{duration(most.lag_ns)} ({most.name})"
    return f"; joint by joint from {duration(least.lag_ns)} ({least.name}) to {slowest}"
