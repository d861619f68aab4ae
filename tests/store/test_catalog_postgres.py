"""A catalog in PostgreSQL: several stores in one database, refusals that are told, connections that break."""

from __future__ import annotations

import shutil
import sys

import pytest
from postgres import WITH_PASSWORD

from twinloop.core.errors import MissingExtraError, StoreError, UsageError
from twinloop.store.catalog.database import Database
from twinloop.store.catalog.place import LATE_ID
from twinloop.store.edits import EPISODE
from twinloop.store.ingest import ingest
from twinloop.store.queries import list_episodes, list_sessions
from twinloop.store.store import Store
from twinloop.testing.synthetic import SessionSpec, record_session


@pytest.fixture(scope="module")
def take(tmp_path_factory):
    path = tmp_path_factory.mktemp("takes") / "take.mcap"
    record_session(path, SessionSpec(seed=3, duration_s=2.0, cameras=(), imu_hz=0))
    return path


def sessions(store):
    return [row.id for row in list_sessions(Store.open(store.work).catalog)]


def schemas(postgres, url):
    found = postgres.run("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'twinloop%'", database(url))
    return {name for (name,) in found}


def database(url):
    return url.split("?")[0].rpartition("/")[2]


def test_stores_that_share_a_database_keep_apart(postgres, postgres_url, tmp_path, take):
    one, two = (Store.create(tmp_path / name, postgres_url) for name in ("one", "two"))
    session = ingest(one, take).session
    assert (sessions(one), sessions(two)) == ([session], [])
    assert schemas(postgres, postgres_url) == {f"twinloop_{each.settings['id'].lower()}" for each in (one, two)}
    assert not list(one.work.glob("catalog.sqlite*"))
    assert "public" not in {
        schema
        for (schema,) in postgres.run(
            "SELECT DISTINCT schemaname FROM pg_tables WHERE schemaname NOT LIKE 'pg_%'", database(postgres_url)
        )
    }


def test_a_store_without_an_id_gets_one_that_stays(postgres, postgres_url, tmp_path, monkeypatch, take):
    old = tmp_path / "old"
    old.mkdir()
    (old / "store.toml").write_text("format = 1\n")
    session = ingest(Store.open(old), take).session
    monkeypatch.setenv("TWINLOOP_CATALOG", postgres_url)
    for _ in range(2):
        assert sessions(Store.open(old)) == [session]
    moved = Store.open(shutil.move(old, tmp_path / "moved"))
    assert sessions(moved) == [session]
    assert schemas(postgres, postgres_url) == {f"twinloop_{moved.objects.get(LATE_ID).decode().lower()}"}


def test_an_id_that_names_no_schema_is_refused(postgres_catalog, tmp_path):
    store = Store.create(tmp_path / "store")
    (store.work / "store.toml").write_text('format = 1\nid = "a\\"; DROP SCHEMA x"\n')
    with pytest.raises(StoreError, match="letters, digits"):
        _ = Store.open(store.work).catalog


def test_init_with_a_catalog_that_does_not_work_makes_no_store(postgres, postgres_url, tmp_path):
    with pytest.raises(StoreError, match="does not exist"):
        Store.create(tmp_path / "store", postgres.url("nowhere"))
    store = Store.create(tmp_path / "store", postgres_url)
    assert Store.create(store.work).settings["catalog"] == postgres_url
    with pytest.raises(UsageError, match="another catalog"):
        Store.create(store.work, "postgresql://elsewhere/db")


@pytest.mark.parametrize(
    "url, said",
    [
        ("postgresql://user:s3cret@localhost:1/db", "refused"),
        ("postgresql://user@localhost:1/db?password=s3cret", "refused"),
        ("postgres://user:s3cret@no-such-host.invalid/db", "no-such-host"),
        ("postgresql://user:s3cret@localhost:port/db", "is of no database"),
        ("postgresql://user:s3cret@localhost/db?sslmode=perhaps&connect_timeout=2", "sslmode"),
        ("mysql://user:s3cret@localhost/db", "no database that can hold one: mysql"),
        ("s3cret", "is of no database"),
    ],
)
def test_what_is_wrong_with_a_url_is_told_without_its_password(tmp_path, monkeypatch, url, said):
    pytest.importorskip("psycopg")
    monkeypatch.setenv("TWINLOOP_CATALOG", url)
    with pytest.raises(StoreError) as caught:
        _ = Store.create(tmp_path / "store").catalog
    assert said in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert caught.value.fix


