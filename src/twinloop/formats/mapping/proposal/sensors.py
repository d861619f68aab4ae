"""Features for the other sensors, and for a mobile base or a hand that is told where to go."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from twinloop.core.kinds import Kind, Role
from twinloop.core.mapping import Feature, Representation
from twinloop.formats.mapping.episodes import INSTRUCTION_FEATURE
from twinloop.formats.mapping.proposal import words
from twinloop.formats.mapping.sample import first_names

if TYPE_CHECKING:
    from twinloop.core.recording import Recording
    from twinloop.core.stream import Stream

#: Kinds that become observations, with the name each gets. What stands first can be a body's state.
_OBSERVED = {
    Kind.ODOMETRY: "odometry",
    Kind.POSE: "pose",
    Kind.TWIST: "twist",
    Kind.IMU: "imu",
    Kind.TACTILE: "tactile",
}
_STATES = (Kind.ODOMETRY, Kind.POSE)
#: Kinds of commands other than joints: their space.
_COMMANDED = {Kind.TWIST: "base_twist", Kind.POSE: "ee_pose"}
_INSTRUCTION = words.word_set("instruction instructions task prompt language goal description")


def propose_sensors(recording: Recording, *, has_state: bool, has_action: bool) -> list[Feature]:
    """Observations of every other sensor; a state and an action too, where no joints gave them."""
    there = (s for s in recording.streams.values() if s.kind in _OBSERVED and s.count != 0)
    streams = [s for s in there if s.role is not Role.TRUTH]  # no robot sees it when it acts
    features: list[Feature] = []
    if not has_action:
        action = next((s for s in streams if s.kind in _COMMANDED and _commands(s)), None)
        if action is not None:
            features.append(
                Feature(
                    "action",
                    action.name,
                    Role.ACTION,
                    space=_COMMANDED[action.kind],
                    representation=Representation.ABSOLUTE,
                    applied=False,
                    why=f"{action.kind.value} whose name speaks of commands; there are no joint commands",
                )
            )
            streams.remove(action)
    streams = [s for s in streams if not _commands(s)]
    if not has_state:
        bodies = [s for kind in _STATES for s in streams if s.kind is kind]
        if bodies:
            why = f"{bodies[0].kind.value} by its type; there are no joints that could be the state"
            features.append(Feature("observation.state", bodies[0].name, Role.OBSERVATION, why=why))
            streams.remove(bodies[0])
    for stream in streams:
        alike = [s for s in streams if s.kind is stream.kind]
        name = _OBSERVED[stream.kind]
        if len(alike) > 1:
            name += "_" + words.slug(words.segments(stream.name))
        why = f"{stream.kind.value} by its type{_rate(stream)}"
        features.append(Feature(f"observation.{name}", stream.name, Role.OBSERVATION, why=why))
    named = [replace(f, names=first_names(recording, recording.streams[f.stream], f.field)) for f in features]
    return [*(feature for feature in named if feature.names), *_forces(recording)]


def propose_instruction(recording: Recording) -> list[Feature]:
    """The stream of texts that says what is to be done."""
    for stream in recording.streams.values():
        if stream.kind is Kind.TEXT and _INSTRUCTION & set(words.words(stream.name)):
            why = "texts whose topic speaks of the task: they become the episodes' instructions"
            return [Feature(INSTRUCTION_FEATURE, stream.name, Role.REFERENCE, "text", why=why)]
    return []


def _forces(recording: Recording) -> list[Feature]:
    """Force and torque of every wrench stream, apart because of their units."""
    streams = [s for s in recording.streams.values() if s.kind is Kind.WRENCH and s.count != 0]
    features = []
    for stream in streams:
        place = "" if len(streams) == 1 else "_" + words.slug(words.segments(stream.name))
        for field, unit in (("force", "N"), ("torque", "N.m")):
            name, why = f"observation.{field}{place}", f"wrench by its type{_rate(stream)}"
            features.append(Feature(name, stream.name, Role.OBSERVATION, field, tuple("xyz"), unit, why=why))
    return features


def _commands(stream: Stream) -> bool:
    return words.commands(stream.name) or {"cmd", "vel"} <= set(words.words(stream.name))


def _rate(stream: Stream) -> str:
    return f", {stream.measured_rate_hz:.1f} Hz" if stream.measured_rate_hz else ""
