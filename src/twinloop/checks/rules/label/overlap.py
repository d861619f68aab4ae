"""Labels of one stream overlap.

## What it does

Counts labels that begin before an earlier label of the same stream has ended.

## Why it matters

Two hands do two things at once, so overlap may be right. But a loader that gives each image one label takes
whichever comes last, and a metric that counts each image once punishes the other answer.

## How it is measured

Labels are ordered by their starts; each is compared with the latest end of all before it. Spans are half
open, so a label that begins where another ends does not overlap it. The value is the share of labels that
overlap an earlier one, over all streams of the recording; the place is the first of them.

## Example

`LAB002 2610 of 9668 labels (27 %) overlap an earlier one of their stream`.

## Repair

Train with several labels an image, or keep the label whose middle is nearest.

## Tuning

- `share`: of the labels that may overlap an earlier one (0).

## References

- Damen et al., Rescaling Egocentric Vision, IJCV 2022: overlapping segments are part of the annotation
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.checks.measure.labels import labelled
from twinloop.checks.rule import Broken, Need, Scope, rule
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
    code="LAB002",
    name="label_overlap",
    severity=Severity.INFO,
    scope=Scope.RECORDING,
    needs=(Need.LABELS,),
    since="0.1",
)
def label_overlap(subject: RecordingSubject, limits: Limits) -> Iterator[Broken]:
    total = overlapping = streams = 0
    place: tuple[str, int, int] | None = None
    for name, labels in labelled(subject.observed):
        total += len(labels)
        rows = labels.overlapping()
        if not len(rows):
            continue
        overlapping, streams = overlapping + len(rows), streams + 1
        place = place or (name, int(labels.start_ns[rows[0]]), int(labels.end_ns[rows[0]]))
    part = overlapping / total if total else 0.0
    if place and part > limits.share:
        yield Broken(
            message=(
                f"{overlapping} of {count(total, 'label')} ({share(overlapping, total)}) overlap an earlier "
                f"one of their stream, in {count(streams, 'stream')}"
            ),
            fix="train with several labels an image, or choose one by a stated rule",
            stream=place[0],
            start_ns=place[1],
            end_ns=place[2],
            value=100 * part,
            limit=100 * limits.share,
            unit="%",
        )
