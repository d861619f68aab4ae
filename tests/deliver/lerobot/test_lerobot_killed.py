"""An export that is killed, whenever, leaves no dataset, and the next one tidies up after it."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time

from export_lab import START_NS, DatasetView, at_rate

from twinloop.deliver.lerobot.export import export_lerobot
from twinloop.deliver.lerobot.options import ExportOptions
from twinloop.deliver.rows import CameraClock

SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from test_lerobot_killed import export_to, make_source
source = make_source(Path(sys.argv[2]))
print("ready", flush=True)
while True:
    export_to(source, Path(sys.argv[3]))
"""


def make_source(folder):
    from export_lab import Lab

    lab = Lab(folder)
    times = at_rate(60, 30.0)
    joints = at_rate(300, 100.0, START_NS - 50_000_000)
    return lab.source(
        {
            "top": lab.camera([lab.video("t.mp4", 60)], times),
            "wrist": lab.camera(
                [lab.video("w.mp4", 30, "mjpeg", {"strict": "unofficial"}, "yuvj420p")], times[::2]
            ),
        },
        {"state": lab.joints(joints)},
    )


def export_to(source, out):
    return export_lerobot([source], out, ExportOptions(CameraClock("top")), force=out.exists())


def test_kills_at_random_moments(tmp_path):
    """The child exports again and again, replacing what it made; each kill finds a whole dataset or none."""
    chance = random.Random(0)
    here = str(__file__).rsplit("/", 2)[0]
    (tmp_path / "videos").mkdir()
    out = tmp_path / "place/out"
    paths = [f"{here}/lerobot", str(tmp_path / "videos"), str(out)]
    found = 0
    for _ in range(4):
        script = f"import sys; sys.path.insert(0, {here!r})\n{SCRIPT}"
        child = subprocess.Popen([sys.executable, "-c", script, *paths], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(chance.uniform(0.0, 0.5))
        child.send_signal(signal.SIGKILL)
        child.wait()
        if out.exists():
            found += 1
            view = DatasetView(out)
            assert view.numbers("observation.images.top", 0) == [k % 26 for k in range(60)]
    assert found
    export_to(make_source(tmp_path / "videos"), out)
    assert [path.name for path in out.parent.iterdir()] == ["out"]
