"""What the cameras saw: some pictures of each, spread over the recording."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

from twinloop.checks.render.html.markup import tag, text
from twinloop.core.errors import TwinloopError
from twinloop.core.kinds import Kind

if TYPE_CHECKING:
    from twinloop.checks.render.html.times import Axis, StreamTimes
    from twinloop.core.recording import Recording

_PICTURES, _WIDTH, _MOST_CAMERAS = 8, 200, 12


def camera_strips(recording: Recording, streams: list[StreamTimes], axes: dict[str, Axis]) -> str:
    """One row of pictures a camera; empty without cameras."""
    strips: list[str] = []
    for times in streams:
        if times.stream.kind in (Kind.IMAGE, Kind.DEPTH) and times.count and len(strips) < _MOST_CAMERAS:
            strips.append(_strip(recording, times, axes[times.epoch]))
    return "".join(strips)


def _strip(recording: Recording, times: StreamTimes, axis: Axis) -> str:
    from twinloop.formats.video.still import encode_still
    from twinloop.formats.video.thumbnail import thumbnails

    name = times.stream.name
    try:
        pictures = thumbnails(recording, name, _PICTURES, _WIDTH)
    except TwinloopError as error:
        return tag("h3", text(name)) + tag("p", text(f"no picture can be shown: {error.what}"), class_="faint")
    figures = []
    for time_ns, picture in pictures:
        data = b64encode(encode_still(picture)).decode()
        at = f"{(time_ns - axis.start_ns) / 1e9:.2f} s"
        image = f'<img src="data:image/jpeg;base64,{data}" alt="{text(name)} at {at}" loading="lazy">'
        figures.append(tag("figure", image, tag("figcaption", text(at))))
    return tag("h3", text(name)) + tag("div", *figures, class_="strip")
