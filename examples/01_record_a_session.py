"""Record a synthetic teleoperation session with two defects of known place.

python examples/01_record_a_session.py [FOLDER]
"""

import sys
from pathlib import Path

from twinloop.testing.faults import DroppedSamples, JointStuck
from twinloop.testing.robot_tracks import CameraSpec
from twinloop.testing.synthetic import FOLLOWER, WRIST, SessionSpec, record_session

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
folder.mkdir(exist_ok=True)

truth = record_session(
    folder / "session.mcap",
    SessionSpec(
        seed=7,
        duration_s=6.0,
        cameras=(CameraSpec("scene", 30), CameraSpec("wrist", 15)),
        faults=(
            DroppedSamples(WRIST, start_s=2.0, duration_s=0.8),
            JointStuck(FOLLOWER, "elbow_pitch", start_s=3.5, duration_s=1.2),
        ),
    ),
)

print(f"{truth.path}: {truth.path.stat().st_size / 1e6:.1f} MB")
for topic, count in truth.counts.items():
    print(f"  {topic:28} {count:5} messages")
for fault in truth.planted:
    start_s = (fault.start_ns - truth.spec.start_ns) / 1e9
    end_s = (fault.end_ns - truth.spec.start_ns) / 1e9
    print(f"planted: {fault.fault} in {fault.stream}, {start_s:.2f} to {end_s:.2f} s")
