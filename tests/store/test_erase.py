"""What is erased is gone from every place and every mirror, stays out, and nothing else goes with it."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from care import ANA, facts, harms, mirror_of, troubles

from twinloop.core.errors import UnknownNameError, UsageError
from twinloop.core.session import SessionFacts
from twinloop.store.catalog.catalog import Catalog
from twinloop.store.catalog.database import local_catalog_url
from twinloop.store.erase.erase import erase, is_interrupted, resume
from twinloop.store.erase.order import is_done, order_ids
from twinloop.store.erase.plan import plan_session, plan_subject
from twinloop.store.erase.snapshots import is_withdrawn
from twinloop.store.fsck import Harm
from twinloop.store.ingest import Status, ingest
from twinloop.store.local_objects import LocalObjects
from twinloop.store.mirror.mirror import mirror
from twinloop.store.mirror.remembered import forget
from twinloop.store.sessions import join_sessions, split_session
from twinloop.store.sources import IngestOptions
from twinloop.store.store import Store


def holding(folder: Path, *texts: str) -> list[str]:
    """The files of a folder whose bytes or names hold any of the texts."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    names = {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
    return [name for name, data in names.items() if any(t.encode() in data or t in name for t in texts)]


def session_of(store: Store, operator: str) -> str:
    (session,) = {row.session for row in facts(store) if row.operator == operator} or {
        id for id in store.manifests.sessions() if store.manifests.latest(id).facts.operator == operator
    }
    return session


def test_a_person_goes_from_everywhere(kept, tmp_path, takes):
    copy = mirror_of(kept, tmp_path / "copy")
    words = ("ana ", '"ana"', "operators/ana", "arm.mcap")
    assert len(holding(kept.work, *words)) >= 4
    plan = plan_subject(kept, "ana", "asked for")
    assert [(going.name, going.episodes, going.others) for going in plan.going] == [("arm.mcap", 2, 0)]
    session = session_of(kept, "ana")
    assert erase(kept, plan.order) == ()
    for store in (kept, copy):
        assert holding(store.work, *words) == []
        assert troubles(store) == []
        assert {row.operator for row in facts(store)} == {"ben"}
        assert [p.name for p in (store.work / "sessions" / session).iterdir()] == ["manifest-2.json"]
        outcome = ingest(store, takes / "arm.mcap", ANA)
        assert (outcome.session, outcome.exit_code) == (None, 3)
        assert "asked for" in outcome.message
    assert erase(kept, plan.order) == ()
    assert mirror(kept, copy).held == ()
    assert troubles(copy) == []


def test_only_the_session_that_was_named_goes(kept):
    before = facts(kept)
    session = session_of(kept, "ana")
    erase(kept, plan_session(kept, session, "asked for").order)
    assert facts(kept) == [row for row in before if row.session != session]
    assert holding(kept.work, "operators/ana")  # the person stays known


@pytest.mark.parametrize("text", ["", "  "])
def test_a_reason_is_needed_and_people_must_be_known(kept, text):
    with pytest.raises(UsageError, match="reason"):
        plan_subject(kept, "ana", text)
    with pytest.raises(UnknownNameError):
        plan_subject(kept, "nobody", "asked for")


def test_the_subject_of_a_consent(kept):
    kept.registry.state("consents", "form-7", {"subject": "cleo", "signed": "2026-01-01"})
    session = session_of(kept, "ben")
    kept.manifests.change(
        session, "consent", lambda m: replace(m, facts=replace(m.facts, operator=None, consent="form-7"))
    )
    plan = plan_subject(kept, "cleo", "asked for")
    assert plan.order.sessions == (session,)
    erase(kept, plan.order)
    assert holding(kept.work, "cleo", "form-7") == []
    assert troubles(kept) == []


