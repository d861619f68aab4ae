"""The frame that a label begins at is not the one at its time.

## What it does

Compares a label's first frame with its start time times the rate that is declared for its video.

## Why it matters

Frames were counted at another rate than the video's, or on another copy of it. Whoever indexes the video by
these numbers trains on other moments, and the error grows with the video.

## How it is measured

Difference of the two numbers of frames. `tolerance` covers times that are rounded to a hundredth of a second
and counting from one instead of zero. The value is the share of labels that differ by more, over all streams
whose video has a declared rate; the place is the label that differs most.

## Example

`LAB003 8263 of 9668 labels (85.5 %) name another frame than is at their start, by up to 8141 frames`.

## Repair

Index by time, or find out at which rate the frames were extracted and use that.

## Tuning

- `tolerance`: frames (2).

## References

- EPIC-KITCHENS-100 annotations: frames are of images extracted at a rate of their own
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
    from twinloop.core.stream import Stream


@dataclass(frozen=True, slots=True)
class Limits:
    """`tolerance`: frames."""

    tolerance: float = 2.0


@rule(
    code="LAB003",
    name="frame_mismatch",
    severity=Severity.WARNING,
    scope=Scope.RECORDING,
    needs=(Need.LABELS,),
    since="0.1",
)
def frame_mismatch(subject: RecordingSubject, limits: Limits) -> Iterator[Broken | NotMeasured]:
    total = wrong = 0
    most, place = 0.0, ("", 0, 0)
    for name, labels in labelled(subject.observed):
        rate = _video_rate(subject.streams[name])
        framed = np.flatnonzero(labels.framed)
        if rate is None or not len(framed):
            continue
        total += len(framed)
        off = np.abs(labels.start_frame[framed] - labels.start_ns[framed] / 1e9 * rate)
        wrong += int((off > limits.tolerance).sum())
        worst = int(framed[np.argmax(off)])
        if off.max() > most:
            most, place = float(off.max()), (name, int(labels.start_ns[worst]), int(labels.end_ns[worst]))
    if not total:
        yield NotMeasured("no label has both a first frame and a video with a declared rate")
    elif wrong:
        yield Broken(
            message=(
                f"{wrong} of {count(total, 'label')} ({share(wrong, total)}) name another frame than is at "
                f"their start, by up to {most:.0f} frames"
            ),
            fix="index by time, or find out the rate at which the frames were extracted",
            stream=place[0],
            start_ns=place[1],
            end_ns=place[2],
            value=most,
            limit=limits.tolerance,
            unit="frame",
        )


def _video_rate(stream: Stream) -> float | None:
    try:
        return float(stream.attributes["video_fps"]) or None
    except (KeyError, ValueError):
        return None
