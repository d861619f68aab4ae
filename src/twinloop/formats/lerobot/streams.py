"""Which stream a feature becomes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from twinloop.core.clock import NS_PER_S, Clock, Epoch
from twinloop.core.kinds import Kind, Role, StampSource
from twinloop.core.stream import Stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from twinloop.core.stream import VideoSegment
    from twinloop.formats.lerobot.entry import EpisodeEntry
    from twinloop.formats.lerobot.info import FeatureInfo

#: Streams that are made of bookkeeping columns, beside one for each feature.
ROWS = "rows"
TASK = "task"

#: More elements than this are kept as one list column, not as a column each.
FLAT_ELEMENTS = 128

CLOCK = Clock(Epoch.EPISODE)

_JOINT = re.compile(
    r"joint|motor|servo|shoulder|elbow|wrist|gripper|finger|thumb|hand|arm|hip|knee|ankle|waist|torso|neck|"
    r"pan|tilt|lift|flex|jaw|\.pos$|_pos$|\.q$|^(j|q|a)_?\d+$",
    re.IGNORECASE,
)
_VECTORS = ("observation.state", "action")


def kind_of(feature: FeatureInfo) -> Kind | None:
    """The kind of stream that a feature makes; None: its values cannot be read."""
    if feature.dtype in ("video", "image"):
        deep = feature.video is not None and bool(feature.video.get("is_depth_map"))
        return Kind.DEPTH if deep else Kind.IMAGE
    if feature.dtype == "language" or feature.name.startswith("language_"):
        return Kind.EVENT if feature.name.endswith("events") else Kind.TEXT
    if feature.dtype == "string":
        return Kind.TEXT
    if not feature.is_number:
        return None
    if feature.name in _VECTORS or _are_joints(feature.names):
        return Kind.JOINTS
    return Kind.SCALAR if feature.size == 1 else Kind.TABLE


def element_names(feature: FeatureInfo) -> tuple[str, ...]:
    """The names of a vector's elements; where none are declared, `dim_0`, `dim_1`..."""
    return feature.names or tuple(f"dim_{k}" for k in range(feature.size))


def stream_of(
    feature: FeatureInfo,
    kind: Kind,
    episodes: Sequence[EpisodeEntry],
    fps: float,
    segments: tuple[VideoSegment, ...] = (),
) -> Stream:
    """The stream of a feature, one sample a row."""
    attributes = {"dtype": feature.dtype, "shape": "x".join(map(str, feature.shape))}
    if kind in (Kind.JOINTS, Kind.TABLE):
        attributes["names"] = ", ".join(element_names(feature))
    if segments:
        attributes.update(
            encoding=segments[0].codec, width=str(segments[0].width), height=str(segments[0].height)
        )
    elif kind in (Kind.IMAGE, Kind.DEPTH):
        width, height = feature.picture_size
        attributes.update(width=str(width), height=str(height))
    sparse = kind in (Kind.EVENT, Kind.TEXT)
    return row_stream(
        feature.name,
        kind,
        episodes,
        fps,
        role=_role(feature.name, kind),
        type_name=f"{feature.dtype}[{attributes['shape']}]",
        attributes=attributes,
        segments=segments,
        counted=not sparse,
    )


def row_stream(
    name: str,
    kind: Kind,
    episodes: Sequence[EpisodeEntry],
    fps: float,
    *,
    role: Role | None = None,
    type_name: str = "",
    attributes: dict[str, str] | None = None,
    segments: tuple[VideoSegment, ...] = (),
    counted: bool = True,
) -> Stream:
    """A stream on the grid of rows; `counted` False: it has fewer samples than there are rows."""
    here = [episode for episode in episodes if episode.data is not None and episode.length]
    last = here[-1] if here else None
    return Stream(
        name=name,
        kind=kind,
        role=role,
        count=sum(episode.length for episode in here) if counted else None,
        start_ns=here[0].base_ns if here else None,
        end_ns=last.base_ns + round((last.length - 1) / fps * NS_PER_S) if last else None,
        timeline="stamp_ns",
        stamp_source=StampSource.GRID,
        stamp_clock=CLOCK,
        type_name=type_name,
        encoding="lerobot",
        rate_hz=fps if counted else None,
        attributes=attributes or {},
        segments=segments,
    )


def _are_joints(names: tuple[str, ...]) -> bool:
    """Whether most names are those of joints."""
    return len(names) > 1 and 2 * sum(bool(_JOINT.search(name)) for name in names) > len(names)


def _role(name: str, kind: Kind) -> Role | None:
    if name == "action" or name.startswith("action."):
        return Role.ACTION
    if name.startswith("observation.") or kind in (Kind.IMAGE, Kind.DEPTH):
        return Role.OBSERVATION
    return None