def test_an_operator_of_some_recordings_of_a_session(kept):
    """Their recordings go, and the earlier revisions that spoke of them; the others' stay."""
    ana, ben = session_of(kept, "ana"), session_of(kept, "ben")
    join_sessions(kept, ben, [ana])
    before = holding(kept.work, "opaque.mcap")
    copy = mirror_of(kept, kept.work.parent / "copy")
    plan = plan_subject(kept, "ana", "asked for")
    assert (plan.order.sessions, plan.order.parts[0].session) == ((ana,), ben)
    assert erase(kept, plan.order) == ()
    for store in (kept, copy):
        assert holding(store.work, "arm.mcap", '"ana"', "ana ") == []
        assert set(holding(store.work, "opaque.mcap")) & set(before)
        assert troubles(store) == []
        assert store.manifests.latest(ben).recordings[0].name == "opaque.mcap"
    assert mirror(kept, Store.open(copy.url)).held == ()


def test_raw_bytes_that_another_session_holds_stay(kept):
    ana = session_of(kept, "ana")
    first, second = kept.manifests.latest(ana).episodes
    other = split_session(kept, ana, at_ns=(first.end_ns + second.start_ns) // 2).session
    plan = plan_session(kept, ana, "asked for")
    assert (len(plan.shared), plan.order.files, plan.order.recordings) == (1, (), ())
    erase(kept, plan.order)
    assert [row.id for row in facts(kept) if row.session in (ana, other)] == [second.id]
    assert troubles(kept) == []
    assert Store.open(kept.url).session(other).read("/follower/joint_states").num_rows > 0
    erase(kept, plan_session(kept, other, "asked for").order)
    assert holding(kept.work, "arm.mcap", "ana ") == []
    assert troubles(kept) == []


def test_snapshots_are_withdrawn(kept):
    ana = session_of(kept, "ana")
    kept.objects.put("snapshots/train@1.json", json.dumps({"sessions": [ana]}).encode())
    kept.objects.put("snapshots/other@1.json", json.dumps({"sessions": []}).encode())
    erase(kept, plan_session(kept, ana, "asked for").order)
    assert is_withdrawn(kept.objects, "snapshots/train@1.json")
    assert not is_withdrawn(kept.objects, "snapshots/other@1.json")


def test_a_mirror_out_of_reach_is_waited_for(kept, tmp_path):
    copy = mirror_of(kept, tmp_path / "copy")
    away = copy.work.rename(tmp_path / "away")
    order = plan_subject(kept, "ana", "asked for").order
    (pending,) = erase(kept, order)
    assert (pending.erasure, pending.mirror) == (order.id, copy.url)
    (trouble,) = troubles(kept)
    assert (trouble.harm, trouble.fix) == (Harm.DAMAGE, "twinloop erase --resume")
    away.rename(copy.work)
    assert resume(Store.open(kept.url)) == ()
    assert holding(copy.work, "arm.mcap", '"ana"') == []
    assert troubles(kept) == troubles(copy) == []


def test_a_mirror_that_is_gone_for_good_can_be_forgotten(kept, tmp_path):
    copy = mirror_of(kept, tmp_path / "copy")
    copy.work.rename(tmp_path / "away")
    assert erase(kept, plan_subject(kept, "ana", "asked for").order)
    forget(kept.objects, copy.url)
    assert resume(kept) == ()
    assert troubles(kept) == []


def test_mirrors_of_mirrors_are_reached(kept, tmp_path):
    copy = mirror_of(kept, tmp_path / "copy")
    far = mirror_of(copy, tmp_path / "far")
    assert erase(kept, plan_subject(kept, "ana", "asked for").order) == ()
    assert holding(far.work, "arm.mcap", '"ana"') == []
    assert troubles(far) == []


def test_stores_that_are_mirrors_of_each_other_know_that_all_are_reached(kept, tmp_path):
    copy = mirror_of(kept, tmp_path / "copy")
    far = mirror_of(copy, tmp_path / "far")
    for source, target in ((copy, kept), (far, copy), (far, kept)):
        mirror(source, target)
    assert erase(kept, plan_subject(kept, "ana", "asked for").order) == ()
    for store in (kept, copy, far):
        assert resume(store) == ()
        assert troubles(store) == []


def test_what_comes_back_by_hand_is_found_and_goes_again(kept, whole):
    ana = session_of(kept, "ana")
    erase(kept, plan_session(kept, ana, "asked for").order)
    blob = next(
        p.relative_to(whole) for p in whole.glob("blobs/*/*") if not (kept.work / p.relative_to(whole)).exists()
    )
    manifest = Path("sessions") / ana / "manifest-1.json"
    for name in (blob, manifest):
        (kept.work / name).parent.mkdir(parents=True, exist_ok=True)
        (kept.work / name).write_bytes((whole / name).read_bytes())
    assert set(harms(kept).values()) == {Harm.DAMAGE}
    assert resume(Store.open(kept.url)) == ()
    assert troubles(kept) == []


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_an_erasure_that_dies_is_told_and_finished(kept, tmp_path, monkeypatch, part):
    copy = mirror_of(kept, tmp_path / "copy")
    order = plan_subject(kept, "ana", "asked for").order
    budget = 0

    class Dead(BaseException):
        """As by kill -9."""

    def counted(name, mortal):
        step = getattr(LocalObjects, name)

        def write(self, *args, **options):
            nonlocal budget
            if mortal and budget == 0:
                raise Dead
            budget += -1 if mortal else 1
            return step(self, *args, **options)

        return write

    writes = ("put", "put_file", "append", "delete", "overwrite")
    rehearsal = Store.open(subprocess_copy(kept.work, tmp_path / "rehearsal"))
    with monkeypatch.context() as patch:
        for name in writes:
            patch.setattr(LocalObjects, name, counted(name, mortal=False))
        erase(rehearsal, order)
    budget = int(budget * part)
    with monkeypatch.context() as patch:
        for name in writes:
            patch.setattr(LocalObjects, name, counted(name, mortal=True))
        with pytest.raises(Dead):
            erase(kept, order)
    assert Harm.DAMAGE in harms(kept).values()
    assert is_interrupted(kept, order.sessions[0][-8:].lower())
    assert resume(Store.open(kept.url)) == ()
    assert not is_interrupted(kept, order.sessions[0])
    for store in (kept, copy):
        assert troubles(store) == []
        assert holding(store.work, "arm.mcap", '"ana"', "ana ") == []
    assert all(is_done(kept.objects, id) for id in order_ids(kept.objects))


def subprocess_copy(source: Path, target: Path) -> Path:
    subprocess.run(["cp", "-r", str(source), str(target)], check=True)
    for path in (target / "mirrors").glob("*/*"):
        path.unlink()
    return target


def test_a_new_recording_for_an_erased_session_goes_to_a_new_one(kept, takes, tmp_path):
    ana = session_of(kept, "ana")
    erase(kept, plan_session(kept, ana, "asked for").order)
    path = tmp_path / "run.csv"
    path.write_text("time_s,x\n" + "".join(f"{k / 100},{k}\n" for k in range(50)))
    outcome = ingest(Store.open(kept.url), path, IngestOptions(facts=SessionFacts(), session=ana))
    assert outcome.status is Status.FAILED
    assert ingest(Store.open(kept.url), path).status is Status.STORED


def test_the_catalog_of_another_machine_forgets(kept, tmp_path):
    other = Catalog(local_catalog_url(tmp_path), kept.objects, kept.manifests, kept.journal, kept.registry)
    (episode, *_) = kept.session(session_of(kept, "ana")).session.episodes
    kept.edit_episodes([episode.id], exclude="ana stumbled")
    other.open()
    assert holding(tmp_path, "ana stumbled")
    assert erase(kept, plan_subject(kept, "ana", "asked for").order) == ()
    other.sync()
    assert other.stale() == []
    del other
    assert holding(tmp_path, "ana stumbled", '"ana"') == []
