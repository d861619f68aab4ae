"""One damaged or strange file of a store costs what it held, and shuts nobody out of the rest."""

from __future__ import annotations

import pytest

from twinloop.core.errors import StoreError
from twinloop.core.session import SessionFacts
from twinloop.store.blobs import hash_file
from twinloop.store.fsck import Harm, check_store
from twinloop.store.ingest import Status, ingest
from twinloop.store.queries import list_sessions
from twinloop.store.sources import IngestOptions
from twinloop.store.store import Store
from twinloop.testing.file_faults import Truncated
from twinloop.testing.synthetic import FOLLOWER, SessionSpec, record_session

FACTS = IngestOptions(facts=SessionFacts(task="pick", operator="ana"))


@pytest.fixture(scope="module")
def takes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("takes")
    paths = [folder / "first.mcap", folder / "second.mcap"]
    for seed, path in enumerate(paths):
        record_session(path, SessionSpec(seed=seed, duration_s=2.0, cameras=(), chunk_bytes=1 << 14))
    return paths


def damage(store: Store, pattern: str) -> set[str]:
    """Cut files of a store short; their keys."""
    victims = [path for path in store.work.glob(pattern) if path.is_file()]
    for path in victims:
        path.write_bytes(b'{"')
    assert victims
    return {path.relative_to(store.work).as_posix() for path in victims}


def damaged_keys(store: Store) -> set[str]:
    return {t.key for t in check_store(Store.open(store.work)) if t.harm is Harm.DAMAGE}


def test_strange_files_everywhere(store, takes):
    first = ingest(store, takes[0], FACTS).session
    folders = [
        store.work / name
        for name in (
            "sessions",
            f"sessions/{first}",
            "quarantine",
            "registry",
            "registry/tasks",
            "blobs",
            "journal",
        )
    ]
    for folder in folders:
        folder.mkdir(exist_ok=True)
        (folder / ".DS_Store").write_bytes(b"left by a file manager")
    again = Store.open(store.work)
    assert ingest(again, takes[1], IngestOptions(session=first)).status is Status.STORED
    assert [row.id for row in list_sessions(again.catalog)] == [first]
    troubles = {t.key: t.harm for t in check_store(Store.open(store.work))}
    assert troubles["sessions/.DS_Store"] is Harm.LEFTOVER
    assert troubles[f"sessions/{first}/.DS_Store"] is Harm.LEFTOVER


def test_a_damaged_registry(store, takes):
    ingest(store, takes[0], FACTS)
    keys = damage(store, "registry/tasks/*/*")
    assert damaged_keys(store) == keys
    assert ingest(Store.open(store.work), takes[1], FACTS).status is Status.STORED
    assert len(list_sessions(Store.open(store.work).catalog, task="pick")) == 2


def test_a_damaged_report(store, takes):
    ingest(store, takes[0])
    keys = damage(store, "sessions/*/reports/*/*")
    assert damaged_keys(store) == keys
    Store.open(store.work).catalog.rebuild()
    session = Store.open(store.work).session("last")
    assert session.read(FOLLOWER).num_rows == 400
    with pytest.raises(StoreError, match="a report is damaged"):
        _ = session.report


def test_a_damaged_reason_in_quarantine(store, tmp_path):
    path = tmp_path / "bad.mcap"
    path.write_bytes(b"nothing" * 9)
    ingest(store, path)
    keys = damage(store, "quarantine/*/reason.json")
    assert damaged_keys(store) == keys
    assert ingest(store, path).status is Status.QUARANTINED
    (reason,) = store.quarantine.all()
    assert reason.path == str(path)


def test_a_damaged_claim_binds_nobody(store, takes):
    sha256 = hash_file(takes[0])
    folder = store.work / "claims" / sha256[:2]
    folder.mkdir(parents=True)
    (folder / f"{sha256}-1.json").write_bytes(b'{"ha')
    assert ingest(store, takes[0]).status is Status.STORED


def test_a_damaged_tombstone_still_refuses(store, takes):
    (store.work / "tombstones").mkdir()
    (store.work / "tombstones" / f"{hash_file(takes[0])}.json").write_bytes(b"")
    outcome = ingest(store, takes[0])
    assert (outcome.status, outcome.exit_code) == (Status.REFUSED, 3)
    assert "erased" in outcome.message
    assert not list(store.objects.walk("blobs"))


@pytest.mark.parametrize("part", [0.001, 0.003], ids=["in the head", "in the first chunk"])
def test_a_recording_of_which_nothing_is_left_is_no_session(store, tmp_path, part):
    path = tmp_path / "stump.mcap"
    record_session(path, SessionSpec(seed=1, duration_s=2.0, cameras=(), faults=(Truncated(part),)))
    for raw in ("reference", "copy"):
        outcome = ingest(store, path, IngestOptions(raw=raw))
        assert (outcome.status, outcome.exit_code) == (Status.QUARANTINED, 3)
        assert "nothing of it could be read" in outcome.message
        assert "byte" in outcome.message
        assert bool(list(store.objects.walk("blobs"))) == (raw == "copy")
    assert list_sessions(store.catalog) == []
    assert list(check_store(store)) == []


def test_times_that_begin_at_zero(store, tmp_path):
    path = tmp_path / "run.csv"
    path.write_text("time_s,x\n" + "".join(f"{k / 100},{k}\n" for k in range(300)))
    ingest(store, path)
    (stream,) = store.session("last").streams.values()
    assert (stream.start_ns, stream.end_ns, stream.count) == (0, 2_990_000_000, 300)
    (row,) = list_sessions(store.catalog)
    assert (row.start_ns, row.end_ns) == (0, 2_990_000_000)


def test_stamps_of_zero_are_no_times(store, tmp_path):
    path = tmp_path / "run.csv"
    times = [0 if k in (50, 51) else 1_767_607_200_000_000_000 + k * 10_000_000 for k in range(300)]
    path.write_text("stamp_ns,x\n" + "".join(f"{t},{k}\n" for k, t in enumerate(times)))
    outcome = ingest(store, path)
    assert outcome.findings
    (stream,) = store.session("last").streams.values()
    assert (stream.start_ns, stream.end_ns, stream.count) == (times[0], times[-1], 300)
