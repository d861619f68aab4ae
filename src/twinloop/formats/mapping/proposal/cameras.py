"""Which image streams are which camera."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from twinloop.core.kinds import Kind, Role
from twinloop.core.mapping import Feature
from twinloop.formats.mapping.proposal.words import segments, slug

if TYPE_CHECKING:
    from collections.abc import Mapping

    from twinloop.core.stream import Stream

_FORMAT = re.compile(
    r"images?|image_(raw|color|colour|rect|rect_color|rect_raw|mono|compressed)|raw|compressed|compressed_?depth"
    r"|h26[45]|hevc|av1|video|colou?r|rgb|bgr|jpe?g|png|theora|ffmpeg|depth|aligned_depth_to_colou?r|stream"
    r"|data|sensors?|rectified|depth_registered",
    re.IGNORECASE,
)
_DEPTH_ENCODINGS = {"16UC1", "mono16", "32FC1", "gray16le", "gray12le"}


def propose_cameras(streams: Mapping[str, Stream]) -> tuple[list[Feature], dict[str, str]]:
    """Features for the cameras, and why other image streams are left out."""
    features: list[Feature] = []
    left_out: dict[str, str] = {}
    cameras: dict[str, list[Stream]] = {}
    for stream in streams.values():
        if stream.kind not in (Kind.IMAGE, Kind.DEPTH):
            continue
        if stream.count == 0:
            left_out[stream.name] = "no images in it"
        else:
            cameras.setdefault(camera_name(stream), []).append(stream)
    for name, same in cameras.items():
        chosen = min(same, key=lambda s: (-(s.count or 0) // 100, s.bytes or 0))
        why = f"{chosen.type_name or chosen.kind.value} by its kind"
        if chosen.measured_rate_hz:
            why += f", {chosen.measured_rate_hz:.1f} Hz"
        if len(same) > 1:
            why += f"; the smallest of {len(same)} streams of the same camera"
        features.append(Feature(f"observation.images.{name}", chosen.name, Role.OBSERVATION, why=why))
        for other in same:
            if other is not chosen:
                left_out[other.name] = f"the same camera as {chosen.name}"
    return features, left_out


def camera_name(stream: Stream) -> str:
    """The camera's name in its topic: ``/wrist/image/compressed`` -> wrist; depth ends in ``_depth``."""
    parts = segments(stream.name.removeprefix("observation.images."))
    kept = [part for part in parts if not _FORMAT.fullmatch(part)]
    name = slug(kept) or "camera"
    is_depth = stream.kind is Kind.DEPTH or stream.attributes.get("encoding") in _DEPTH_ENCODINGS
    return name if not is_depth or name.endswith("depth") else f"{name}_depth"
