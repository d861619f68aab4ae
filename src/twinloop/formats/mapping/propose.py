"""A mapping proposed from what is there: names, kinds, rates, and which joints move before which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.core.kinds import Kind, Role
from twinloop.core.mapping import Feature, Mapping
from twinloop.formats.mapping.proposal.arms import propose_arms
from twinloop.formats.mapping.proposal.cameras import propose_cameras
from twinloop.formats.mapping.proposal.cut import propose_cut, propose_instruction
from twinloop.formats.mapping.proposal.named import has_feature_name, propose_named
from twinloop.formats.mapping.proposal.words import segments, slug

if TYPE_CHECKING:
    from twinloop.core.recording import Recording


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
        features += [*cameras, *_forces(recording)]
        left_out |= without_images
    features += propose_instruction(recording)
    cut = propose_cut(recording)
    used = {feature.stream for feature in features} | {cut.stream}
    for stream in recording.streams.values():
        if stream.name not in used:
            left_out.setdefault(stream.name, "no sample in it" if stream.count == 0 else stream.kind.value)
    return Proposal(Mapping(tuple(_distinct(features)), cut), left_out)


def _forces(recording: Recording) -> list[Feature]:
    """Force and torque of every wrench stream."""
    streams = [s for s in recording.streams.values() if s.kind is Kind.WRENCH and s.count != 0]
    features = []
    for stream in streams:
        place = "" if len(streams) == 1 else f".{slug(segments(stream.name))}"
        for field, unit in (("force", "N"), ("torque", "N.m")):
            name = f"observation.{field}{place}"
            features.append(
                Feature(
                    name, stream.name, Role.OBSERVATION, field, tuple("xyz"), unit, why="a wrench by its kind"
                )
            )
    return features


def _distinct(features: list[Feature]) -> list[Feature]:
    """The features, of several with one name the first."""
    named: dict[str, Feature] = {}
    for feature in features:
        named.setdefault(feature.name, feature)
    return list(named.values())
