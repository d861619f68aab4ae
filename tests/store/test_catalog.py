"""The catalog is a cache: of the right schema, up to date, equal when made anew, never in the way."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from twinloop.store.catalog import tables
from twinloop.store.catalog.database import upgrade
from twinloop.store.ingest import ingest
from twinloop.store.queries import list_episodes, list_sessions
from twinloop.store.sessions import join_sessions
from twinloop.store.store import Store
from twinloop.testing.synthetic import SessionSpec, record_session


@pytest.fixture
def two(store, recording, tmp_path):
    other = tmp_path / "other.mcap"
    record_session(other, SessionSpec(seed=8, duration_s=2.0, cameras=(), episodes=1))
    return [ingest(store, path).session for path in (recording, other)]


def contents(store):
    with store.catalog.reading() as connection:
        return {
            table.name: connection.execute(sa.select(table).order_by(*table.primary_key.columns)).fetchall()
            for table in tables.TABLES.sorted_tables
        }


def test_the_migrations_make_the_tables_that_the_code_asks():
    engine = sa.create_engine("sqlite://", poolclass=sa.pool.StaticPool)
    with engine.begin() as connection:
        upgrade(connection)
        wanted = sa.MetaData()
        for table in tables.TABLES.sorted_tables:
            table.to_metadata(wanted)
        indexes = ("add_index", "remove_index")
        changes = compare_metadata(MigrationContext.configure(connection), wanted)
        assert [c for c in changes if c[0] not in indexes and "alembic" not in str(c)] == []
        assert connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar() == tables.SCHEMA


@pytest.mark.usefixtures("catalog_url")
def test_what_others_commit_is_seen_and_equals_a_new_catalog(store, two):
    other = Store.open(store.work)
    episodes = [row.id for row in list_episodes(other.catalog)]
    command = other.edit_episodes(episodes[:1], exclude="blurred")[0].command
    other.edit_episodes(episodes, instruction="again")
    other.undo(command)
    join_sessions(other, two[0], [two[1]])
    other.registry.state("tasks", "pick", {"goal": "cube in ring"})
    store.catalog.sync()
    seen = contents(store)
    assert [row.id for row in list_sessions(store.catalog)] == [two[0]]
    store.catalog.rebuild()
    assert contents(store) == seen
    assert not store.catalog.stale()


@pytest.mark.usefixtures("catalog_url")
def test_a_damaged_manifest_hides_its_session_alone(store, two):
    (store.work / f"sessions/{two[1]}/manifest-1.json").write_bytes(b"{")
    store.catalog.rebuild()
    assert [row.id for row in list_sessions(store.catalog)] == [two[0]]
    assert "manifest" in str(store.catalog.problems[0])


def test_a_file_that_is_no_database_is_made_anew(store, two):
    before = contents(store)
    for path in store.work.glob("catalog.sqlite*"):
        path.unlink()
    (store.work / "catalog.sqlite").write_bytes(b"no database at all" * 1000)
    assert contents(Store.open(store.work)) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="changing to a user without rights needs root")
def test_a_reader_without_rights_to_write_has_a_catalog_in_memory(store, two):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        root = Path(shutil.copytree(store.work, Path(folder) / "store"))
        child = os.fork()
        if not child:
            rows = []
            os.setuid(65534)
            try:
                rows = list_sessions(Store.open(root).catalog)
            finally:
                os._exit(0 if [row.id for row in rows] == two else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
