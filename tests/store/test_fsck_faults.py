"""Every fault in every place of a store is named at its key, and the advice mends it."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from care import harms, troubles

from twinloop.store.fsck import Harm
from twinloop.store.mending import repair
from twinloop.store.queries import list_episodes
from twinloop.store.store import Store
from twinloop.testing.store_faults import Mending, StoreFault, change_catalog

DOCUMENTS = ("registry", "reason", "claim", "tombstone")


@pytest.fixture
def store(kept):
    return kept


def test_the_store_is_whole(store):
    assert troubles(store) == []


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        ("flipped", "table"),
        ("missing", "table"),
        ("truncated", "video"),
        ("flipped", "pack"),
        ("missing", "image_stats"),
        ("truncated", "report"),
    ],
)
def test_artefacts_are_made_anew_from_raw_to_the_last_byte(store, whole, place, kind):
    planted = StoreFault(kind, place).plant(store.work)
    assert planted.mending is Mending.RAW
    (trouble,) = troubles(store)
    assert (trouble.harm, trouble.key, trouble.fix) == (
        Harm.DAMAGE,
        planted.key,
        "twinloop store fsck --repair",
    )
    before = episodes(store)
    done = repair(store)
    assert (done.left, [act.key for act in done.mended]) == ((), [planted.key])
    assert (store.work / planted.key).read_bytes() == (whole / planted.key).read_bytes()
    assert episodes(store) == before
    kept = list((store.work / "quarantine" / "damaged").rglob("*")) if kind != "missing" else [1]
    assert kept


def episodes(store):
    return list(list_episodes(Store.open(store.url).catalog))


@pytest.mark.parametrize("kind", ["flipped", "missing"])
def test_blobs_come_back_from_where_they_lay(store, kind):
    planted = StoreFault(kind, "blob").plant(store.work)
    assert planted.mending is Mending.ORIGINAL
    assert harms(store)[planted.key] is Harm.DAMAGE
    assert repair(store).left == ()
    assert harms(store) == {}


def test_a_blob_whose_original_is_gone_stays_as_it_is_and_is_told(store, takes):
    planted = StoreFault("flipped", "blob").plant(store.work)
    damaged = (store.work / planted.key).read_bytes()
    moved = takes.rename(takes.with_name("elsewhere"))
    try:
        (left,) = repair(store).left
        assert (left.key, (store.work / planted.key).read_bytes()) == (planted.key, damaged)
        assert "--from MIRROR" in left.fix
        assert repair(Store.open(store.url), str(moved)).left == ()
    finally:
        moved.rename(takes)


@pytest.mark.parametrize("place", DOCUMENTS)
@pytest.mark.parametrize("kind", ["garbage", "zeroed"])
def test_damaged_documents_give_way(store, place, kind):
    planted = StoreFault(kind, place).plant(store.work)
    assert harms(store)[planted.key] is Harm.DAMAGE
    assert [t for t in repair(store).left if t.harm is not Harm.LEFTOVER] == []
    assert Harm.DAMAGE not in harms(store).values()
    assert list((store.work / "quarantine" / "damaged").rglob("*"))


@pytest.mark.parametrize("kind", ["truncated", "garbage", "missing"])
def test_a_lost_manifest_is_told_and_the_recording_comes_back(store, kind):
    before = {(row.id, row.instruction, row.excluded, row.operator) for row in episodes(store)}
    planted = StoreFault(kind, "manifest").plant(store.work)  # the arm's only one
    assert harms(store)[planted.key] is Harm.DAMAGE
    left = [t for t in repair(Store.open(store.url)).left if t.harm is not Harm.LEFTOVER]
    assert left == []
    after = {(row.id, row.instruction, row.excluded, row.operator) for row in episodes(store)}
    assert after == before


@pytest.mark.parametrize("kind", ["truncated", "missing"])
def test_an_earlier_revision_that_is_lost_is_told_once(store, kind):
    (session,) = {row.session for row in episodes(store) if row.operator == "ana"}
    store.manifests.change(session, "said again", lambda current: current)
    key = f"sessions/{session}/manifest-1.json"
    (store.work / key).unlink() if kind == "missing" else (store.work / key).write_bytes(b"{")
    assert harms(store)[key] is Harm.DAMAGE
    assert repair(store).left == ()
    assert Store.open(store.url).manifests.revisions(session).numbers()[0] == 2


@pytest.mark.parametrize("kind", ["torn_end", "torn_middle", "zeroed"])
def test_a_torn_journal_is_told_once_and_its_bytes_stay(store, kind):
    planted = StoreFault(kind, "journal").plant(store.work)
    torn = (store.work / planted.key).read_bytes()
    assert harms(store)[planted.key] is Harm.DAMAGE
    assert repair(store).left == ()
    assert (store.work / planted.key).read_bytes().startswith(torn)
    later = Store.open(store.url)
    later.edit_episodes([episodes(later)[0].id], exclude="said again")
    assert harms(later) == {}
    assert "said again" in {row.excluded for row in episodes(later)}


def test_a_line_that_was_cut_and_then_written_whole_is_no_damage(store):
    (journal,) = store.work.glob("journal/*")
    line = journal.read_bytes().splitlines(keepends=True)[-1]
    journal.write_bytes(journal.read_bytes() + line[:40] + b"\n" + line)
    assert harms(store) == {} or set(harms(store).values()) == {Harm.STALE}


@pytest.mark.parametrize(
    ("table", "how"),
    [
        ("sessions", "emptied"),
        ("sessions", "changed"),
        ("recordings", "changed"),
        ("streams", "emptied"),
        ("episodes", "changed"),
        ("journal", "changed"),
        ("facts", "changed"),
    ],
)
def test_a_changed_catalog_is_stale_and_made_anew(store, table, how):
    before = rows(store)
    change_catalog(store.work, table, how)
    assert Harm.STALE in {t.harm for t in troubles(store)} or how == "emptied"
    Store.open(store.url).catalog.rebuild()
    assert troubles(store) == []
    assert rows(store) == before


def rows(store):
    from twinloop.store.catalog import tables

    with Store.open(store.url).catalog.reading() as connection:
        return {
            table.name: sorted(map(str, connection.execute(sa.select(table)).fetchall()))
            for table in tables.TABLES.sorted_tables
        }


def test_a_wholly_lost_session_is_told_by_what_people_said_of_it(store):
    import shutil

    (session,) = {row.session for row in episodes(store) if row.operator == "ana"}
    shutil.rmtree(store.work / "sessions" / session)
    Store.open(store.url).catalog.rebuild()  # which forgets it
    damage = [t for t in troubles(store) if t.harm is Harm.DAMAGE]
    assert [t.key.partition("/")[0] for t in damage] == ["journal"]
