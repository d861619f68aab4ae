"""Bad input: what can be read is stored, what cannot is in quarantine, the rest of the store is untouched."""

from __future__ import annotations

import hashlib
import os
import subprocess

import numpy as np
import pytest

from twinloop.store.fsck import Harm, check_store
from twinloop.store.ingest import Status, ingest
from twinloop.store.queries import list_sessions
from twinloop.store.store import Store
from twinloop.testing.file_faults import CorruptChunk, Truncated
from twinloop.testing.synthetic import SessionSpec, record_session


def state(store: Store) -> dict[str, str]:
    """The hash of every file that holds something for good."""
    return {
        str(path.relative_to(store.work)): hashlib.sha256(path.read_bytes()).hexdigest()
        for folder in ("blobs", "sessions", "journal", "registry")
        for path in (store.work / folder).rglob("*")
        if path.is_file()
    }


@pytest.fixture
def filled(store, recording) -> Store:
    ingest(store, recording)
    return store


def write(path, content: bytes):
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.mcap", b""),
        ("random.mcap", np.random.default_rng(0).bytes(10_000)),
        ("picture.bag", b"\x89PNG\r\n\x1a\n" + bytes(100)),
        ("text.db3", b"this is no database"),
    ],
)
def test_what_cannot_be_read_at_all_is_in_quarantine(filled, tmp_path, name, content):
    before = state(filled)
    outcome = ingest(filled, write(tmp_path / name, content))
    assert outcome.status is Status.QUARANTINED
    assert outcome.exit_code == 3
    (reason,) = filled.quarantine.all()
    assert name in reason.path
    assert name in outcome.message
    assert before.items() <= state(filled).items()
    assert [t for t in check_store(filled) if t.harm is Harm.DAMAGE] == []


@pytest.mark.parametrize("fault", [Truncated(0.6), CorruptChunk(0)], ids=["truncated", "corrupt chunk"])
def test_what_can_be_read_of_a_damaged_file_is_stored(filled, tmp_path, fault):
    path = tmp_path / "damaged.mcap"
    record_session(path, SessionSpec(seed=8, duration_s=3.0, chunk_bytes=1 << 15, faults=(fault,)))
    before = state(filled)
    outcome = ingest(filled, path)
    assert outcome.status is Status.STORED
    assert outcome.exit_code == 3
    assert outcome.lost
    assert all(note.where.file and note.where.byte is not None for note in outcome.lost)
    (reason,) = filled.quarantine.all()
    assert reason.session == outcome.session
    assert sum(stream.count for stream in filled.session("last").streams.values()) > 50
    assert before.items() <= state(filled).items()


def test_one_bad_row_of_a_table_is_noted_with_its_row(store, tmp_path):
    rows = [f"{i * 0.01:.2f},{i}" for i in range(2000)]
    rows[1234] = "12.34,not a number,and more"
    path = write(tmp_path / "table.csv", ("time_s,value\n" + "\n".join(rows) + "\n").encode())
    outcome = ingest(store, path)
    assert outcome.exit_code == 3
    (note,) = outcome.lost
    assert note.where.row is not None
    assert store.session("last").streams.popitem()[1].count == 1999


def test_a_missing_file_is_told(store, tmp_path):
    outcome = ingest(store, tmp_path / "nowhere.mcap")
    assert outcome.exit_code == 3
    assert "no such file" in outcome.message


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk_leaves_the_store_as_it_was(tmp_path, recording):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=900k", "tmpfs", disk], capture_output=True
    ).returncode:
        pytest.skip("this system does not let root mount a tmpfs")
    try:
        store = Store.create(disk / "store")
        small = tmp_path / "small.mcap"
        record_session(small, SessionSpec(seed=1, duration_s=2.0, cameras=(), chunk_bytes=1 << 14))
        assert ingest(store, small).status is Status.STORED
        before = state(store)
        outcome = ingest(store, recording)
        assert outcome.status is Status.FAILED
        assert outcome.exit_code == 3
        assert "space" in outcome.message
        assert before.items() <= state(store).items()
        assert len(list_sessions(Store.open(store.work).catalog)) == 1
        assert [t for t in check_store(store) if t.harm is Harm.DAMAGE] == []
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)
