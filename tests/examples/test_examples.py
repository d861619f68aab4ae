"""Every example runs, from any folder, and ends well."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
SAYS = {
    "01_record_a_session.py": "planted: JointStuck in /follower/joint_states, 3.50 to 4.69 s",
    "02_read_a_recording.py": "logged",
    "03_check_a_recording.py": "elbow_pitch",
    "04_write_a_rule.py": "never goes below",
    "05_ingest_and_export.py": "1 of 2 episodes",
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(example: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, str(example)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert SAYS[example.name] in done.stdout


def test_each_example_has_a_number_and_says_what_it_does() -> None:
    assert [path.name[:3] for path in EXAMPLES] == [f"{k:02}_" for k in range(1, len(EXAMPLES) + 1)]
    assert all(path.read_text().startswith('"""') for path in EXAMPLES)
