"""What the times of a dataset's rows are, for readers that take them for stamps again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.kinds import StampSource
from twinloop.formats.steps.stamps import Stamps

if TYPE_CHECKING:
    from twinloop.core.stream import Stream
    from twinloop.deliver.source import ExportSource


def row_stamps(source: ExportSource) -> Stamps:
    """Those of the first camera whose times were measured, else of the first such numbers; a grid where no
    stream has any."""
    exported = (*source.camera_features(), *source.number_features())
    streams = [source.recording.streams[feature.stream] for feature in exported]
    found = (_timeline(source, stream) for stream in streams)
    return next((stamps for stamps in found if stamps.are_true), Stamps(StampSource.GRID))


def said(stamps: Stamps) -> dict[str, str]:
    """As texts, by the names that files have for them."""
    return {"stamp_source": stamps.source.value, "clock": str(stamps.clock or "")}


def _timeline(source: ExportSource, stream: Stream) -> Stamps:
    """What the times are that order a stream; clock models take them to another clock."""
    if stream.timeline == "stamp_ns":
        kind, clock = stream.stamp_source, stream.stamp_clock
    else:
        kind = StampSource.LOG if stream.timeline == "log_ns" else StampSource.PUBLISH
        clock = stream.log_clock
    return Stamps(kind, next((model.target for model in source.models if model.source == clock), clock))