def test_wrong_passwords_missing_databases_and_rights_are_told(postgres, postgres_url, tmp_path, monkeypatch):
    postgres.run(f"CREATE ROLE {WITH_PASSWORD} LOGIN PASSWORD 'right'")
    postgres.run("CREATE ROLE poor LOGIN")
    guarded = postgres.url(database(postgres_url), WITH_PASSWORD)
    for url, said in (
        (guarded.replace("@", ":wr0ng@", 1), "password authentication failed"),
        (postgres.url("nowhere"), "does not exist"),
        (postgres.url(database(postgres_url), "poor"), "permission denied"),
    ):
        monkeypatch.setenv("TWINLOOP_CATALOG", url)
        with pytest.raises(StoreError, match=said) as caught:
            _ = Store.create(tmp_path / "store").catalog
        assert "wr0ng" not in str(caught.value)
    postgres.run(f"GRANT CREATE ON DATABASE {database(postgres_url)} TO {WITH_PASSWORD}")
    monkeypatch.setenv("TWINLOOP_CATALOG", guarded.replace("@", ":right@", 1))
    assert sessions(Store.create(tmp_path / "store")) == []


def test_a_database_of_another_encoding_is_refused(postgres, tmp_path):
    postgres.run("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(StoreError, match=r"LATIN1(.*\n)*.*createdb --encoding UTF8"):
        Store.create(tmp_path / "store", postgres.url("latin"))
    postgres.run("DROP DATABASE latin WITH (FORCE)")


def test_a_missing_driver_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match="psycopg"):
        Database("postgresql://localhost/db", "twinloop_x")


def break_connections(postgres, url):
    postgres.run(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database(url)}'")


def test_a_connection_that_is_lost_between_commands_is_made_anew(postgres, postgres_catalog, store, take):
    session = ingest(store, take).session
    break_connections(postgres, postgres_catalog)
    store.catalog.sync()
    break_connections(postgres, postgres_catalog)
    assert [row.id for row in list_sessions(store.catalog)] == [session]


def test_a_connection_that_is_lost_in_a_sync_is_made_anew_once(postgres, postgres_catalog, store, take):
    ingest(store, take)
    first = list_episodes(store.catalog)[0].id
    write, left = store.catalog._write, [1]

    def cut_off(connection, news):
        write(connection, news)
        if left[0]:
            left[0] -= 1
            break_connections(postgres, postgres_catalog)

    store.catalog._write = cut_off
    store.journal.append(EPISODE, [first], {"excluded": "blurred"})
    store.catalog.sync()
    assert [row.excluded for row in list_episodes(store.catalog, ids=[first])] == ["blurred"]

    left[0] = 2
    store.journal.append(EPISODE, [first], {"excluded": None})
    with pytest.raises(StoreError, match="terminat"):
        store.catalog.sync()
    assert left == [0]
    store.catalog.sync()
    assert [row.excluded for row in list_episodes(store.catalog, ids=[first])] == [None]
    assert store.catalog.stale() == []


def test_no_transaction_is_open_while_the_store_is_read(postgres, postgres_catalog, store, take):
    open_now = (
        "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
        f" AND datname = '{database(postgres_catalog)}' AND xact_start IS NOT NULL"
    )
    seen = []

    def watched(read):
        def watching(*args):
            seen.append(postgres.run(open_now)[0][0])
            return read(*args)

        return watching

    ingest(store, take)
    store.journal.append(EPISODE, [list_episodes(store.catalog)[0].id], {"excluded": "blurred"})
    for part, name in (
        (store.objects, "get"),
        (store.objects, "open"),
        (store.objects, "listing"),
        (store.manifests, "latest_revisions"),
    ):
        setattr(part, name, watched(getattr(part, name)))
    store.catalog.sync()
    store.catalog.rebuild()
    assert store.catalog.stale() == []
    assert len(seen) > 10
    assert not any(seen)
