"""What the watch does with each kind of arrival, of each kind of source."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest
from drops import tiny

from twinloop.core.errors import StoreError, UsageError
from twinloop.store.arrivals.folder import DropFolder
from twinloop.store.blobs import hash_file
from twinloop.store.inbox.parcel import PARCELS, parcel_keys
from twinloop.store.locations import locate
from twinloop.store.outcome import Outcome
from twinloop.store.push.push import Push, PushOptions
from twinloop.store.push.spool import Spool
from twinloop.store.queries import list_sessions
from twinloop.store.store import Store
from twinloop.store.watch.diary import Diary
from twinloop.store.watch.jobs import Job, work
from twinloop.store.watch.log import Said, all_entries
from twinloop.store.watch.sources import open_source
from twinloop.store.watch.watch import Tally, Watch, WatchOptions


def deadly_work(url: str, job: Job, report) -> Outcome:
    """`work`, but some files end their process, once or always."""
    if job.path and not job.refuse:
        died = job.path.with_name(".died")
        if job.path.name == "poison.mcap" or (job.path.name == "unlucky.mcap" and not died.exists()):
            if job.path.name == "unlucky.mcap":
                died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
    return work(url, job, report)


def watch(store: Store, *places: str | Path, worker=work) -> Tally:
    with ExitStack() as stack:
        sources = [open_source(str(place), store, 0.0, 1e9, stack) for place in places]
        options = WatchOptions(workers=1, interval_s=0.05, once=True)
        return Watch(store, sources, options, Diary(store), worker=worker).run()


def said(store: Store) -> dict[str, list[str]]:
    """What was said of each name, in order."""
    by_name: dict[str, list[str]] = {}
    for entry in all_entries(store.objects):
        if entry.kind != Said.SOURCE:
            by_name.setdefault(entry.target, []).append(entry.kind)
    return by_name


@pytest.fixture
def drop(tmp_path) -> Path:
    (folder := tmp_path / "drop").mkdir()
    return folder


def test_every_kind_of_fate(drop, store):
    for seed, name in enumerate(("good", "poison", "unlucky", "erased", "misdescribed/bad", "half")):
        path = drop / f"{name}.mcap"
        path.parent.mkdir(exist_ok=True)
        tiny(path, seed)
    (drop / "misdescribed" / "session.toml").write_text('robbot = "arm"\n')
    (drop / "half.mcap").write_bytes((drop / "half.mcap").read_bytes()[:-9])
    hash = hash_file(drop / "erased.mcap")
    stone = {"hash": hash, "at": "now", "by": "ada", "reason": "asked for"}
    store.objects.put(f"tombstones/{hash}.json", json.dumps(stone).encode())

    tally = watch(store, drop, worker=deadly_work)
    fates = said(store)
    assert fates["good.mcap"] == ["arrived", "taken", "stored"]
    assert fates["unlucky.mcap"] == ["arrived", "taken", "died", "taken", "stored"]
    assert fates["poison.mcap"] == ["arrived", "taken", "died", "taken", "died", "taken", "quarantined"]
    assert fates["erased.mcap"] == ["arrived", "taken", "refused"]
    assert fates["misdescribed/bad.mcap"] == ["arrived", "taken", "taken", "quarantined"]
    assert "half.mcap" not in fates
    assert "closing magic" in tally.unfinished["half.mcap"]
    assert tally.failing == {}
    reasons = {Path(reason.path).name: reason for reason in store.quarantine.all()}
    assert "died, 2 times" in reasons["poison.mcap"].what
    assert "robbot" in reasons["bad.mcap"].what
    assert all(store.objects.exists(reason.files[0].place) for reason in reasons.values())
    assert len(list_sessions(store.catalog)) == 2

    assert store.objects.children("digests") == []  # the day is not over
    (drop / "good.mcap").rename(drop / "better.mcap")
    again = watch(store, drop)
    assert again.counts == {"arrived": 1, "present": 1}
    assert len(list_sessions(store.catalog)) == 2


def test_a_bucket_is_watched_through_a_mirror(tmp_path, store):
    bucket = locate("memory://watched/of-a-robot").objects
    for seed, key in enumerate(("a.mcap", "monday/b.mcap")):
        tiny(tmp_path / "made.mcap", seed)
        bucket.put(key, (tmp_path / "made.mcap").read_bytes())
    bucket.put("monday/session.toml", b'task = "pour"\nraw = "reference"\n')
    assert watch(store, "memory://watched/of-a-robot").counts["stored"] == 2
    rows = list_sessions(store.catalog)
    assert sorted(row.task or "" for row in rows) == ["", "pour"]
    for row in rows:
        manifest = store.manifests.latest(row.id)
        assert manifest
        assert all(store.objects.exists(file.place) for file in manifest.recordings[0].files)
    assert watch(store, "memory://watched/of-a-robot").counts == {}
    assert bucket.exists("a.mcap")


def test_the_inbox_is_watched(drop, store):
    for seed in range(2):
        tiny(drop / f"{seed}.mcap", seed)
    spool = Spool(drop, 0.0, 1e9)
    Push(spool, lambda: store.objects, PushOptions(), pause=lambda _: None).run()
    store.objects.put(f"{PARCELS}/robot/nonsense.json", b"{}")
    assert watch(store, "inbox").counts == Counter(arrived=3, stored=2, quarantined=1)
    assert list(parcel_keys(store.objects)) == []
    assert Push(spool, lambda: store.objects, PushOptions(), pause=lambda _: None).run().removed == 2


def test_a_store_that_cannot_be_written_is_waited_for(drop, store, monkeypatch):
    tiny(drop / "a.mcap", 0)
    failures = iter([True] * 5)
    append = store.objects.append

    def refuse(key: str, data: bytes) -> None:
        if next(failures, False):
            raise StoreError("no space left")
        append(key, data)

    monkeypatch.setattr(store.objects, "append", refuse)
    assert watch(store, drop).counts["stored"] == 1
    assert said(store)["a.mcap"] == ["arrived", "taken", "stored"]


def test_a_source_that_is_not_there_is_a_wrong_use(store):
    with pytest.raises(UsageError, match="no such folder"):
        watch(store, "nowhere")


def test_the_store_inside_the_folder_is_passed_over(tmp_path):
    Store.create(tmp_path / "drop" / "store")
    assert DropFolder(tmp_path / "drop", 0.0, 1e9).look(lambda _, __: False).ready == ()


def test_a_source_is_watched_once(drop, store):
    with ExitStack() as stack:
        open_source(str(drop), store, 0.0, 1e9, stack)
        with pytest.raises(StoreError, match="another process"):
            watch(store, drop)


def test_all_of_it_on_s3(tmp_path, drop, bucket):
    """A spool pushed to a store in a bucket, and another bucket's prefix watched, by processes of their own."""
    store = Store.create(f"{bucket}/store")
    tiny(drop / "a.mcap", 0)
    tiny(tmp_path / "b.mcap", 1)
    locate(f"{bucket}/robot").objects.put("monday/b.mcap", (tmp_path / "b.mcap").read_bytes())

    def push() -> int:
        return (
            Push(Spool(drop, 0.0, 1e9), lambda: store.objects, PushOptions(), pause=lambda _: None)
            .run()
            .removed
        )

    assert push() == 0
    assert watch(store, "inbox", f"{bucket}/robot").counts == Counter(arrived=2, stored=2)
    assert push() == 1
    assert watch(store, "inbox", f"{bucket}/robot").counts == {}
    assert sorted(row.recordings for row in list_sessions(store.catalog)) == [("a.mcap",), ("b.mcap",)]
