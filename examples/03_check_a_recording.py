"""Check a recording: what is wrong with it, where, by how much, against which limit.

python examples/03_check_a_recording.py [RECORDING]
"""

import sys
import tempfile
from pathlib import Path

from twinloop.checks.run import check
from twinloop.core.finding import Severity
from twinloop.formats.reader import open_recording
from twinloop.testing.faults import ClockDrift, JointStuck
from twinloop.testing.robot_tracks import CameraSpec
from twinloop.testing.synthetic import FOLLOWER, SCENE, SessionSpec, record_session

if len(sys.argv) > 1:
    path = Path(sys.argv[1])
else:
    spec = SessionSpec(
        duration_s=8.0,
        cameras=(CameraSpec("scene", 15, 160, 120),),
        faults=(JointStuck(FOLLOWER, "elbow_pitch", 3.0, 2.0), ClockDrift(SCENE, 900)),
    )
    path = record_session(Path(tempfile.mkdtemp()) / "session.mcap", spec).path

with open_recording(path) as recording:
    report = check(recording)

for finding in report.findings:
    if finding.severity is Severity.INFO:
        continue
    print(f"{finding.severity.value:8} {finding.code} {finding.name}: {finding.stream}")
    print(f"         {finding.message}")
    print(f"         {finding.value:.4g} {finding.unit}, limit {finding.limit:.4g}; {finding.fix}")
print(f"{len(report.not_run)} rules did not run, which is never a pass:")
for note in report.not_run[:5]:
    print(f"  {note.code}: {note.why}")
