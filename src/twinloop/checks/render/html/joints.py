"""State against action, joint by joint."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from twinloop.checks.render.html.charts import joint_chart
from twinloop.checks.render.html.markup import tag, text
from twinloop.core.errors import TwinloopError
from twinloop.core.kinds import PAYLOAD_KINDS, Kind, Role
from twinloop.core.units import UNDECLARED
from twinloop.formats.mapping.feature import read_feature

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from twinloop.core.finding import Finding
    from twinloop.core.mapping import Feature, Mapping
    from twinloop.core.recording import Recording
    from twinloop.core.session import Episode

_MOST_JOINTS = 48
#: In a longer recording of several episodes one episode is drawn: the lines of all would be a smear.
_LONGEST_S = 60.0


@dataclass(slots=True)
class _Joint:
    """One element of the state, the action, or both: (times in seconds, values) of each."""

    name: str
    unit: str = ""
    state: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    action: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    spans: list[tuple[float, float, str]] = field(default_factory=list)

    @property
    def constant(self) -> float | None:
        """The one value that it always has, if it has one."""
        values = np.concatenate([s[1] for s in (self.state, self.action) if s is not None])
        values = values[np.isfinite(values)]
        return float(values[0]) if len(values) and np.ptp(values) == 0 else None


def plots_title(recording: Recording, mapping: Mapping) -> str:
    """What the plots are of: a robot's joints, or the numbers of a recording that has none."""
    streams = (recording.streams.get(feature.stream) for feature in mapping.features)
    return "Joints" if any(stream and stream.kind is Kind.JOINTS for stream in streams) else "Numbers"


def joint_plots(
    recording: Recording, mapping: Mapping, findings: Sequence[Finding], episodes: Sequence[Episode]
) -> str:
    """One plot a joint, the findings that name it shaded; empty where no feature of numbers is mapped."""
    shown = _episode_to_show(findings, episodes)
    joints = _read(recording, mapping, findings, shown)
    moving = [joint for joint in joints if joint.constant is None]
    constant = [joint for joint in joints if joint.constant is not None]
    charts = [
        joint_chart(j.name, j.state, j.action, "" if j.unit == UNDECLARED else j.unit, j.spans)
        for j in moving[:_MOST_JOINTS]
    ]
    if not any(charts) and not constant:
        return ""
    notes = []
    if len(moving) > _MOST_JOINTS:
        notes.append(f"{len(moving) - _MOST_JOINTS} more are not drawn.")
    if constant:
        values = ", ".join(f"{j.name} {j.constant:.4g}" for j in constant[:_MOST_JOINTS])
        notes.append(f"Always the same: {values}.")
    return "".join(
        [
            _legend(joints, shown, len(episodes)),
            tag("div", *charts, class_="joints"),
            *(tag("p", text(note), class_="faint") for note in notes),
        ]
    )


def _legend(joints: Sequence[_Joint], shown: Episode | None, episodes: int) -> str:
    lines = {"state": "state", "action": "action (commanded)"}
    return tag(
        "p",
        *(
            tag("span", class_=f"swatch {line}") + text(f" {what} ")
            for line, what in lines.items()
            if any(getattr(joint, line) is not None for joint in joints)
        ),
        text(f"\u00b7 episode {shown.index} of {episodes}" if shown else ""),
        class_="faint",
    )


def _episode_to_show(findings: Sequence[Finding], episodes: Sequence[Episode]) -> Episode | None:
    """The episode with the worst finding in a long recording, the first where there is none; None: all."""
    if len(episodes) < 2 or episodes[-1].end_ns - episodes[0].start_ns < _LONGEST_S * 1e9:
        return None
    by_index = {episode.index: episode for episode in episodes}
    bad = [f for f in findings if f.severity.rank and f.episode in by_index]
    worst = max(bad, key=lambda finding: finding.severity.rank, default=None)
    return episodes[0] if worst is None or worst.episode is None else by_index[worst.episode]


def _read(
    recording: Recording, mapping: Mapping, findings: Sequence[Finding], shown: Episode | None
) -> list[_Joint]:
    """The joints of state and action, read one feature after the other."""
    start, end = (shown.start_ns, shown.end_ns) if shown else (None, None)
    found = []
    for role in (Role.OBSERVATION, Role.ACTION):
        for feature in mapping.by_role(role):
            stream = recording.streams.get(feature.stream)
            if stream is None or stream.kind in PAYLOAD_KINDS or stream.segments or stream.kind is Kind.TEXT:
                continue
            try:
                samples = read_feature(recording, feature, start, end)
            except TwinloopError:
                continue  # the findings say why
            if len(samples):
                found.append((feature, samples))
    origin = min((int(samples.times_ns[0]) for _, samples in found), default=0)
    joints: dict[str, _Joint] = {}
    for feature, samples in found:
        seconds = (samples.times_ns - origin) / 1e9
        for column, name in enumerate(samples.names):
            joint = joints.setdefault(name, _Joint(name, feature.unit))
            which = "action" if feature.role is Role.ACTION else "state"
            if getattr(joint, which) is None:
                setattr(joint, which, (seconds, samples.values[:, column]))
            joint.spans += _spans(findings, feature, name, origin, float(seconds[-1]))
    return list(joints.values())


def _spans(
    findings: Sequence[Finding], feature: Feature, joint: str, origin_ns: int, last_s: float
) -> list[tuple[float, float, str]]:
    """Where findings name this joint: (start, end) in seconds, severity. None that is true all along."""
    named = [
        ((f.start_ns - origin_ns) / 1e9, (f.end_ns - origin_ns) / 1e9, f.severity.value)
        for f in findings
        if f.severity.rank
        and f.start_ns is not None
        and f.end_ns is not None
        and feature.stream in (f.stream or "").split(" -> ")
        and joint in f.message
    ]
    return [
        span
        for span in named
        if span[0] < last_s and span[1] > 0 and min(span[1], last_s) - max(span[0], 0) < 0.8 * last_s
    ]
