"""The reader in docs/adding-a-format.md passes the suite beside it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from twinloop.checks.run import check
from twinloop.core.recording import Problem
from twinloop.formats.reader import FORMATS

PAGE = Path(__file__).parents[2] / "docs" / "adding-a-format.md"

example = ModuleType("gyrolog_example")
sys.modules[example.__name__] = example
for source in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
    exec(compile(source, str(PAGE), "exec"), example.__dict__)

TestGyrolog = example.TestGyrolog


@pytest.fixture
def known():
    FORMATS.register("gyrolog")(example.READER)
    yield
    FORMATS.unregister("gyrolog")


def test_the_example_is_checked_like_any_other(known, tmp_path):
    from twinloop.formats.reader import open_recording

    path = TestGyrolog().make_sample(tmp_path).path
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 100)
    with open_recording(path) as recording:
        (note,) = recording.notes
        assert (note.problem, note.lost) == (Problem.TRUNCATED, 4)
        assert [f.where.file for f in check(recording).findings if "declared" in f.message]
