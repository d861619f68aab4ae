"""Commands killed when they have written some bytes, in forked children and in processes of their own.

After each kill the store is whole; run again, on what one kill or several left, each command finishes with the
same result. `--torture` kills 1,000 times each way.
"""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from scenarios import SCENARIOS, Ingest, Scenario

from twinloop.testing.killing import Ended, run_forked_until, run_process_until

FORKS, PROCESSES, TORTURE = 240, 50, 1000
POSTGRES_FORKS = 60

Run = Callable[[Scenario, Path, "int | None"], Ended]


def forked(scenario: Scenario, folder: Path, after_bytes: int | None) -> Ended:
    """The command in a child of this process, which has everything imported."""
    return run_forked_until(lambda: scenario.act(folder), after_bytes)


def process(scenario: Scenario, folder: Path, after_bytes: int | None) -> Ended:
    """The command as a user runs it."""
    program = str(Path(sys.executable).with_name("twinloop"))
    return run_process_until([program, *scenario.command(folder)], after_bytes)


def torment(scenario: Scenario, run: Run, kills: int, folder: Path, seed: int, again: float) -> int:
    """Kill so many times; how often the command was really at work then.

    `again`: the chance that the next kill hits what the last one left, before the command comes to its end.
    """
    moments = random.Random(seed)
    scenario.fresh(folder / "warm")
    scenario.act(folder / "warm")  # what it imports and compiles, forked children have
    shutil.rmtree(folder / "warm")
    scenario.fresh(folder / "timed")
    timed = run(scenario, folder / "timed", None)
    assert timed.code in (0, 3), f"{scenario.name}: exit code {timed.code}"
    scenario.finished(folder / "timed")
    scenario.fresh(folder / "0")
    at, killed = folder / "0", 0
    for number in range(1, kills + 1):
        after_bytes = moments.randrange(int(timed.written * 1.02) + 1)
        ended = run(scenario, at, after_bytes)
        assert ended.killed or ended.code in (0, 3), f"{scenario.name}: exit code {ended.code}"
        killed += ended.killed
        scenario.quick = moments.random() < 0.8
        try:
            scenario.survived(at)
            if ended.killed and moments.random() < again:
                continue
            last = run(scenario, at, None)
            assert last.code in (0, timed.code), f"exit code {last.code}"
            scenario.finished(at)
        except Exception as error:
            raise AssertionError(
                f"{scenario.name}, kill {number} after {after_bytes} bytes, in {at}"
            ) from error
        shutil.rmtree(at)
        at = folder / str(number)
        scenario.fresh(at)
    return killed


def kills_of(scenario: type[Scenario], total: int) -> int:
    return max(2, round(total * SCENARIOS[scenario]))


@pytest.mark.parametrize("kind", SCENARIOS, ids=lambda kind: kind.name)
def test_killed_in_a_fork(kind: type[Scenario], tmp_path: Path, torture: bool) -> None:
    kills = kills_of(kind, TORTURE if torture else FORKS)
    scenario = kind(tmp_path / "sound")
    assert torment(scenario, forked, kills, tmp_path, seed=1, again=0.6) > kills // 6


def test_killed_in_a_fork_with_the_catalog_in_postgresql(
    tmp_path: Path, torture: bool, postgres_url: str
) -> None:
    kills = kills_of(Ingest, TORTURE) if torture else POSTGRES_FORKS
    scenario = Ingest(tmp_path / "sound", postgres_url)
    assert torment(scenario, forked, kills, tmp_path, seed=2, again=0.6) > kills // 6


@pytest.mark.parametrize("kind", SCENARIOS, ids=lambda kind: kind.name)
def test_killed_as_a_process(kind: type[Scenario], tmp_path: Path, torture: bool) -> None:
    kills = kills_of(kind, TORTURE if torture else PROCESSES)
    torment(kind(tmp_path / "sound"), process, kills, tmp_path, seed=3, again=0.85)
