"""A mapping proposed from what is there: kinds, names, rates, and which joints move before which.

Only the beginning of streams is read. Streams that are named as LeRobot names features keep their names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.core.kinds import Kind, Role
from twinloop.core.mapping import Feature, Mapping
from twinloop.formats.mapping.proposal.arms import propose_arms
from twinloop.formats.mapping.proposal.cameras import propose_cameras
from twinloop.formats.mapping.proposal.cut import propose_cut
from twinloop.formats.mapping.proposal.named import has_feature_name, propose_named
from twinloop.formats.mapping.proposal.sensors import propose_instruction, propose_sensors

if TYPE_CHECKING:
    from twinloop.core.recording import Recording
    from twinloop.core.stream import Stream

_WHY_NOT = {
    Kind.TRANSFORMS: "frames are no numbers of one thing",
    Kind.DETECTIONS: "boxes are statements about a scene",
    Kind.LABEL: "labels are statements about spans",
    Kind.CAMERA_INFO: "calibration",
    Kind.RAW: "its messages were not decoded",
}


@dataclass(frozen=True, slots=True)
class Proposal:
    """A mapping, and for each stream that no feature takes the reason why."""

    mapping: Mapping
    left_out: dict[str, str]


def propose(recording: Recording) -> Mapping:
    """The mapping that a recording's content suggests, each part with its reason in `why`."""
    return propose_with_reasons(recording).mapping


def propose_with_reasons(recording: Recording) -> Proposal:
    """As `propose`, with the streams that are in no feature. Reads some seconds of the joint streams."""
    if any(has_feature_name(stream) for stream in recording.streams.values()):
        features, left_out = propose_named(recording)
    else:
        features, left_out = propose_arms(recording)
        cameras, without_images = propose_cameras(recording.streams)
        roles = {feature.role for feature in features}
        features += cameras
        features += propose_sensors(
            recording, has_state=Role.OBSERVATION in roles, has_action=Role.ACTION in roles
        )
        left_out |= without_images
    features = _distinct([*features, *propose_instruction(recording)])
    cut = propose_cut(recording, features)
    used = {feature.stream for feature in features} | {cut.stream}
    for stream in recording.streams.values():
        if stream.name not in used:
            left_out.setdefault(stream.name, _why_not(stream))
    return Proposal(Mapping(tuple(features), cut), left_out)


def _why_not(stream: Stream) -> str:
    if stream.count == 0:
        return "no sample in it"
    why = _WHY_NOT.get(stream.kind)
    return f"{stream.kind.value}: {why}" if why else stream.kind.value


def _distinct(features: list[Feature]) -> list[Feature]:
    """The features, of several with one name the first."""
    named: dict[str, Feature] = {}
    for feature in features:
        named.setdefault(feature.name, feature)
    return list(named.values())
