"""Processes that work, crash, raise and are killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time

import pytest

from twinloop.engine.local import Crash, run_all


def work(item: int, report) -> int:
    report("squaring", 0.5)
    if item == 3:
        raise ValueError("three")
    if item == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return item * item


def sleep(item: int, report) -> None:
    time.sleep(60)


def test_one_that_raises_and_one_that_dies_take_only_themselves():
    told = []
    results = dict(run_all(work, range(8), workers=2, watch=lambda *said: told.append(said)))
    assert {k: v for k, v in results.items() if not isinstance(v, Crash)} == {
        i: i * i for i in (0, 1, 2, 4, 6, 7)
    }
    assert "ValueError: three" in results[3].what
    assert "SIGKILL" in results[5].what
    assert {position for position, _, _ in told} == set(range(8))


def test_one_worker_runs_here():
    assert dict(run_all(lambda item, _: item + os.getpid(), [0], workers=4)) == {0: os.getpid()}


def test_what_raises_here_stops_no_other():
    results = dict(run_all(work, [1, 3, 4], workers=1))
    assert (results[0], results[2]) == (1, 16)
    assert results[1] == Crash("ValueError: three")


def test_no_item_is_no_work():
    assert list(run_all(work, [], workers=4)) == []


def test_an_interrupt_ends_all_processes():
    results = run_all(sleep, range(4), workers=2)
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, 1.5)
    with pytest.raises(KeyboardInterrupt):
        next(results)
    results.close()
    assert multiprocessing.active_children() == []
