"""What the system refuses: permissions, special files, loops of links, disks that fill up at any step."""

from __future__ import annotations

import os
import pickle
import subprocess
import tempfile
from pathlib import Path

import pytest

from twinloop.core.errors import StoreError
from twinloop.store.fsck import Harm, check_store
from twinloop.store.ingest import Status, ingest
from twinloop.store.queries import list_sessions
from twinloop.store.sources import IngestOptions, find_recordings
from twinloop.store.store import Store
from twinloop.testing.synthetic import SessionSpec, record_session

NOBODY = 65534


@pytest.fixture
def open_folder():
    """A folder that every user may enter and write to, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


@pytest.fixture
def shared(open_folder, recording) -> Store:
    """A store of this user, with a recording, that others may read. All modules are loaded by now."""
    store = Store.create(open_folder / "store")
    ingest(store, recording)
    return store


def as_nobody(function):
    """What a function gives in a process that has no rights of root, so that modes count."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            if os.geteuid() == 0:
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            result = function()
        except BaseException as error:
            result = repr(error)
        os.write(writer, pickle.dumps(result))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as told:
        result = pickle.load(told)
    os.waitpid(child, 0)
    return result


def small(path: Path, seed: int = 1) -> Path:
    record_session(path, SessionSpec(seed=seed, duration_s=2.0, cameras=(), chunk_bytes=1 << 14))
    return path


def own_store(folder: Path) -> Path:
    (folder / "own").mkdir()
    (folder / "own").chmod(0o777)
    return folder / "own" / "store"


def test_a_file_without_permission_is_told_and_read_once_it_may_be(shared, open_folder):
    secret = small(open_folder / "secret.mcap")
    secret.chmod(0)
    root = own_store(open_folder)
    refused = as_nobody(lambda: ingest(Store.create(root), secret))
    assert (refused.status, refused.exit_code) == (Status.QUARANTINED, 3)
    assert "Permission denied" in refused.message
    assert str(secret) in refused.message
    secret.chmod(0o644)
    assert as_nobody(lambda: ingest(Store.open(root), secret)).status is Status.STORED
    assert Store.open(root).quarantine.all() == []


def test_folders_that_may_not_be_entered_are_told(shared, open_folder):
    root = own_store(open_folder)
    (open_folder / "takes").mkdir()
    shut = open_folder / "takes" / "shut"
    shut.mkdir()
    inside = small(shut / "a.mcap")
    table = open_folder / "takes" / "t.csv"
    table.write_text("time_s,x\n0.0,1\n0.1,2\n")
    table.chmod(0)
    shut.chmod(0)
    try:
        found = as_nobody(lambda: find_recordings([open_folder / "takes", inside]).recordings)
        assert found == (shut, table, inside)
        outcomes = as_nobody(lambda: [ingest(Store.create(root), path) for path in found])
        assert [outcome.exit_code for outcome in outcomes] == [3, 3, 3]
        assert all("Permission denied" in outcome.message for outcome in outcomes)
    finally:
        shut.chmod(0o755)


def test_another_users_store_is_read_and_refuses_to_be_written(shared, open_folder):
    before = sorted(path for path in shared.work.rglob("*") if path.is_file() and "catalog" not in path.name)
    busy = shared.work / "staging" / "work"
    busy.mkdir(parents=True)
    busy.with_name("work.lock").write_bytes(b"")
    busy.with_name("work.lock").chmod(0o600)
    other = small(open_folder / "other.mcap")
    assert as_nobody(lambda: list(check_store(Store.open(shared.work)))) == []
    outcome = as_nobody(lambda: ingest(Store.open(shared.work), other))
    assert (outcome.status, outcome.exit_code) == (Status.FAILED, 3)
    assert "Permission denied" in outcome.message
    assert str(shared.work) in outcome.message
    after = sorted(path for path in shared.work.rglob("*") if path.is_file() and "catalog" not in path.name)
    assert [path for path in after if path.name != "work.lock"] == before


