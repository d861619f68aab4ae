"""Processes that stay: given items one by one, replaced when they die, retire or fall silent."""

from __future__ import annotations

import os
import signal
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
