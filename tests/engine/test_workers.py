"""Processes that stay: given items one by one, replaced when they die, retire or fall silent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from twinloop.engine.workers import Crash, Workers


def work(item: str, report) -> int:
    if item == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if item == "hang":
        time.sleep(60)
    return os.getpid()


def hear_one(workers: Workers) -> tuple[int, int | Crash]:
    while True:
        if heard := workers.hear(1.0):
            return heard[0]


def test_a_process_stays_until_it_retires_or_dies():
    with Workers(work, 1, lifetime=2) as workers:
        seen = []
        for number, item in enumerate(["a", "b", "c", "die", "d"]):
            assert workers.free == 1
            workers.give(number, item)
            assert workers.free == 0
            seen.append(hear_one(workers))
    assert [number for number, _ in seen] == [0, 1, 2, 3, 4]
    first, second, third, crash, last = (result for _, result in seen)
    assert first == second != third
    assert crash == Crash("its process was killed (SIGKILL)", died=True)
    assert last not in (first, third)


def test_one_that_died_idle_is_replaced():
    with Workers(work, 1) as workers:
        workers.give(0, "a")
        _, process = hear_one(workers)
        os.kill(process, signal.SIGKILL)
        time.sleep(0.2)
        workers.give(1, "b")
        number, result = hear_one(workers)
        if isinstance(result, Crash):  # the pipe took the item before the kernel closed it
            assert result.died
        else:
            assert (number, result != process) == (1, True)


def test_one_that_hangs_is_ended():
    with Workers(work, 1, patience_s=2.0) as workers:
        workers.give(7, "hang")
        number, result = hear_one(workers)
    assert number == 7
    assert isinstance(result, Crash)
    assert "said nothing" in result.what


def test_an_interrupt_while_modules_are_imported_ahead_is_left_to_the_parent(tmp_path):
    (tmp_path / "slow_to_import.py").write_text(
        "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nopen('imported', 'w').close()\n"
    )
    program = (
        "from twinloop.engine.workers import Workers, import_ahead\n"
        "def opposite(item, report):\n"
        "    return -item\n"
        "if __name__ == '__main__':\n"
        "    import_ahead(['slow_to_import'])\n"
        "    with Workers(opposite, 1) as workers:\n"
        "        workers.give(0, -3)\n"
        "        print(workers.hear())\n"
    )
    (tmp_path / "program.py").write_text(program)
    ended = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (tmp_path / "imported").exists(), ended.stderr
    assert (ended.stdout, ended.stderr) == ("[(0, 3)]\n", "")
