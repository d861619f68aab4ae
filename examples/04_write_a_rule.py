"""The gripper never closes.

## What it does

Reports an episode in which the gripper stays open all the time.

## Why it matters

Nothing was grasped: the attempt is no demonstration of picking.

## How it is measured

Least position of the joint whose name holds "gripper", against its greatest.

## Example

`XMP002 gripper_stays_open`: it moves by 2 % of its range only.

## Repair

Exclude the episode.

## Tuning

- `closed_part`: a gripper is closed below this part of its greatest opening (0.8).

## References

- this example: a rule is one file, and this docstring is its documentation
"""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from twinloop.checks.catalog import RULES
from twinloop.checks.rule import Broken, Need, Scope, rule
from twinloop.checks.run import check
from twinloop.checks.subject import EpisodeSubject
from twinloop.core.finding import Severity
from twinloop.formats.reader import open_recording
from twinloop.testing.faults import JointStuck
from twinloop.testing.synthetic import FOLLOWER, SessionSpec, record_session


@dataclass(frozen=True, slots=True)
class Limits:
    closed_part: float = 0.8


@rule(
    code="XMP002",
    name="gripper_stays_open",
    severity=Severity.WARNING,
    scope=Scope.EPISODE,
    needs=(Need.STATE_OR_ACTION,),
    since="0.1",
)
def gripper_stays_open(subject: EpisodeSubject, limits: Limits) -> Iterator[Broken]:
    state = subject.feature("observation.state")
    if state is None or not len(state):
        return
    for element, name in enumerate(state.names):
        opening = state.values[:, element]
        part = float(np.nanmin(opening) / np.nanmax(opening))
        if "gripper" in name and part > limits.closed_part:
            yield Broken(
                message=f"{name} never goes below {part:.0%} of its greatest opening",
                fix="exclude the episode",
                start_ns=int(state.times_ns[0]),
                end_ns=int(state.times_ns[-1]),
                value=part,
                limit=limits.closed_part,
                unit="1",
            )


if __name__ == "__main__":
    # An installed package names the rule in the entry-point group `twinloop.rules` instead.
    RULES.register("gripper_stays_open")(gripper_stays_open)
    folder = Path(tempfile.mkdtemp())
    for name, faults in {"sound": (), "broken": (JointStuck(FOLLOWER, "gripper"),)}.items():
        spec = SessionSpec(duration_s=5.0, cameras=(), faults=faults)
        with open_recording(record_session(folder / f"{name}.mcap", spec).path) as recording:
            findings = check(recording, select=["XMP002"]).findings
        print(f"{name}: {[finding.message for finding in findings]}")
