"""A label was spoken at a time outside its own span.

## What it does

Counts labels whose narration has a time that lies before the start or after the end of the label's span.

## Why it matters

Whoever trains from the moment of the narration alone (weak supervision) takes images of another action.
People speak before or after they act; spans are drawn later, by others.

## How it is measured

Spans are closed here: a narration at the very end lies inside. Labels without a time of narration count in
the whole, not among those outside. The value is the share of labels that lie outside, over all streams of
the recording; the finding's place is the label whose narration is farthest away.

## Example

`LAB001 4505 of 9668 labels (46.6 %) were spoken outside their spans`.

## Repair

Train from the spans. Where only narrations are there, take a window as wide as the distances told.

## Tuning

- `share`: of the labels that may be spoken outside their spans (0).

## References

- Damen et al., Rescaling Egocentric Vision, IJCV 2022: narrations are pointers, spans were annotated from them
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.checks.measure.labels import labelled
from twinloop.checks.rule import Broken, Need, NotMeasured, Scope, rule
from twinloop.checks.wording import count, share
from twinloop.core.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.checks.subject import RecordingSubject


@dataclass(frozen=True, slots=True)
class Limits:
    """`share` of labels."""

    share: float = 0.0


@rule(
    code="LAB001",
    name="spoken_elsewhere",
    severity=Severity.WARNING,
    scope=Scope.RECORDING,
    needs=(Need.LABELS,),
    since="0.1",
)
def spoken_elsewhere(subject: RecordingSubject, limits: Limits) -> Iterator[Broken | NotMeasured]:
    total = outside = streams = 0
    farthest, place = -1, ("", 0, 0)
    said = False
    for name, labels in labelled(subject.observed):
        total += len(labels)
        told = np.flatnonzero(labels.narrated)
        said = said or len(told) > 0
        start, end, spoken = labels.start_ns[told], labels.end_ns[told], labels.narrated_ns[told]
        away = np.maximum(start - spoken, spoken - end)
        far = np.flatnonzero(away > 0)
        if not len(far):
            continue
        outside, streams = outside + len(far), streams + 1
        worst = int(far[np.argmax(away[far])])
        if away[worst] > farthest:
            farthest, place = int(away[worst]), (name, int(start[worst]), int(end[worst]))
    if not said:
        yield NotMeasured("no label says when it was spoken")
        return
    part = outside / total
    if part > limits.share:
        yield Broken(
            message=(
                f"{outside} of {count(total, 'label')} ({share(outside, total)}) were spoken outside their "
                f"spans, in {count(streams, 'stream')}; the farthest {farthest / 1e9:.2f} s away"
            ),
            fix="train from the spans, not from the moments of narration",
            stream=place[0],
            start_ns=place[1],
            end_ns=place[2],
            value=100 * part,
            limit=100 * limits.share,
            unit="%",
        )
