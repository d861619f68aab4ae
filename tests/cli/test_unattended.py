"""The verbs that run unattended: what they print, and what wrong use is told."""

from __future__ import annotations

import json
import os
import signal

import pytest

from twinloop.cli.unattended import bytes_per_s, ending_on_signals, seconds
from twinloop.core.errors import UsageError
from twinloop.testing.synthetic import SessionSpec, record_session


def test_amounts():
    assert [seconds(text) for text in ("5s", "500ms", "2min", "1.5h", "3")] == [5.0, 0.5, 120.0, 5400.0, 3.0]
    assert [bytes_per_s(text) for text in ("2MB/s", "500kB/s", "1MiB", "7")] == [2e6, 5e5, 2.0**20, 7.0]
    for wrong in ("", "fast", "-1s", "5 parsecs"):
        with pytest.raises(UsageError, match="duration"):
            seconds(wrong)
    for wrong in ("2Mb/s", "0MB/s", "s"):
        with pytest.raises(UsageError, match="rate"):
            bytes_per_s(wrong)


def test_the_first_signal_ends_gently_and_the_second_at_once():
    with ending_on_signals() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.wait(1)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
            stop.wait(1)
            raise AssertionError("it was not ended")


def test_a_spool_goes_into_the_store_without_a_watch(run, tmp_path):
    run("init", "store")
    (tmp_path / "spool").mkdir()
    record_session(tmp_path / "spool" / "a.mcap", SessionSpec(duration_s=2.0, cameras=()))
    pushed = run("push", "spool", "store", "--settle", "0s", "--take-in", "--json")
    tally = json.loads(pushed.out)
    assert (tally["sent"], tally["removed"]) == (1, 1)
    assert "next: twinloop ls" in pushed.err
    assert list((tmp_path / "spool").glob("*.mcap")) == []
    today = json.loads(run("digest", "--store", "store", "--json").out)
    assert today["recordings"] == 1
    assert "1 recordings taken in" in run("digest", "--store", "store").out


def test_wrong_use_is_told(run, tmp_path):
    run("init", "store")
    assert "no such spool" in run("push", "nowhere", "store", code=2).err
    assert "there is no store" in run("push", ".", "nowhere", code=3).err
    assert "no such folder" in run("watch", "nowhere", "--store", "store", code=2).err
    assert "is not a duration" in run("watch", ".", "--store", "store", "--settle", "soon", code=2).err
    assert "is no date" in run("digest", "--store", "store", "--date", "yesterday", code=2).err
    with (tmp_path / "store" / "store.toml").open("a") as settings:
        settings.write('[costs]\noperator_per_hour = "much"\n')
    assert "operator_per_hour" in run("watch", ".", "--store", "store", "--once", code=3).err
