"""Every planted corruption is found, at its key; a whole store has none."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from twinloop.store.catalog import tables
from twinloop.store.fsck import Harm, Trouble, check_store
from twinloop.store.ingest import ingest
from twinloop.store.queries import list_episodes, list_sessions
from twinloop.store.store import Store


@pytest.fixture
def filled(store, recording) -> Store:
    outcome = ingest(store, recording)
    episodes = [row.id for row in list_episodes(store.catalog, session=outcome.session)]
    store.edit_episodes(episodes, exclude="for a test")
    store.edit_episodes(episodes, include=True)
    return store


def files(store: Store, pattern: str):
    return sorted(path for path in store.work.glob(pattern) if path.is_file())


def flip(path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


def found(store: Store) -> list[Trouble]:
    return list(check_store(Store.open(store.work)))


def test_a_whole_store_has_no_trouble(filled):
    assert found(filled) == []


@pytest.mark.parametrize(
    "pattern", ["blobs/*/*", "sessions/*/streams/*/*", "sessions/*/media/*/*", "sessions/*/reports/*/*"]
)
def test_a_flipped_bit_is_found(filled, pattern):
    victim = files(filled, pattern)[0]
    flip(victim)
    (trouble,) = [t for t in found(filled) if t.harm is Harm.DAMAGE]
    assert trouble.key == victim.relative_to(filled.work).as_posix()
    assert trouble.fix


@pytest.mark.parametrize("pattern", ["blobs/*/*", "sessions/*/streams/*/*", "sessions/*/media/*/*"])
@pytest.mark.parametrize("how", ["missing", "truncated"])
def test_missing_and_truncated_files_are_found(filled, pattern, how):
    victim = files(filled, pattern)[-1]
    if how == "missing":
        victim.unlink()
    else:
        victim.write_bytes(victim.read_bytes()[:-5])
    assert [t.key for t in found(filled)] == [victim.relative_to(filled.work).as_posix()]


def test_a_damaged_manifest_and_files_without_manifest_are_found(filled):
    (manifest,) = files(filled, "sessions/*/manifest-*.json")
    manifest.write_bytes(manifest.read_bytes()[:100])
    troubles = found(filled)
    assert manifest.relative_to(filled.work).as_posix() in {t.key for t in troubles if t.harm is Harm.DAMAGE}
    assert {t.harm for t in troubles if "/streams/" in t.key} == {Harm.LEFTOVER}


def test_a_file_that_no_manifest_names_is_found(filled):
    beside = files(filled, "sessions/*/streams/*/*")[0].with_name("stray.parquet")
    beside.write_bytes(b"x")
    (trouble,) = found(filled)
    assert (trouble.harm, trouble.key) == (Harm.LEFTOVER, beside.relative_to(filled.work).as_posix())


def test_a_torn_journal_line_is_found_and_the_others_hold(filled):
    (journal,) = files(filled, "journal/*.jsonl")
    journal.write_bytes(journal.read_bytes()[:-20])
    torn = [t for t in found(filled) if t.key.startswith("journal/")]
    assert len(torn) == 1
    assert "byte" in torn[0].what
    store = Store.open(filled.work)
    store.catalog.rebuild()
    assert {episode.excluded for episode in store.session("last").session.episodes} == {"for a test"}


def test_a_stale_catalog_is_found_and_made_anew(filled):
    engine = sa.create_engine(f"sqlite:///{filled.work / 'catalog.sqlite'}")
    with engine.begin() as connection:
        connection.execute(tables.episodes.delete())
    (trouble,) = found(filled)
    assert trouble.harm is Harm.STALE
    store = Store.open(filled.work)
    store.catalog.rebuild()
    assert store.catalog.stale() == []
    assert found(filled) == []


def test_a_catalog_that_is_gone_comes_back_equal(filled):
    before = list_sessions(filled.catalog), list_episodes(filled.catalog)
    for path in files(filled, "catalog.sqlite*"):
        path.unlink()
    store = Store.open(filled.work)
    assert (list_sessions(store.catalog), list_episodes(store.catalog)) == before
