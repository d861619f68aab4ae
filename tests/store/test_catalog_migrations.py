"""The schema goes up and down over a catalog with data, in either database."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from twinloop.core.errors import StoreError
from twinloop.store.catalog import tables
from twinloop.store.catalog.database import downgrade, upgrade
from twinloop.store.ingest import ingest
from twinloop.store.store import Store
from twinloop.testing.synthetic import SessionSpec, record_session

pytestmark = pytest.mark.usefixtures("catalog_url")


@pytest.fixture
def filled(store, tmp_path):
    record_session(tmp_path / "take.mcap", SessionSpec(seed=3, duration_s=2.0, cameras=(), imu_hz=0))
    ingest(store, tmp_path / "take.mcap")
    store.registry.state("tasks", "pick", {"goal": "cube"})
    (episode, *_) = store.session("last").session.episodes
    store.edit_episodes([episode.id], exclude="blurred")
    return store


def contents(connection):
    return {
        table.name: connection.execute(sa.select(table).order_by(*table.primary_key.columns)).fetchall()
        for table in tables.TABLES.sorted_tables
    }


def shape(connection):
    """Every column's type, key and index of the schema."""
    found = sa.inspect(connection)
    return {
        table: (
            [(column["name"], str(column["type"]), column["nullable"]) for column in found.get_columns(table)],
            found.get_pk_constraint(table)["constrained_columns"],
            sorted((index["name"], index["column_names"]) for index in found.get_indexes(table)),
        )
        for table in found.get_table_names()
    }


def test_up_keeps_what_is_there_and_down_is_filled_again(filled):
    with filled.catalog.reading() as connection:
        before, made = contents(connection), shape(connection)
    assert all(before[name] for name in ("sessions", "recordings", "streams", "episodes", "journal", "facts"))
    with filled.catalog._database.writing() as connection:
        downgrade(connection, "0001")
        first = shape(connection)
    assert first != made
    with filled.catalog._database.writing() as connection:
        downgrade(connection, "base")
        upgrade(connection, "0001")
        assert shape(connection) == first

    fresh = Store.open(filled.work)
    with fresh.catalog.reading() as connection:
        assert (contents(connection), shape(connection)) == (before, made)
    assert fresh.catalog.stale() == []


def test_a_new_catalog_is_what_the_migrations_make(filled):
    with filled.catalog._database.writing() as connection:
        made = shape(connection)
        downgrade(connection, "base")
        upgrade(connection)
        for table, wanted in made.items():
            assert shape(connection)[table] == wanted


def test_rows_of_the_first_schema_live_on_in_the_next(filled):
    with filled.catalog.reading() as connection:
        before = contents(connection)
    with filled.catalog._database.writing() as connection:
        downgrade(connection, "0001")
        for name in ("sessions", "recordings", "streams", "episodes", "findings", "journal"):
            table = tables.TABLES.tables[name]
            if before[name]:
                connection.execute(table.insert(), [row._asdict() for row in before[name]])
        upgrade(connection)
        after = contents(connection)
        for name in ("sessions", "recordings", "streams", "episodes", "findings", "journal"):
            assert after[name] == before[name]
    assert Store.open(filled.work).catalog.stale() == []


def test_a_catalog_of_a_later_version_is_left_alone(filled):
    with filled.catalog._database.writing() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
        before = contents(connection)
    with pytest.raises(StoreError, match=r"later version.*9999.*\n.*\n.*\n.*update twinloop"):
        _ = Store.open(filled.work).catalog
    with filled.catalog.reading() as connection:
        assert contents(connection) == before
