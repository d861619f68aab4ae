"""Steps whose source declares no rate: how many rows a second there are is the user's to say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from export_lab import DatasetView, Lab, at_rate

from twinloop.core.kinds import StampSource
from twinloop.deliver.lerobot.export import export_lerobot
from twinloop.deliver.lerobot.options import ExportOptions
from twinloop.deliver.rows import CameraClock, FixedClock

CAMERA = "observation.images.front"


@pytest.fixture
def source(tmp_path):
    """Ten steps, as if a second apart."""
    lab = Lab(tmp_path)
    times = at_rate(10, 1.0)
    camera = lab.camera([lab.video("f.mp4", 10)], times)
    made = lab.source({"front": camera}, {"state": lab.joints(times), "action": lab.joints(times)})
    for name, stream in made.recording.streams.items():
        made.recording.streams[name] = replace(stream, stamp_source=StampSource.GRID, rate_hz=None)
    return made


def exported(source, out, clock):
    account = export_lerobot([source], out, ExportOptions(clock))
    (said,) = [warning for warning in account.warnings if "declares no rate" in warning]
    return DatasetView(out), said


def test_without_a_rate_the_account_says_so(source, tmp_path):
    written, said = exported(source, tmp_path / "out", CameraClock("front"))
    assert written.info["fps"] == 1
    assert "steps are taken 1 s apart" in said and "--fps N" in said


def test_a_rate_that_is_given_makes_a_row_of_each_step(source, tmp_path):
    written, said = exported(source, tmp_path / "out", CameraClock("front", 20))
    assert written.info["fps"] == 20 and "20 rows a second" in said
    assert written.numbers(CAMERA, 0) == list(range(10))
    assert np.allclose(written.column("timestamp"), np.arange(10) / 20)


def test_a_fixed_grid_repeats_steps_and_says_so(source, tmp_path):
    written, said = exported(source, tmp_path / "out", FixedClock(5))
    assert len(written.column("timestamp")) > 10 and "repeat" in said
