"""Open a recording of any format; look at its streams; read joints and images as columns.

python examples/02_read_a_recording.py [RECORDING]
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from twinloop.core.mapping import dump_mapping
from twinloop.formats.mapping.feature import read_feature
from twinloop.formats.mapping.propose import propose
from twinloop.formats.reader import open_recording
from twinloop.formats.video.still import decode_still
from twinloop.testing.synthetic import SCENE, SessionSpec, record_session

if len(sys.argv) > 1:
    path = Path(sys.argv[1])
else:
    path = record_session(Path(tempfile.mkdtemp()) / "session.mcap", SessionSpec(duration_s=3.0)).path

with open_recording(path) as recording:
    # Opening costs no more than the index.
    for stream in recording.streams.values():
        rate = f"{stream.measured_rate_hz:.1f} Hz" if stream.measured_rate_hz else ""
        print(f"{stream.name:28} {stream.kind.value:12} {stream.count or 0:5}  {rate}")

    # Which stream is state, action, camera? A proposal with its reasons, as a file to edit.
    mapping = propose(recording)
    print("\n" + dump_mapping(mapping))

    # A feature: true times and values, joints in the mapping's order whatever each message's order is.
    state = mapping.features[0]
    samples = read_feature(recording, state)
    print(f"{state.name}: {samples.values.shape[0]} samples of {', '.join(samples.names)}")
    if len(samples):
        print("ranges:", np.round(np.ptp(samples.values, axis=0), 3))

    # All samples come through `scan`, in one pass, in batches; images stay bytes until asked for.
    if SCENE in recording.streams:
        batch = next(iter(recording.scan([SCENE])))
        row = {name: batch.columns.column(name)[0].as_py() for name in ("stamp_ns", "log_ns", "encoding")}
        image = decode_still(batch.payload[0], row["encoding"], 0, 0)
        late_ms = (row["log_ns"] - row["stamp_ns"]) / 1e6
        print(f"first image: {image.shape[1]} x {image.shape[0]}, logged {late_ms:.1f} ms after exposure")
