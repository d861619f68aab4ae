"""The lag between action and state is not the same in all episodes.

## What it does

Compares the lag of each episode (rule SYN004) with that of the others.

## Why it matters

A constant lag can be shifted away, or learned. One that differs between episodes cannot: the same picture
calls for different actions.

## How it is measured

Over the episodes in which the lag was measured with confidence: the median, and each episode's distance
from it. An episode stands out if it is farther than `limit_ms`, than two steps of the slower stream, and
than five robust standard deviations (1.4826 times the median absolute deviation). If the robust standard
deviation itself exceeds `limit_ms`, that is one finding for the set. It takes four episodes.

## Example

A network was slow for two takes: `SYN005 the lag is 212 ms here, 64 ms in the median of 40 episodes`.

## Repair

Exclude the episodes that stand out, or align each by its own lag.

## Tuning

- `limit_ms`: distance from the median (50.0).

## References

- Rousseeuw, Croux: "Alternatives to the median absolute deviation", JASA 88 (1993), for the factor 1.4826
- calibra: drift of 2 (warning) and 5 frames
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.checks.rule import Broken, Need, NotMeasured, Scope, rule
from twinloop.checks.wording import duration, ms
from twinloop.core.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.checks.subject import EpisodeSubject, SetSubject

_FEWEST = 4
_SURE = 0.3


@dataclass(frozen=True, slots=True)
class Limits:
    """`limit_ms` milliseconds."""

    limit_ms: float = 50.0


@dataclass(frozen=True, slots=True)
class PairLag:
    """What is kept of one pair in one episode; `clock_of` is the state's stream."""

    lag_ns: float
    step_ns: float
    confidence: float
    clock_of: str


def lags_of_episode(subject: EpisodeSubject, limits: Limits) -> dict[str, PairLag]:  # noqa: ARG001
    """Pair -> its lag, where it was measured with confidence."""
    return {
        pair.streams: PairLag(lag.lag_ns, lag.step_ns, lag.confidence, pair.state_feature.stream)
        for pair, lag in subject.lags()
        if not isinstance(lag, str) and not lag.doubt and lag.confidence >= _SURE
    }


@rule(
    code="SYN005",
    name="lag_varies",
    severity=Severity.WARNING,
    scope=Scope.SET,
    needs=(Need.EPISODES, Need.COMMAND_AND_STATE),
    since="0.1",
    summarise=lags_of_episode,
)
def lag_varies(subject: SetSubject, limits: Limits) -> Iterator[Broken | NotMeasured]:
    for streams in dict.fromkeys(name for _, summary in subject.summaries for name in summary):
        known = [(index, summary[streams]) for index, summary in subject.summaries if streams in summary]
        if len(known) < _FEWEST:
            yield NotMeasured(f"the lag is known in {len(known)} episodes, and it takes {_FEWEST}", streams)
            continue
        yield from _compare(subject, streams, known, limits)


def _compare(
    subject: SetSubject, streams: str, known: list[tuple[int | None, PairLag]], limits: Limits
) -> Iterator[Broken]:
    lags = np.array([lag.lag_ns for _, lag in known])
    middle = float(np.median(lags))
    spread = 1.4826 * float(np.median(np.abs(lags - middle)))
    step = float(np.median([lag.step_ns for _, lag in known]))
    limit_ns = max(limits.limit_ms * 1e6, 2 * step, 5 * spread)
    if spread > max(limits.limit_ms * 1e6, 2 * step):
        yield Broken(
            message=(
                f"the lag scatters by {duration(spread)} over {len(known)} episodes, "
                f"from {duration(lags.min())} to {duration(lags.max())}"
            ),
            fix="find what delays differently; align each episode by its own lag",
            stream=streams,
            value=ms(spread),
            limit=limits.limit_ms,
            unit="ms",
        )
    spans = {span.index: span for span in subject.recording.spans}
    for index, lag in known:
        if abs(lag.lag_ns - middle) > limit_ns and index is not None:
            yield Broken(
                message=(
                    f"the lag is {duration(lag.lag_ns)} here, {duration(middle)} in the median of "
                    f"{len(known)} episodes"
                ),
                fix="exclude the episode, or align it by its own lag",
                stream=streams,
                clock_of=lag.clock_of,
                episode=index,
                start_ns=spans[index].start_ns,
                end_ns=spans[index].end_ns,
                value=ms(lag.lag_ns),
                limit=ms(middle + limit_ns * np.sign(lag.lag_ns - middle)),
                unit="ms",
                confidence=lag.confidence,
            )
