"""A spool is pushed over links that fail, and nothing leaves it before the store has it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from twinloop.core.errors import StoreError, UnreachableError
from twinloop.store.inbox.parcel import PARTS, RECEIPTS, parcel_keys, read_parcel, receipt_key
from twinloop.store.inbox.receive import receive
from twinloop.store.inbox.send import part_bytes
from twinloop.store.objects import Objects
from twinloop.store.outcome import Outcome, Status
from twinloop.store.push.push import Push, PushOptions, Tally
from twinloop.store.push.spool import OWN, Spool
from twinloop.store.quarantine import Quarantine
from twinloop.store.queries import list_sessions
from twinloop.store.store import Store
from twinloop.testing.synthetic import SessionSpec, record_session

TINY = SessionSpec(duration_s=2.0, cameras=(), follower_hz=20.0, leader_hz=0.0)


@pytest.fixture
def folder(tmp_path) -> Path:
    """A spool with two recordings of one file each."""
    folder = tmp_path / "spool"
    (folder / "monday").mkdir(parents=True)
    for seed, name in enumerate(("a.mcap", "monday/b.mcap")):
        record_session(folder / name, SessionSpec(**{**_fields(TINY), "seed": seed}))
        os.utime(folder / name, ns=(seed * 10**9, seed * 10**9))
    (folder / "monday" / "session.toml").write_text('task = "pour"\noutcome = "failure"\n')
    return folder


def _fields(spec: SessionSpec) -> dict[str, object]:
    return {name: getattr(spec, name) for name in spec.__dataclass_fields__}


def push(folder: Path, objects: Objects, **options) -> Tally:
    spool = Spool(folder, settle_s=0.0, grace_s=0.0)
    return Push(spool, lambda: objects, PushOptions(**options), pause=lambda _: None).run()


def take_in_all(store: Store) -> list[Status]:
    return [receive(store, key).status for key, _ in sorted(parcel_keys(store.objects))]


def recordings(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.mcap"))


def test_what_cannot_be_taken_in_from_here_is_told_and_stays(folder, tmp_path):
    objects = Store.create(tmp_path / "store").objects
    full = Outcome("parcel", Status.FAILED, message="No space left on device", exit_code=3)
    tally = push(folder, objects, take_in=lambda _: full)
    assert tally.troubles == dict.fromkeys(("a.mcap", "monday/b.mcap"), "No space left on device")
    assert recordings(folder) == ["a.mcap", "monday/b.mcap"]


@pytest.mark.every_store
def test_files_go_when_the_store_has_them(folder, store):
    first = push(folder, store.objects)
    assert (first.sent, first.waiting, first.removed) == (2, 2, 0)
    assert recordings(folder) == ["a.mcap", "monday/b.mcap"]
    assert take_in_all(store) == [Status.STORED, Status.STORED]
    second = push(folder, store.objects)
    assert (second.sent, second.confirmed, second.removed) == (0, 2, 2)
    assert recordings(folder) == []
    assert (folder / "monday" / "session.toml").exists()
    rows = list_sessions(store.catalog)
    assert sorted(row.task or "" for row in rows) == ["", "pour"]
    assert list(store.objects.walk("inbox")) == []


def test_kept_where_that_is_asked(folder, store):
    push(folder, store.objects, keep=True)
    take_in_all(store)
    done = push(folder, store.objects, keep=True)
    assert (done.confirmed, done.removed) == (2, 0)
    assert recordings(folder) == ["a.mcap", "monday/b.mcap"]


def test_failures_go_first_then_the_oldest(folder, store):
    record_session(folder / "0.mcap", SessionSpec(**{**_fields(TINY), "seed": 7}))
    sent = []
    spool = Spool(folder, settle_s=0.0, grace_s=0.0)
    options = PushOptions(take_in=lambda key: sent.append(read_parcel(store.objects, key).name))
    Push(spool, lambda: store.objects, options, pause=lambda _: None).run()
    assert sent == ["monday/b.mcap", "a.mcap", "0.mcap"]


class Link:
    """Objects behind a link that is lost after every few bytes sent."""

    def __init__(self, objects: Objects, lost_after: int) -> None:
        self._objects = objects
        self._lost_after = lost_after
        self.left = lost_after
        self.lost = 0
        self.parts: list[str] = []

    def __getattr__(self, name: str):
        return getattr(self._objects, name)

    def put(self, key: str, data: bytes) -> bool:
        if self.left < len(data):
            self.left, self.lost = self._lost_after, self.lost + 1
            raise UnreachableError("the link is lost")
        self.left -= len(data)
        if key.startswith(PARTS):
            self.parts.append(key)
        return self._objects.put(key, data)


@pytest.mark.every_store
def test_a_link_that_is_lost_again_and_again(folder, store, monkeypatch):
    monkeypatch.setattr("twinloop.store.push.push.part_bytes", lambda limit: 1000)
    link = Link(store.objects, 3000)
    pauses: list[float] = []
    spool = Spool(folder, settle_s=0.0, grace_s=0.0)
    tally = Push(spool, lambda: link, PushOptions(), pause=pauses.append).run()
    assert tally.sent == 2
    assert link.lost > 3
    assert len(link.parts) == len(set(link.parts)), "no part is sent twice"
    assert all(0 < pause <= 60 for pause in pauses)
    assert take_in_all(store) == [Status.STORED, Status.STORED]


def test_what_changes_while_it_is_sent_is_sent_anew(folder, store, monkeypatch):
    monkeypatch.setattr("twinloop.store.push.push.part_bytes", lambda limit: 1000)
    path = folder / "a.mcap"
    longer = folder.parent / "longer.mcap"
    record_session(longer, SessionSpec(**{**_fields(TINY), "seed": 9, "duration_s": 3.0}))

    class Meddler(Link):
        def put(self, key: str, data: bytes) -> bool:
            if key.startswith(PARTS) and longer.exists() and len(self.parts) == 1:
                longer.replace(path)
            return super().put(key, data)

    meddler = Meddler(store.objects, 10**9)
    shutil.rmtree(folder / "monday")
    tally = push(folder, meddler)
    assert tally.troubles == {}
    assert take_in_all(store) == [Status.STORED]
    (row,) = list_sessions(store.catalog)
    assert row.bytes == path.stat().st_size
    assert push(folder, store.objects).removed == 1


def test_a_file_that_changed_after_it_was_sent_stays(folder, store):
    push(folder, store.objects)
    take_in_all(store)
    with (folder / "a.mcap").open("ab") as file:
        file.write(b"more")
    shutil.rmtree(folder / "monday")
    done = push(folder, store.objects)
    assert (done.removed, done.sent) == (0, 1)
    assert recordings(folder) == ["a.mcap"]


def test_touching_a_file_changes_nothing(folder, store):
    push(folder, store.objects)
    take_in_all(store)
    os.utime(folder / "a.mcap", ns=(10**18, 10**18))
    assert push(folder, store.objects).removed == 2


def test_a_receipt_of_other_bytes_removes_nothing(folder, store):
    push(folder, store.objects)
    for key, _ in list(parcel_keys(store.objects)):
        parcel = read_parcel(store.objects, key)
        store.objects.put(receipt_key(parcel.hash), json.dumps({"hash": parcel.hash, "kept": []}).encode())
    done = push(folder, store.objects)
    assert (done.confirmed, done.removed) == (2, 0)
    assert "stays here" in done.troubles["a.mcap"]
    assert len(recordings(folder)) == 2


@pytest.mark.every_store
def test_what_was_erased_is_refused_and_stays(folder, store):
    shutil.rmtree(folder / "monday")
    push(folder, store.objects)
    ((key, _),) = parcel_keys(store.objects)
    hash = read_parcel(store.objects, key).hash
    stone = {"hash": hash, "at": "now", "by": "ada", "reason": "asked for"}
    store.objects.put(f"tombstones/{hash}.json", json.dumps(stone).encode())
    assert take_in_all(store) == [Status.REFUSED]
    done = push(folder, store.objects)
    assert "erased" in done.refused["a.mcap"]
    assert recordings(folder) == ["a.mcap"]


@pytest.mark.every_store
def test_what_cannot_be_read_is_safe_in_quarantine_and_goes(folder, store):
    (folder / "a.mcap").write_bytes(b"\x89MCAP0\r\n" + b"nonsense" * 100)
    shutil.rmtree(folder / "monday")
    push(folder, store.objects)
    assert take_in_all(store) == [Status.QUARANTINED]
    assert push(folder, store.objects).removed == 1
    (reason,) = Quarantine(store.objects).all()
    assert store.objects.size(reason.files[0].place) == 808


@pytest.mark.every_store
def test_parts_that_were_damaged_on_the_way_are_sent_again(folder, store):
    shutil.rmtree(folder / "monday")
    push(folder, store.objects)
    (part,) = store.objects.walk(PARTS)
    data = bytearray(store.objects.get(part))
    data[100] ^= 1
    store.objects.delete(part)
    store.objects.put(part, bytes(data))
    assert take_in_all(store) == [Status.FAILED]
    assert list(parcel_keys(store.objects)) == []
    assert push(folder, store.objects).sent == 1
    assert take_in_all(store) == [Status.STORED]


def test_a_folder_goes_whole_and_what_the_store_lacks_stays(tmp_path, store):
    bag = tmp_path / "spool" / "bag"
    bag.mkdir(parents=True)
    for number in range(2):
        record_session(bag / f"bag_{number}.mcap", SessionSpec(**{**_fields(TINY), "seed": number}))
    names = ", ".join(f'"bag_{number}.mcap"' for number in range(2))
    (bag / "metadata.yaml").write_text(
        "rosbag2_bagfile_information:\n  version: 5\n  storage_identifier: mcap\n"
        f"  relative_file_paths: [{names}]\n  topics_with_message_count: []\n  message_count: 0\n"
    )
    (bag / "session.toml").write_text('operator = "ada"\n')
    (bag / "README").write_text("for people")
    push(bag.parent, store.objects)
    assert take_in_all(store) == [Status.STORED]
    assert push(bag.parent, store.objects).removed == 1
    (row,) = list_sessions(store.catalog)
    assert row.operator == "ada"
    assert not bag.exists()
    left = sorted(path.name for path in (bag.parent / OWN / "sent").rglob("*") if path.is_file())
    assert left == ["README", "session.toml"]


def test_a_removal_that_was_killed_is_finished(tmp_path, store):
    aside = tmp_path / OWN / "sent" / "bag-1234"
    aside.mkdir(parents=True)
    (aside / "x.mcap").write_text("x")
    aside.with_name("bag-1234.json").write_text('["x.mcap", "y.mcap"]')
    aside.with_name("other-1234.json").write_text('["x.mcap"]')
    push(tmp_path, store.objects)
    assert list((tmp_path / OWN / "sent").iterdir()) == []


def test_an_envelope_that_claims_another_hash_is_kept_aside(folder, store):
    """Or else its receipt would let another robot remove what the store does not have."""
    push(folder, store.objects)
    key, _ = sorted(parcel_keys(store.objects))[0]
    parcel = json.loads(store.objects.get(key)) | {"hash": "0" * 64}
    store.objects.delete(key)
    store.objects.put(key, json.dumps(parcel).encode())
    assert receive(store, key).status is Status.QUARANTINED
    assert list(store.objects.walk(RECEIPTS)) == []
    assert not store.objects.exists(key)


def test_the_limit_holds_on_average(folder, store, monkeypatch):
    now_s = [0.0]
    clock = SimpleNamespace(
        monotonic=lambda: now_s[0], sleep=lambda pause_s: now_s.__setitem__(0, now_s[0] + pause_s)
    )
    monkeypatch.setattr("twinloop.store.transfer.time", clock)
    sent = push(folder, store.objects, limit=1000.0).sent_bytes
    assert sent > 4000
    assert now_s[0] == pytest.approx(sent / 1000.0)
    assert (part_bytes(1e6), part_bytes(10.0), part_bytes(1e12)) == (1_000_000, 64 << 10, 8 << 20)


def test_two_at_once_keep_out_of_each_others_way(folder, store):
    spool = Spool(folder, settle_s=0.0, grace_s=0.0)
    with spool.hold(), pytest.raises(StoreError, match="another process"):
        push(folder, store.objects)


def test_the_same_recording_of_two_robots(folder, store, monkeypatch):
    for host in ("one", "two"):
        monkeypatch.setattr("socket.gethostname", lambda host=host: host)
        push(folder, store.objects)
    assert len(list(parcel_keys(store.objects))) == 4
    assert sorted(take_in_all(store)) == sorted([Status.STORED, Status.PRESENT] * 2)
    assert len(list_sessions(store.catalog)) == 2
    assert len(list(store.objects.walk(RECEIPTS))) == 2
