"""The mapping: how streams become features, and how a long recording becomes episodes.

A mapping is a TOML file, proposed by `twinloop map`, edited by hand, stored with the session.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from twinloop.core.kinds import Role
from twinloop.core.units import UNDECLARED


class Cut(StrEnum):
    """How episodes are cut out of a recording."""

    WHOLE = "whole"  # one per recording
    MARKED = "marked"  # as the source itself marks them
    TOPIC = "topic"  # start and stop values of a field of a stream
    SPANS = "spans"  # a table of spans beside the recording
    GAPS = "gaps"  # at silences of the state stream


class Representation(StrEnum):
    """What an action's numbers are relative to."""

    ABSOLUTE = "absolute"
    DELTA = "delta"
    CHUNK_RELATIVE = "chunk_relative"


@dataclass(frozen=True, slots=True)
class EpisodeCut:
    """How to cut. `stream`, `field`, `start`, `stop` for TOPIC; `table` for SPANS; `idle_s` for GAPS."""

    by: Cut = Cut.WHOLE
    stream: str | None = None
    field: str | None = None
    start: str | None = None
    stop: str | None = None
    table: str | None = None
    idle_s: float | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature of an episode and where its values come from.

    Attributes:
        name: LeRobot's name: ``observation.state``, ``observation.images.<cam>``, ``action``...
        stream, field: the source; `field` is a column of the stream (``position``), None for images.
        names: the order of its elements (joint names, axes); empty: as the source has them.
        unit: of its values. role: its part in learning.
        space, representation, applied: for actions: joint, ee_pose, ee_delta, base_twist, gripper...;
            relative to what; whether it is the applied (True) or the commanded (False) one.
        why: the proposal's reason.
    """

    name: str
    stream: str
    role: Role
    field: str | None = None
    names: tuple[str, ...] = ()
    unit: str = UNDECLARED
    space: str | None = None
    representation: Representation | None = None
    applied: bool | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Mapping:
    """Features and the cut. Streams that no feature names are kept and listed, never dropped."""

    features: tuple[Feature, ...] = ()
    episodes: EpisodeCut = EpisodeCut()
    schema: int = 1

    def by_role(self, role: Role) -> tuple[Feature, ...]:
        """The features of one role, in the mapping's order."""
        return tuple(feature for feature in self.features if feature.role is role)
