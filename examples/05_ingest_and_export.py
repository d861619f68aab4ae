"""Take recordings into a store, leave out a bad take, and write a LeRobot v3.0 dataset.

python examples/05_ingest_and_export.py [FOLDER]
"""

import sys
import tempfile
from pathlib import Path

from twinloop.core.finding import Severity
from twinloop.core.session import SessionFacts
from twinloop.deliver.lerobot.export import export_lerobot
from twinloop.deliver.lerobot.options import ExportOptions
from twinloop.deliver.rows import CameraClock
from twinloop.deliver.stored import stored_sources
from twinloop.store.ingest import ingest
from twinloop.store.sources import IngestOptions
from twinloop.store.store import Store
from twinloop.testing.faults import DroppedSamples
from twinloop.testing.robot_tracks import CameraSpec
from twinloop.testing.synthetic import SCENE, SessionSpec, record_session

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
store = Store.create(folder / "store")
facts = SessionFacts(task="pick-cube", operator="ana", robot="little_arm")

for seed in (1, 2):
    spec = SessionSpec(
        seed=seed,
        duration_s=5.0,
        cameras=(CameraSpec("scene", 15, 160, 120),),
        faults=(DroppedSamples(SCENE, 2.0, 0.7),) if seed == 2 else (),
    )
    outcome = ingest(store, record_session(folder / f"take-{seed}.mcap", spec).path, IngestOptions(facts=facts))
    with store.session(outcome.session) as stored:
        print(f"session {stored.session.id}: {len(stored.session.episodes)} episode(s)")
        errors = stored.report.at_least(Severity.ERROR)
        for finding in errors:
            print(f"  {finding.code} {finding.stream}: {finding.message}")
        if errors:
            store.edit_episodes([stored.session.episodes[0].id], exclude=errors[0].message)

account = export_lerobot(stored_sources(store), folder / "dataset", ExportOptions(clock=CameraClock("scene")))
print(
    f"\n{folder / 'dataset'}: {len(account.episodes)} of 2 episodes, {account.rows} rows at {account.fps} fps"
)
print("the other one is left out, and the journal says why; `twinloop episode set ID --include` takes it back")
