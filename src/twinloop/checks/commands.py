"""Which commands and states belong together, element by element."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.kinds import Role
from twinloop.core.mapping import Representation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from twinloop.core.mapping import Feature
    from twinloop.core.mapping import Mapping as FeatureMapping
    from twinloop.formats.mapping.feature import FeatureSamples


@dataclass(frozen=True, slots=True)
class CommandPair:
    """A command feature and the state feature that follows it, cut to the D elements both have.

    `command` and `state` are (times (N,) int64 ns, values (N, D) float64); `names` (D,) as the state has
    them.
    """

    command_feature: Feature
    state_feature: Feature
    names: tuple[str, ...]
    command: tuple[NDArray[np.int64], NDArray[np.float64]]
    state: tuple[NDArray[np.int64], NDArray[np.float64]]

    @property
    def streams(self) -> str:
        """Both streams, as findings name a pair."""
        return f"{self.command_feature.stream} -> {self.state_feature.stream}"


def state_features(mapping: FeatureMapping | None) -> list[Feature]:
    """The features that hold the robot's state."""
    observations = mapping.by_role(Role.OBSERVATION) if mapping else ()
    return [feature for feature in observations if feature.name.startswith("observation.state")]


def command_features(mapping: FeatureMapping | None) -> list[Feature]:
    """The features that hold commands: actions, and leaders where there are any."""
    return [*mapping.by_role(Role.ACTION), *mapping.by_role(Role.LEADER)] if mapping else []


def pair_commands(
    mapping: FeatureMapping | None, samples: Mapping[str, FeatureSamples], unread: Mapping[str, str]
) -> tuple[list[CommandPair], str]:
    """All pairs of a command and a state, and why there is none if so.

    Elements are matched by name; where no names agree, by place if there are equally many.
    """
    commands, states = command_features(mapping), state_features(mapping)
    if not commands:
        return [], "no stream is known as action or leader: give a mapping"
    if not states:
        return [], "no stream is known as state: give a mapping"
    pairs, why = [], ""
    for command in commands:
        if command.representation not in (None, Representation.ABSOLUTE):
            why = f"{command.name} is {command.representation.value}: it cannot be held against positions"
            continue
        for state in states:
            if missing := next((name for name in (command.name, state.name) if name not in samples), None):
                why = f"feature {missing}: {unread.get(missing, 'it has no samples here')}"
            elif pair := _match(command, samples[command.name], state, samples[state.name]):
                pairs.append(pair)
            else:
                why = f"{command.name} and {state.name} have no elements in common"
    return pairs, why


def _match(command: Feature, a: FeatureSamples, state: Feature, s: FeatureSamples) -> CommandPair | None:
    keys = [_key(name) for name in a.names]
    common = [(keys.index(key), j) for j, name in enumerate(s.names) if (key := _key(name)) in keys]
    if not common and len(a.names) == len(s.names):
        common = [(i, i) for i in range(len(s.names))]
    if not common:
        return None
    i, j = np.array(common).T
    return CommandPair(
        command,
        state,
        tuple(s.names[k] for k in j),
        (a.times_ns, a.values[:, i]),
        (s.times_ns, s.values[:, j]),
    )


def _key(name: str) -> str:
    """A joint's name without what tells commands from states."""
    key = name.lower()
    for word in (
        ".pos",
        "_pos",
        ".position",
        "leader_",
        "follower_",
        "master_",
        "puppet_",
        "action.",
        "state.",
    ):
        key = key.replace(word, "")
    return key