def test_what_fsck_may_not_read_is_told_and_the_rest_looked_at(shared):
    blob = next(path for path in shared.work.glob("blobs/*/*"))
    blob.chmod(0)
    flipped = next(path for path in shared.work.glob("sessions/*/streams/*/*"))
    flipped.write_bytes(flipped.read_bytes()[:-1] + b"?")
    troubles = as_nobody(lambda: list(check_store(Store.open(shared.work))))
    keys = {trouble.key for trouble in troubles if trouble.harm is Harm.DAMAGE}
    assert keys == {path.relative_to(shared.work).as_posix() for path in (blob, flipped)}


def test_referenced_files_behind_a_shut_folder_are_told(shared, open_folder):
    own = own_store(open_folder)
    takes = open_folder / "takes"
    takes.mkdir()
    take = small(takes / "a.mcap")
    assert as_nobody(lambda: ingest(Store.create(own), take, IngestOptions(raw="reference"))).exit_code == 0
    takes.chmod(0)
    try:
        (trouble,) = as_nobody(lambda: list(check_store(Store.open(own))))
        assert (trouble.harm, trouble.key) == (Harm.DAMAGE, str(take))
    finally:
        takes.chmod(0o755)


def test_pipes_and_links_to_nothing_end_at_once(store, tmp_path):
    os.mkfifo(tmp_path / "pipe.mcap")
    (tmp_path / "link.mcap").symlink_to(tmp_path / "nowhere")
    assert ingest(store, tmp_path / "pipe.mcap").exit_code == 3
    missing = ingest(store, tmp_path / "link.mcap")
    assert (missing.status, missing.exit_code) == (Status.FAILED, 3)
    assert "no such file" in missing.message
    assert list(check_store(store)) == []


def test_a_loop_of_links_is_walked_once(tmp_path):
    (tmp_path / "takes").mkdir()
    take = small(tmp_path / "takes" / "a.mcap")
    (tmp_path / "takes" / "again").symlink_to(tmp_path / "takes")
    (tmp_path / "takes" / "up").symlink_to(tmp_path)
    assert find_recordings([tmp_path / "takes"]).recordings == (take,)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_disk_that_fills_up_at_any_step(tmp_path, recording):
    disk = tmp_path / "disk"
    disk.mkdir()
    first = small(tmp_path / "small.mcap")
    statuses = []
    for kilobytes in (260, 400, 700, 860, 1000, 1120, 1600):
        mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", disk]
        if subprocess.run(mount, capture_output=True).returncode:
            pytest.skip("this system does not let root mount a tmpfs")
        try:
            store = Store.create(disk / "store")
            there = ingest(store, first).status is Status.STORED
            outcome = ingest(Store.open(store.work), recording)
            statuses.append(outcome.status)
            if outcome.status is not Status.STORED:
                assert outcome.status is Status.FAILED
                assert outcome.exit_code == 3
                assert "No space left" in outcome.message
                assert str(store.work) in outcome.message
                assert "free some space" in outcome.message
            after = Store.open(store.work)
            assert len(list_sessions(after.catalog)) == there + (outcome.status is Status.STORED)
            assert [t for t in check_store(after) if t.harm is not Harm.LEFTOVER] == []
        finally:
            subprocess.run(["umount", "--lazy", disk], check=True)
    assert {statuses[0], statuses[-1]} == {Status.FAILED, Status.STORED}


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_an_edit_that_a_full_disk_refuses_leaves_no_half_of_it(tmp_path, recording):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("this system does not let root mount a tmpfs")
    try:
        store = Store.create(disk / "store")
        ingest(store, recording)
        episodes = [episode.id for episode in store.session("last").session.episodes]
        store.edit_episodes(episodes, instruction="before")
        with (disk / "filler").open("wb", buffering=0) as filler:
            try:
                while filler.write(bytes(4096)):
                    pass
            except OSError:
                pass
        with pytest.raises(StoreError, match="No space left"):
            store.edit_episodes(episodes, instruction="x" * 200_000)
        (disk / "filler").unlink()
        store.edit_episodes(episodes, exclude="after")
        after = Store.open(store.work)
        (episode,) = after.session("last").session.episodes
        assert (episode.instruction, episode.excluded) == ("before", "after")
        assert list(check_store(after)) == []
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)
