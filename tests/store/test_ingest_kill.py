"""`kill -9` at any moment of taking in loses nothing and leaves nothing half-made."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

from twinloop.store.fsck import Harm, check_store
from twinloop.store.ingest import Status, ingest
from twinloop.store.queries import list_sessions
from twinloop.store.store import Store

KILLS = 50


def ingest_in_a_process(root: Path, recording: Path, kill_after_s: float | None) -> bool:
    """Take in, in a forked process that may be killed; whether it came to its end by itself."""
    child = os.fork()
    if not child:
        outcome = ingest(Store.open(root), recording)
        os._exit(0 if outcome.status in (Status.STORED, Status.PRESENT) else 9)
    if kill_after_s is None:
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        return True
    time.sleep(kill_after_s)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, -signal.SIGKILL)
    return code == 0


def contents(store: Store) -> dict[str, object]:
    """Every stream's columns, and the artefacts' hashes but for what holds ids and times of this run."""
    with store.session("last") as session:
        streams = {name: session.read(name) for name in session.streams}
        return {"streams": streams, "episodes": [(e.start_ns, e.end_ns) for e in session.session.episodes]}


def judge(store: Store, expected: dict[str, object]) -> None:
    """The recording is there once, whole, and nothing else is."""
    assert len(list_sessions(store.catalog)) == 1
    assert contents(store) == expected
    assert list(check_store(store)) == []


def test_fifty_kills(tmp_path, recording):
    reference = Store.create(tmp_path / "reference")
    ingest(reference, recording)  # here, so that the processes to be killed have all modules already
    expected = contents(reference)
    before = time.monotonic()
    ingest_in_a_process(Store.create(tmp_path / "timed").work, recording, None)
    whole_s = time.monotonic() - before

    moments = random.Random(1)
    root = Store.create(tmp_path / "store-0").work
    killed = 0
    for number in range(1, KILLS + 1):
        finished = ingest_in_a_process(root, recording, moments.uniform(0, whole_s * 1.05))
        killed += not finished
        after = Store.open(root)
        assert [t for t in check_store(after) if t.harm is not Harm.LEFTOVER] == []
        if not finished and number % 3:
            continue  # kill the next attempt on what this one left
        ingest_in_a_process(root, recording, None)
        judge(Store.open(root), expected)
        root = Store.create(tmp_path / f"store-{number}").work
    assert killed > KILLS // 3
