"""A mirror is a whole store at every moment, never holds what was erased, and says what differs."""

from __future__ import annotations

import json
import time

import pytest
from care import ANA, copy_of, facts, harms, mirror_of, troubles

from twinloop.core.errors import StoreError, TwinloopError, UsageError
from twinloop.store.erase.erase import erase
from twinloop.store.erase.plan import plan_subject
from twinloop.store.fsck import Harm
from twinloop.store.ingest import ingest
from twinloop.store.local_objects import LocalObjects
from twinloop.store.mending import repair
from twinloop.store.mirror.mirror import mirror
from twinloop.store.mirror.remembered import mirrors
from twinloop.store.store import Store
from twinloop.store.transfer import Throttle
from twinloop.testing.store_faults import StoreFault


def test_a_mirror_is_whole_and_the_same(kept, tmp_path):
    copy = mirror_of(kept, tmp_path / "copy")
    assert troubles(copy) == []
    assert facts(copy) == facts(kept)
    again = mirror(kept, copy)
    assert (again.copied, again.held) == (0, ())
    (known,) = mirrors(kept.objects)
    assert (known.url, known.finished is not None) == (copy.url, True)
    assert troubles(kept) == []


def test_what_comes_later_follows(kept, tmp_path):
    copy = mirror_of(kept, tmp_path / "copy")
    episode = facts(kept)[0]
    kept.edit_episodes([episode.id], instruction="said later")
    kept.registry.state("robots", "arm", {"serial": "3"})
    kept.manifests.change(episode.session, "said again", lambda current: current)
    assert mirror(kept, copy).copied == 3
    assert facts(copy) == facts(kept)
    assert troubles(copy) == []


@pytest.mark.parametrize("part", [0.2, 0.6, 0.95])
def test_a_mirror_that_dies_is_a_store_and_is_finished_by_the_same_command(kept, tmp_path, monkeypatch, part):
    total = mirror(kept, Store.create(tmp_path / "count")).copied
    (kept.work / "mirrors").rename(tmp_path / "mirrors")
    copy = Store.create(tmp_path / "copy")
    budget = int(total * part)

    class Dead(BaseException):
        """As by kill -9."""

    def dying(name):
        step = getattr(LocalObjects, name)

        def write(self, key, *rest, **options):
            nonlocal budget
            if str(self.root) == str(copy.work):
                if budget == 0:
                    raise Dead
                budget -= 1
            return step(self, key, *rest, **options)

        return write

    with monkeypatch.context() as patch:
        for name in ("put", "put_file", "append"):
            patch.setattr(LocalObjects, name, dying(name))
        with pytest.raises(Dead):
            mirror(kept, copy)
    assert {harm for key, harm in harms(copy).items() if not key.startswith("erasures/")} <= {Harm.LEFTOVER}
    mirror(kept, Store.open(copy.url))
    assert troubles(copy) == []
    assert facts(copy) == facts(kept)


def test_damage_at_the_source_is_held_back(kept, tmp_path):
    planted = StoreFault("flipped", "video").plant(kept.work)
    copy = Store.create(tmp_path / "copy")
    done = mirror(kept, copy)
    assert len(done.held) == 1
    assert harms(copy) == {} or set(harms(copy).values()) == {Harm.LEFTOVER}
    assert not (copy.work / planted.key).exists()
    repair(Store.open(kept.url))
    assert mirror(kept, copy).held == ()
    assert troubles(copy) == []


def test_damage_at_the_destination_is_found_by_verify(kept, tmp_path):
    copy = mirror_of(kept, tmp_path / "copy")
    planted = StoreFault("flipped", "blob").plant(copy.work)
    assert mirror(kept, copy).copied == 0
    assert mirror(kept, copy, verify=True).copied == 1
    assert (copy.work / planted.key).read_bytes() == (kept.work / planted.key).read_bytes()
    assert troubles(copy) == []


