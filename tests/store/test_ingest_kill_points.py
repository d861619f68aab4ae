"""Killed right before any one of the steps that reach the disk, the store is whole and the command finishes."""

from __future__ import annotations

import os
import signal

import pytest

from twinloop.store.fsck import Harm, check_store
from twinloop.store.ingest import Status, ingest
from twinloop.store.queries import list_sessions
from twinloop.store.store import Store
from twinloop.testing.robot_tracks import CameraSpec
from twinloop.testing.synthetic import SessionSpec, record_session

#: Calls that make something durable, visible or gone.
STEPS = ("fsync", "link", "unlink", "copy_file_range", "rmdir")
POINTS = 14


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    path = tmp_path_factory.mktemp("tiny") / "tiny.mcap"
    camera = CameraSpec("scene", 10.0, width=64, height=48)
    record_session(path, SessionSpec(seed=2, duration_s=2.0, cameras=(camera,)))
    return path


def forked(root, recording, die_at=None):
    """Take in, in a process that is killed before its step number `die_at`; the number of steps it took."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        taken = 0

        def counted(step):
            def call(*args, **kwargs):
                nonlocal taken
                taken += 1
                if taken == die_at:
                    os.kill(os.getpid(), signal.SIGKILL)
                return step(*args, **kwargs)

            return call

        for name in STEPS:
            setattr(os, name, counted(getattr(os, name)))
        outcome = ingest(Store.open(root), recording)
        os.write(writer, str(taken).encode())
        os._exit(0 if outcome.status in (Status.STORED, Status.PRESENT) else 9)
    os.close(writer)
    with os.fdopen(reader) as told:
        steps = told.read()
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == (-signal.SIGKILL if die_at else 0)
    return int(steps or 0)


def test_a_kill_at_any_step(tmp_path, tiny):
    steps = forked(Store.create(tmp_path / "counted").work, tiny)
    assert steps > POINTS
    for number in range(POINTS):
        die_at = 1 + number * (steps - 2) // (POINTS - 1)
        root = Store.create(tmp_path / f"store-{number}").work
        forked(root, tiny, die_at)
        after = Store.open(root)
        assert not [t for t in check_store(after) if t.harm is Harm.DAMAGE], die_at
        there = len(list_sessions(after.catalog))
        outcome = ingest(Store.open(root), tiny)
        assert outcome.status is (Status.PRESENT if there else Status.STORED), die_at
        finished = Store.open(root)
        assert len(list_sessions(finished.catalog)) == 1
        assert not list(check_store(finished)), die_at
