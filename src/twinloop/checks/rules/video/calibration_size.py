"""A camera's calibration is for pictures of another size.

## What it does

Compares the width and height that a camera's calibration declares with those of the stream of the same name.

## Why it matters

Intrinsics are numbers of pixels. For cropped or scaled pictures the principal point and perhaps the focal
length are others, and whatever is projected with them lands beside its place.

## How it is measured

The sizes are compared as they are declared, by the calibration file and by the header of the video or image.
A picture lying on its side (width and height swapped) is told as such. The value is the picture's width, or
its height where the widths agree; the limit is the calibration's.

## Example

A rig is calibrated at 1088 pixels, one camera's video was cut to 1080: `VID003 calibrated at 1088x1920, the
pictures are 1080x1920`.

## Repair

Calibrate again, or shift and scale the intrinsics by the crop that was made.

## Tuning

- `tolerance`: pixels by which a side may differ (0).

## References

- OpenCV, camera calibration: intrinsics scale with the resolution
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.checks.rule import Broken, NotMeasured, Scope, rule
from twinloop.core.calibration import cameras_of
from twinloop.core.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.checks.subject import RecordingSubject
    from twinloop.core.stream import Stream


@dataclass(frozen=True, slots=True)
class Limits:
    """`tolerance`: pixels."""

    tolerance: int = 0


@rule(code="VID003", name="calibration_size", severity=Severity.WARNING, scope=Scope.RECORDING, since="0.1")
def calibration_size(subject: RecordingSubject, limits: Limits) -> Iterator[Broken | NotMeasured]:
    compared = 0
    for name, camera in cameras_of(subject.recording.calibration).items():
        stream = subject.streams.get(name)
        size = stream and _size(stream)
        if not size or camera.width is None or camera.height is None:
            continue
        compared += 1
        calibrated = (camera.width, camera.height)
        off = [side for side in (0, 1) if abs(size[side] - calibrated[side]) > limits.tolerance]
        if off:
            turned = " (on its side)" if size == calibrated[::-1] else ""
            yield Broken(
                message=(
                    f"calibrated at {calibrated[0]}x{calibrated[1]}, "
                    f"the pictures are {size[0]}x{size[1]}{turned}"
                ),
                fix="calibrate again, or shift and scale the intrinsics by the crop that was made",
                stream=name,
                value=float(size[off[0]]),
                limit=float(calibrated[off[0]]),
                unit="px",
            )
    if not compared:
        yield NotMeasured("no image stream has a calibration that declares a size")


def _size(stream: Stream) -> tuple[int, int] | None:
    """(width, height) of a stream's pictures, where its header tells."""
    if stream.segments:
        return stream.segments[0].width, stream.segments[0].height
    try:
        return int(stream.attributes["width"]), int(stream.attributes["height"])
    except (KeyError, ValueError):
        return None