def test_a_mirror_mends_what_raw_cannot(kept, tmp_path, takes):
    copy = mirror_of(kept, tmp_path / "copy")
    before = facts(kept)
    planted = [
        StoreFault("flipped", place).plant(kept.work)
        for place in ("blob", "manifest", "registry", "reason", "tombstone", "video", "table")
    ]
    for store in (kept.work / "journal").glob("*"):
        store.write_bytes(store.read_bytes()[:-30])
    moved = takes.rename(takes.with_name("away"))
    try:
        assert repair(Store.open(kept.url), copy.url).left == ()
    finally:
        moved.rename(takes)
    assert troubles(kept) == []
    assert facts(kept) == before
    for one in planted:
        assert (kept.work / one.key).read_bytes() == (copy.work / one.key).read_bytes()
    assert mirror(kept, copy).held == ()


@pytest.mark.parametrize("how", ["changed", "ahead"])
def test_what_diverged_is_refused_with_what_differs(kept, tmp_path, how):
    copy = mirror_of(kept, tmp_path / "copy")
    session = facts(copy)[0].session
    if how == "ahead":
        copy.manifests.change(session, "said there", lambda current: current)
    else:
        path = copy.work / f"sessions/{session}/manifest-1.json"
        said = json.loads(path.read_text())
        path.write_text(json.dumps({**said, "why": "another reason"}))
    with pytest.raises(StoreError, match="differs in why" if how == "changed" else "is not in"):
        mirror(kept, Store.open(copy.url))


def test_stores_that_are_no_copies_are_refused(kept, takes, tmp_path):
    other = Store.create(tmp_path / "other")
    ingest(other, takes / "arm.mcap", ANA)
    with pytest.raises(StoreError, match="is no copy"):
        mirror(kept, other)
    with pytest.raises(UsageError):
        mirror(kept, Store.open(kept.url))
    inner = Store.create(kept.work / "inner")
    with pytest.raises(UsageError, match="lies in the other"):
        mirror(kept, inner)


def test_keys_do_not_lead_out_of_the_store(kept, tmp_path):
    (path,) = [p for p in kept.work.glob("sessions/*/manifest-1.json") if "arm.mcap" in p.read_text()]
    said = json.loads(path.read_text())
    said["recordings"][0]["attached"] = [{"key": "sessions/../../../evil", "sha256": "0" * 64, "size": 1}]
    path.write_text(json.dumps(said))
    done = mirror(kept, Store.create(tmp_path / "copy"))
    assert ["no key" in held for held in done.held] == [True]


def test_what_was_erased_at_the_destination_does_not_come_back(kept, tmp_path):
    copy = copy_of(kept.work, tmp_path / "copy")
    erase(copy, plan_subject(copy, "ana", "asked for").order)
    mirror(kept, Store.open(copy.url))
    assert troubles(copy) == []
    assert not any(row.operator == "ana" for row in facts(copy))


def test_the_rate_is_kept(monkeypatch):
    slept = []
    monkeypatch.setattr(time, "sleep", slept.append)
    throttle = Throttle(1000.0)
    throttle.passed(500)
    assert slept[0] == pytest.approx(0.5, abs=0.1)
    Throttle().passed(1 << 40)
    assert len(slept) == 1


def test_a_destination_that_cannot_be_written(kept, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(TwinloopError):
        Store.create(tmp_path / "file")


def test_a_mirror_in_an_object_store(kept, tmp_path):
    there = Store.create(f"memory://mirror-{tmp_path.name}")
    assert mirror(kept, there).held == ()
    assert troubles(there) == []
    assert facts(there) == facts(kept)
    back = Store.create(tmp_path / "back")
    mirror(there, back)
    assert facts(back) == facts(kept)
    assert mirror(kept, Store.open(there.url)).copied == 0


def test_a_mirror_on_s3_is_reached_by_an_erasure(kept, bucket):
    there = Store.create(bucket)
    assert mirror(kept, there).held == ()
    assert facts(there) == facts(kept)
    assert erase(kept, plan_subject(kept, "ana", "asked for").order) == ()
    far = Store.open(there.url)
    assert troubles(far) == []
    assert b"ana slipped" not in b"".join(map(far.objects.get, far.objects.walk("journal")))
