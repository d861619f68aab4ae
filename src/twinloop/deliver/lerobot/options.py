"""What a user chooses about a LeRobot dataset."""

from __future__ import annotations

from dataclasses import dataclass

from twinloop.deliver.options import RowOptions


@dataclass(frozen=True, slots=True)
class ExportOptions(RowOptions):
    """How rows are made, and what may happen to images.

    Attributes:
        version: of the format, v3.0 or v2.1. In v2.1 each episode's video begins with its first row, so no
            lead can stay.
        keep_mjpeg: MJPEG may be remuxed. causal: no image after its row, not by half a period either.
        keep_lead: images before a cut off a keyframe may stay in the file, unreferenced; else they are
            re-encoded up to the next keyframe (H.264), or all of the episode is.
        reencode: never remux. codec: of what is re-encoded; None: that of the camera's remuxed episodes,
            else h264. gop, crf: of what is re-encoded.
    """

    version: str = "v3.0"
    keep_mjpeg: bool = False
    causal: bool = False
    keep_lead: bool = True
    reencode: bool = False
    codec: str | None = None
    gop: int = 2
    crf: int | None = None
