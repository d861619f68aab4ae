"""A label's span ends before it begins, or after its video.

## What it does

Reports labels whose end lies before their start, or after the declared length of their video.

## Why it matters

Such a span selects no image, or images that are not there. Loaders drop it silently or raise in the middle
of an epoch.

## How it is measured

The end is compared with the start, and with the length that is declared for the stream's video, where one is.
The value is the number of such labels in the stream; the place is the first.

## Example

`LAB004 1 label with an end up to 0.31 s after the video's`.

## Repair

Cut the span at the end of the video, or take the video that the label was made on.

## Tuning

- `tolerance_s`: seconds by which a label may end after its video (0.1).

## References

- EPIC-KITCHENS-100 annotations: lengths are those of the containers
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.checks.measure.labels import labelled
from twinloop.checks.rule import Broken, Need, Scope, rule
from twinloop.checks.wording import count
from twinloop.core.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.checks.subject import RecordingSubject
    from twinloop.core.stream import Stream

_FIX = "cut the span at the end of the video, or take the video that the label was made on"


@dataclass(frozen=True, slots=True)
class Limits:
    """`tolerance_s`: seconds."""

    tolerance_s: float = 0.1


@rule(
    code="LAB004",
    name="label_beyond_video",
    severity=Severity.WARNING,
    scope=Scope.RECORDING,
    needs=(Need.LABELS,),
    since="0.1",
)
def label_beyond_video(subject: RecordingSubject, limits: Limits) -> Iterator[Broken]:
    for name, labels in labelled(subject.observed):
        backwards = np.flatnonzero(labels.end_ns < labels.start_ns)
        if len(backwards):
            yield Broken(
                message=f"{count(len(backwards), 'label')} with an end before the start",
                fix="look the span up in the video and write it anew",
                stream=name,
                start_ns=int(labels.end_ns[backwards[0]]),
                end_ns=int(labels.start_ns[backwards[0]]),
                value=float(len(backwards)),
                limit=0.0,
                unit="label",
            )
        length_s = _video_length_s(subject.streams[name])
        if length_s is None:
            continue
        late_s = labels.end_ns / 1e9 - length_s
        beyond = np.flatnonzero(late_s > limits.tolerance_s)
        if len(beyond):
            yield Broken(
                message=(
                    f"{count(len(beyond), 'label')} with an end up to {late_s.max():.2f} s after the video's"
                ),
                fix=_FIX,
                stream=name,
                start_ns=int(labels.start_ns[beyond[0]]),
                end_ns=int(labels.end_ns[beyond[0]]),
                value=float(len(beyond)),
                limit=0.0,
                unit="label",
            )


def _video_length_s(stream: Stream) -> float | None:
    try:
        return float(stream.attributes["video_duration_s"]) or None
    except (KeyError, ValueError):
        return None
