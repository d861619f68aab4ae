"""State against action, joint by joint."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from twinloop.checks.render.html.charts import joint_chart
from twinloop.checks.render.html.markup import tag, text
from twinloop.core.errors import TwinloopError
from twinloop.core.kinds import PAYLOAD_KINDS, Kind, Role
from twinloop.formats.mapping.feature import FeatureSamples, read_feature

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from twinloop.core.mapping import Feature, Mapping
    from twinloop.core.recording import Recording

_MOST_JOINTS = 48
_Series = tuple["NDArray[np.float64]", "NDArray[np.float64]"]


def joint_plots(recording: Recording, mapping: Mapping) -> str:
    """One plot a joint; empty where no feature of numbers is mapped."""
    states = _read(recording, mapping, Role.OBSERVATION)
    actions = _read(recording, mapping, Role.ACTION)
    origins = [s.times_ns[0] for _, s in (*states, *actions) if len(s)]
    if not origins:
        return ""
    origin = int(min(origins))
    state, action = _by_joint(states, origin), _by_joint(actions, origin)
    units = {name: f.unit for f, s in (*actions, *states) for name in s.names}
    names = list(dict.fromkeys([*state, *action]))
    charts = [
        joint_chart(name, state.get(name), action.get(name), units.get(name, "").replace("undeclared", ""))
        for name in names[:_MOST_JOINTS]
    ]
    more = f"and {len(names) - _MOST_JOINTS} more" if len(names) > _MOST_JOINTS else ""
    legend = tag(
        "p",
        tag("span", class_="swatch state"),
        text(" state "),
        tag("span", class_="swatch action"),
        text(" action (commanded)"),
        class_="faint",
    )
    return legend + tag("div", *charts, class_="joints") + tag("p", text(more), class_="faint")


def _read(recording: Recording, mapping: Mapping, role: Role) -> list[tuple[Feature, FeatureSamples]]:
    found = []
    for feature in mapping.by_role(role):
        stream = recording.streams.get(feature.stream)
        if stream is None or stream.kind in PAYLOAD_KINDS or stream.kind is Kind.TEXT:
            continue
        try:
            found.append((feature, read_feature(recording, feature)))
        except TwinloopError:
            continue  # the findings say why
    return found


def _by_joint(features: list[tuple[Feature, FeatureSamples]], origin_ns: int) -> dict[str, _Series]:
    series: dict[str, _Series] = {}
    for _, samples in features:
        if len(samples):
            seconds = (samples.times_ns - origin_ns) / 1e9
            for column, name in enumerate(samples.names):
                series.setdefault(name, (seconds, samples.values[:, column]))
    return series
