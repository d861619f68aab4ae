"""From features to the names that other formats call them, and which part of learning each is."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import UsageError
from twinloop.core.kinds import Role

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from twinloop.deliver.features import FeatureSpec

_IMAGES, _OBSERVATION, _ACTION = "observation.images.", "observation.", "action"


@dataclass(frozen=True, slots=True)
class Keys:
    """The features of a dataset by their part in learning; each maps feature -> short key.

    Attributes:
        cameras, observations: what a policy sees. actions: what it does.
        others: what it must not see: leader arms, rewards, references.
    """

    cameras: dict[str, str] = field(default_factory=dict)
    observations: dict[str, str] = field(default_factory=dict)
    actions: dict[str, str] = field(default_factory=dict)
    others: dict[str, str] = field(default_factory=dict)

    def action(self, values: dict[str, NDArray[np.float64]], rows: int) -> NDArray[np.float64]:
        """All actions side by side, (R, D); (R, 0) without any."""
        columns = [values[name] for name in self.actions]
        return np.concatenate(columns, axis=1) if columns else np.zeros((rows, 0))

    def action_names(self, specs: dict[str, FeatureSpec]) -> list[str]:
        """The names of the elements of `action`."""
        return [name for feature in self.actions for name in specs[feature].names]


def keys_of(specs: dict[str, FeatureSpec]) -> Keys:
    """The features' short names: ``observation.images.wrist`` is ``wrist``, ``observation.state`` is
    ``state``, ``action`` stays.

    Raises:
        UsageError: two features of one part would have the same name.
    """
    keys = Keys()
    for name, spec in specs.items():
        role = spec.described.get("role")
        if spec.is_camera:
            _enter(keys.cameras, name, name.removeprefix(_IMAGES).removeprefix(_OBSERVATION))
        elif name.startswith(_OBSERVATION) or role == Role.OBSERVATION:
            _enter(keys.observations, name, name.removeprefix(_OBSERVATION))
        elif name.split(".")[0] == _ACTION or role == Role.ACTION:
            _enter(keys.actions, name, name.removeprefix(f"{_ACTION}."))
        else:
            _enter(keys.others, name, name)
    for name, key in keys.cameras.items():
        if key in keys.observations.values():
            keys.cameras[name] = f"{key}_image"
    return keys


def _enter(part: dict[str, str], name: str, key: str) -> None:
    key = re.sub(r"[^A-Za-z0-9_-]+", "_", key).strip("_") or "feature"
    for other, taken in part.items():
        if taken == key:
            raise UsageError(
                f"the features {other} and {name} would both be called {key}",
                fix="rename one of them in the mapping: twinloop map",
            )
    part[name] = key


def rewards(succeeded: bool, rows: int) -> NDArray[np.float32]:
    """(R,) float32: 1 in the last row of a success, else 0, as sparse rewards are kept."""
    values = np.zeros(rows, np.float32)
    if succeeded and rows:
        values[-1] = 1
    return values
