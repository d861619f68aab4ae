"""Leftovers go, and nothing that anything names or is about to name."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from care import ANA, harms, troubles

from twinloop.core.errors import UsageError
from twinloop.engine.progress import Meter, no_report
from twinloop.store import ingest as ingesting
from twinloop.store.claims import claim
from twinloop.store.gc import collect
from twinloop.store.inbox.parcel import PARCELS, Parcel, lay_down, part_key
from twinloop.store.ingest import Status, ingest
from twinloop.store.raw_files import hash_files
from twinloop.store.sessions import split_session
from twinloop.store.sources import IngestOptions
from twinloop.store.staging import workspace
from twinloop.store.store import Store

OLD_S = 2 * 86_400


def stray_blob(store: Store, letter: str = "a", age_s: float = OLD_S) -> Path:
    path = store.work / "blobs" / (letter * 2) / (letter * 64)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"nobody knows me")
    return aged(path, age_s)


def aged(path: Path, age_s: float = OLD_S) -> Path:
    os.utime(path, (time.time() - age_s,) * 2)
    return path


def everything(store: Store) -> set[str]:
    files = (path.relative_to(store.work).as_posix() for path in store.work.rglob("*") if path.is_file())
    return {name for name in files if not name.startswith(("catalog", "staging"))}


def test_leftovers_go_and_the_rest_stays(kept):
    before = everything(kept)
    stray_blob(kept)
    artefact = next(kept.work.glob("sessions/*/streams/*")) / "left.parquet"
    artefact.write_bytes(b"12345")
    aged(artefact)
    (kept.work / "staging").mkdir(exist_ok=True)
    (kept.work / "staging" / "tmp-dead").write_bytes(b"123")
    planned = collect(kept, grace_s=0, dry_run=True)
    assert (len(planned.taken), planned.size) == (3, 15 + 5 + 3)
    assert artefact.exists()
    done = collect(kept, grace_s=0)
    assert (done.taken, done.size) == (planned.taken, planned.size)
    assert everything(kept) == before
    assert troubles(kept) == []


def test_what_is_young_stays_unless_all_is_to_go(kept):
    blob = stray_blob(kept, age_s=60)
    assert collect(kept).taken == ()
    assert blob.exists()
    assert collect(kept, grace_s=30).size == 15
    assert not blob.exists()
    with pytest.raises(UsageError):
        collect(kept, grace_s=-1)


def test_what_a_young_claim_names_stays(kept):
    blob = stray_blob(kept)
    claim(kept.objects, "b" * 64, "01M8PQN5YNGR87RES0M8R9EHE8", files=[blob.name])
    assert collect(kept).taken == ()
    assert [leftover.key for leftover in collect(kept, grace_s=0).taken] == [f"blobs/aa/{blob.name}"]


def test_what_a_live_process_works_on_stays(kept):
    claimed, other = stray_blob(kept, "a"), stray_blob(kept, "c")
    claim(kept.objects, "b" * 64, "01M8PQN5YNGR87RES0M8R9EHE8", files=[claimed.name])
    with workspace(kept.work, "b" * 64):
        collect(kept, grace_s=0)
        assert (claimed.exists(), other.exists()) == (True, False)
    stray_blob(kept, "c")
    with workspace(kept.work, "d" * 64):  # nobody knows yet what it is about to name
        assert collect(kept, grace_s=0).taken == ()


def test_an_ingest_never_loses_its_blob(kept, takes, monkeypatch):
    """A collector runs, with no grace, at every step between the blob's copy and the commit."""
    (old,) = kept.work.glob("blobs/*/" + ingest(kept, takes / "arm.mcap").recording)
    assert old
    store = Store.create(kept.work.parent / "fresh")
    runs = []

    def around(name):
        step = getattr(ingesting, name)

        def collecting(*args, **options):
            runs.append(collect(Store.open(store.url), grace_s=0).taken)
            done = step(*args, **options)
            runs.append(collect(Store.open(store.url), grace_s=0).taken)
            return done

        monkeypatch.setattr(ingesting, name, collecting)

    for name in ("choose_tag", "publish", "register_facts", "commit_recording"):
        around(name)
    assert ingest(store, takes / "arm.mcap", ANA).status is Status.STORED
    assert runs == [()] * 8
    assert troubles(store) == []


def test_a_blob_that_is_taken_in_the_last_moment_comes_back(kept, takes, monkeypatch):
    store = Store.create(kept.work.parent / "fresh")
    commit = ingesting.commit_recording

    def losing(manifests, session, entry, *rest):
        (store.work / entry.files[0].place).unlink()  # as by a collector on another machine
        return commit(manifests, session, entry, *rest)

    monkeypatch.setattr(ingesting, "commit_recording", losing)
    assert ingest(store, takes / "arm.mcap", ANA).status is Status.STORED
    assert troubles(store) == []


def test_a_file_that_is_copied_at_last_is_not_collected(kept, takes, monkeypatch):
    store = Store.create(kept.work.parent / "fresh")
    assert ingest(store, takes / "arm.mcap", IngestOptions(raw="reference")).status is Status.STORED
    point_to = ingesting.point_to

    def collecting(*args):
        assert collect(Store.open(store.url), grace_s=0).taken == ()
        return point_to(*args)

    monkeypatch.setattr(ingesting, "point_to", collecting)
    assert "in the store now" in ingest(store, takes / "arm.mcap", IngestOptions(raw="copy")).message
    assert troubles(store) == []


def test_parts_that_a_sender_never_finished_go(kept):
    sent = hash_files(Path(__file__), [Path(__file__)], Meter(no_report))
    parcel = Parcel(sent.hash, "a.py", False, sent.files, host="arm")
    keys = [part_key(sha256, offset, 4) for sha256 in (sent.files[0].sha256, "c" * 64) for offset in (0, 4)]
    for key in keys:
        kept.objects.put(key, b"1234")
    lay_down(kept.objects, parcel)
    for key in keys[:3]:
        aged(kept.work / key)
    assert collect(kept).taken == ()  # the second file's last part is young
    aged(kept.work / keys[3])
    assert [leftover.key for leftover in collect(kept).taken] == keys[2:]
    kept.objects.put(f"{PARCELS}/arm/damaged.json", b"{")
    kept.objects.delete(parcel.key)
    assert collect(kept).taken == ()


def test_a_damaged_store_keeps_its_leftovers(kept):
    blob = stray_blob(kept)
    manifest = next(kept.work.glob("sessions/*/manifest-1.json"))
    manifest.write_bytes(b"{")
    done = collect(kept, grace_s=0)
    assert (done.taken, blob.exists()) == ((), True)
    assert "fsck" in done.left[0]


def test_what_a_split_took_along_stays(kept):
    manifest = next(
        m for id in kept.manifests.sessions() if (m := kept.manifests.latest(id)) and len(m.episodes) == 2
    )
    first, second = manifest.episodes
    split_session(kept, manifest.session, at_ns=(first.end_ns + second.start_ns) // 2)
    for path in kept.work.glob("sessions/*/*/*/*"):
        aged(path)
    assert collect(Store.open(kept.url), grace_s=0).taken == ()
    assert harms(kept) == {}
