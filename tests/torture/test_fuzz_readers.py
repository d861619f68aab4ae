"""Damaged files of every format through their readers: a clear error or a reading, and nothing else.

No other exception, no signal, no hang, no more memory than a sound reading needs. `--torture` runs 10,000
inputs a family.
"""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest
from fuzz_families import families

from twinloop.core.errors import TwinloopError
from twinloop.formats.reader import open_recording
from twinloop.testing.forked import import_as, run_forked
from twinloop.testing.mutation import mutated_copy

INPUTS, TORTURE_INPUTS = 300, 10_000


@pytest.mark.parametrize("family", families())
def test_damage_is_told_or_read_past(family: str, tmp_path: Path, torture: bool) -> None:
    sound = []
    for number, suite in enumerate(families()[family]):
        folder = tmp_path / f"sound-{number}"
        folder.mkdir()
        sound.append((suite().make_sample(folder).path, suite.options))

    def read_sound() -> None:
        for sample, options in sound:
            with open_recording(sample, options) as recording:
                for _ in recording.scan():
                    pass

    def read(seed: int) -> None:
        sample, options = sound[seed % len(sound)]
        folder = tmp_path / f"damaged-{seed}"
        try:
            with open_recording(mutated_copy(sample, folder, seed), options) as recording:
                for batch in recording.scan():
                    assert len(batch)
        except TwinloopError as error:
            assert error.what
            assert error.exit_code != 4, f"{error}"
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    import_as(read_sound)
    seeds = range(TORTURE_INPUTS if torture else INPUTS)
    faults = [verdict for verdict in run_forked(read, seeds) if verdict.fault]
    kinds = Counter(fault.fault.splitlines()[0][:80] for fault in faults)
    assert not faults, f"{dict(kinds)}; seed {faults[0].number}: {faults[0].fault}"
