"""The database behind a catalog: SQLite in a file of its own, or PostgreSQL with a schema for each store.

Everything that a database can refuse leaves here as a `StoreError` that names the place, never a password.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, OperationalError
from sqlalchemy.pool import StaticPool

from twinloop.core.errors import MissingExtraError, StoreError
from twinloop.store.catalog import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from alembic.config import Config
    from sqlalchemy.engine import Connection, Engine

#: Seconds that a writer waits for its turn, and a connection for its server.
_BUSY_S = 60
_CONNECT_S = 10
_WITHOUT_FILE = "sqlite://"


#: Alembic's own table.
_VERSION = sa.Table("alembic_version", sa.MetaData(), sa.Column("version_num", sa.String(32), primary_key=True))


class LostConnectionError(StoreError):
    """The server closed the connection; what was not committed did not happen, and may be tried again."""


class ConflictError(StoreError):
    """Rows contradict each other, as when the store changed while it was being read."""


class Database:
    """Where one catalog lies.

    Args:
        url: ``sqlite:///...`` (``sqlite://`` is in memory) or ``postgresql://user@host/database``.
        schema: the PostgreSQL schema of the store, so that stores share a database.

    Raises:
        StoreError: the URL is of no such place. MissingExtraError: there is no driver for PostgreSQL.
    """

    def __init__(self, url: str, schema: str = "") -> None:
        self._url = _parsed(url)
        self._schema = schema
        self._engine = _sqlite(self._url) if self._is_sqlite else _postgresql(self._url, schema)

    @property
    def _is_sqlite(self) -> bool:
        return self._url.get_backend_name() == "sqlite"

    def prepare(self) -> None:
        """Make the tables, or bring them to this version's schema.

        Raises:
            StoreError: a later version made them, or the database refuses.
        """
        with self.reading() as connection:
            if _version(connection) == tables.SCHEMA:
                return
        with self.writing() as connection:
            self._check_encoding(connection)
            if (version := _version(connection)) == tables.SCHEMA:
                return
            if version is not None and version not in _revisions():
                raise StoreError(
                    f"a later version of twinloop made the catalog (schema {version})",
                    where=self.place,
                    expected=f"at most schema {tables.SCHEMA}",
                    fix="update twinloop",
                )
            if version is None:
                self._make_schema(connection)
                create(connection)
            else:
                upgrade(connection)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection for queries."""
        with self._telling(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that one process at a time has; it is committed when the block ends well."""
        with self.turn() as transaction, transaction() as connection:
            yield connection

    @contextmanager
    def turn(self) -> Iterator[Callable[[], AbstractContextManager[Connection]]]:
        """No other process writes until the block ends; the transaction is what it gives to open.

        The lock is of a kind that PostgreSQL keeps without a transaction. SQLite, which has one process's
        writes at a time, has no such lock: there the transaction is open all the while.
        """
        with self._telling(), self._engine.connect() as connection:
            if self._is_sqlite:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                yield lambda: nullcontext(connection)
                connection.commit()
                return
            key = sa.func.hashtextextended(self._schema, 0)
            try:
                connection.execute(sa.select(sa.func.pg_advisory_lock(key)))
                connection.commit()
                yield partial(_transaction, connection)
                connection.execute(sa.select(sa.func.pg_advisory_unlock(key)))
                connection.commit()
            except BaseException:
                connection.invalidate()  # the lock ends with the connection
                raise

    def let_go(self) -> None:
        """Write over what deleted rows leave: SQLite keeps them in free pages and its log until it is told."""
        if self._is_sqlite:
            with self.reading() as connection:
                connection.exec_driver_sql("VACUUM")
                connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")

    def give_way(self, error: StoreError) -> bool:
        """Whether the catalog can go on elsewhere after an error: always with SQLite, which is quick to fill.

        A file that is damaged is removed; one that may not be written gives way to one in memory.
        """
        cause = error.__cause__
        if not self._is_sqlite or not isinstance(cause, DBAPIError) or "locked" in str(cause.orig):
            return False
        self._engine.dispose()
        if isinstance(cause, OperationalError):
            self._engine = _sqlite(make_url(_WITHOUT_FILE))
        else:
            for suffix in ("", "-wal", "-shm"):
                Path((self._url.database or "") + suffix).unlink(missing_ok=True)
        return True

    @property
    def place(self) -> str:
        """Where it lies, for people: the URL without what is secret."""
        shown = self._url.set(drivername=self._url.get_backend_name(), password=None, query={})
        return shown.render_as_string()

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except IntegrityError as error:
            raise ConflictError(self._what(error), where=self.place) from error
        except DBAPIError as error:
            kind = LostConnectionError if error.connection_invalidated else StoreError
            raise kind(self._what(error), where=self.place, fix=self._fix()) from error

    def _what(self, error: DBAPIError) -> str:
        said = " ".join(str(error.orig).split())
        for secret in (self._url.password, *self._url.normalized_query.get("password", ())):
            said = said.replace(secret, "***") if secret else said
        return f"the catalog cannot be used: {said}"

    def _fix(self) -> str:
        if self._is_sqlite:
            return "check the disk; `twinloop store rebuild` makes the catalog anew"
        return "check the server, and the URL in TWINLOOP_CATALOG or `catalog` in store.toml"

    def _check_encoding(self, connection: Connection) -> None:
        if self._is_sqlite:
            return
        encoding = connection.exec_driver_sql("SHOW server_encoding").scalar()
        if encoding != "UTF8":
            raise StoreError(
                f"the catalog's database is in {encoding}, which cannot hold every name",
                where=self.place,
                expected="a database in UTF8",
                fix=f"createdb --encoding UTF8 --template template0 {self._url.database}",
            )

    def _make_schema(self, connection: Connection) -> None:
        if not self._is_sqlite and not sa.inspect(connection).has_schema(self._schema):
            connection.execute(sa.schema.CreateSchema(self._schema))


def create(connection: Connection) -> None:
    """Make all tables of this version, as the migrations would, without reading them."""
    tables.TABLES.create_all(connection)
    _VERSION.create(connection)
    connection.execute(_VERSION.insert(), {"version_num": tables.SCHEMA})


def upgrade(connection: Connection, revision: str = "head") -> None:
    """Bring the tables behind a connection up to a migration."""
    from alembic import command

    command.upgrade(_migrations(connection), revision)


def downgrade(connection: Connection, revision: str) -> None:
    """Bring the tables behind a connection down to a migration."""
    from alembic import command

    command.downgrade(_migrations(connection), revision)


def local_catalog_url(folder: Path) -> str:
    """The URL of the SQLite catalog in a folder."""
    return URL.create("sqlite", database=str(folder / "catalog.sqlite")).render_as_string()


def _parsed(url: str) -> URL:
    try:
        parsed = make_url(url)
        backend = parsed.get_backend_name()
    except (ArgumentError, ValueError):  # whose text may hold the password
        parsed, backend = None, ""
    if parsed is not None and backend == "sqlite":
        return parsed
    if parsed is not None and backend in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    raise StoreError(
        f"the catalog's URL is of no database that can hold one{f': {backend}' if backend else ''}",
        expected="sqlite:////path/to/catalog.sqlite or postgresql://user@host/database",
        fix="check TWINLOOP_CATALOG, or `catalog` in store.toml",
    )


def _sqlite(url: URL) -> Engine:
    if not url.database:
        return sa.create_engine(url, poolclass=StaticPool)
    engine = sa.create_engine(url, connect_args={"timeout": _BUSY_S})

    @sa.event.listens_for(engine, "connect")
    def _tune(connection: object, _: object) -> None:
        cursor = connection.cursor()  # type: ignore[attr-defined]
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=NORMAL")
        cursor.close()

    return engine


def _postgresql(url: URL, schema: str) -> Engine:
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise MissingExtraError("psycopg", "postgres", "a catalog on PostgreSQL") from None
    timeout = {} if "connect_timeout" in url.query else {"connect_timeout": _CONNECT_S}
    engine = sa.create_engine(url, pool_pre_ping=True, connect_args={"application_name": "twinloop", **timeout})

    @sa.event.listens_for(engine, "connect", insert=True)
    def _enter_schema(connection: object, _: object) -> None:
        connection.autocommit = True  # type: ignore[attr-defined]
        connection.execute(f'SET search_path TO "{schema}"')  # type: ignore[attr-defined]
        connection.execute(f"SET lock_timeout TO '{_BUSY_S}s'")  # type: ignore[attr-defined]
        connection.autocommit = False  # type: ignore[attr-defined]

    return engine


@contextmanager
def _transaction(connection: Connection) -> Iterator[Connection]:
    with connection.begin():
        yield connection


def _version(connection: Connection) -> str | None:
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(sa.select(_VERSION)).scalar()


def _migrations(connection: Connection | None = None) -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    config.attributes["connection"] = connection
    return config


def _revisions() -> set[str]:
    from alembic.script import ScriptDirectory

    scripts = ScriptDirectory.from_config(_migrations())
    return {script.revision for script in scripts.walk_revisions()}
