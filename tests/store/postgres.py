"""A PostgreSQL server for the tests, and catalogs in it.

The server starts with the first test that asks, lives in a folder of its own, listens on a socket there and
dies with the process that started it. A test that wants the catalog in either database uses `catalog_url`.
With TWINLOOP_TEST_CATALOG=postgresql, every test of the store has it in PostgreSQL.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

EVERYWHERE = "TWINLOOP_TEST_CATALOG"
#: The one role that the server asks for a password; a test makes it.
WITH_PASSWORD = "guarded"
_SET_PARENT_DEATH_SIGNAL = 1
_SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "60",
    "shared_buffers": "16MB",
}


class Server:
    """A PostgreSQL server of this process. Its superuser is `postgres`; it listens on a socket only."""

    def __init__(self, binaries: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="twinloop-postgres-"))
        self.folder.chmod(0o755)  # tests give up rights too
        self._user = _user()
        if self._user:
            os.chown(self.folder, self._user.pw_uid, self._user.pw_gid)
        data = self.folder / "data"
        options = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]
        made = subprocess.run(
            [binaries / "initdb", "-D", data, *options],
            preexec_fn=self._become_user,
            capture_output=True,
            text=True,
            check=False,
        )
        assert made.returncode == 0, made.stderr
        access = data / "pg_hba.conf"
        access.write_text(f"local all {WITH_PASSWORD} scram-sha-256\n{access.read_text()}")
        settings = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [binaries / "postgres", "-D", data, "-k", self.folder, *settings],
                preexec_fn=self._become_user,
                stdout=log,
                stderr=log,
            )
        self._wait()

    def _become_user(self) -> None:
        """In the child: give up root, which PostgreSQL refuses, and end when this process ends."""
        if self._user:
            os.setgroups([])
            os.setgid(self._user.pw_gid)
            os.setuid(self._user.pw_uid)
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGQUIT)

    def _wait(self) -> None:
        import psycopg

        while True:
            try:
                psycopg.connect(self.dsn("postgres")).close()
                return
            except psycopg.OperationalError:
                assert self._process.poll() is None, (self.folder / "log").read_text()
                time.sleep(0.02)

    def dsn(self, database: str) -> str:
        """What psycopg connects to."""
        return f"host={self.folder} user=postgres dbname={database}"

    def url(self, database: str, user: str = "postgres") -> str:
        """The URL of a catalog in a database."""
        return f"postgresql://{user}@/{database}?host={self.folder}"

    def run(self, statement: str, database: str = "postgres") -> list[tuple]:
        """Run one statement as superuser; its rows."""
        import psycopg

        with psycopg.connect(self.dsn(database), autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def stop(self) -> None:
        """End the server at once; what it holds goes."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def _user() -> pwd.struct_passwd | None:
    """Whom the server runs as where this process is root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise AssertionError("there is no user to run PostgreSQL as")


def _binaries() -> Path | None:
    """The folder of PostgreSQL's programs. Debian keeps them, by version, out of the PATH."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: path.parts[4].zfill(3))
    return versions[-1].parent if versions else None


@pytest.fixture(scope="session")
def postgres():
    """The server of this test process."""
    binaries = _binaries()
    if binaries is None:
        reason = "PostgreSQL is not installed (scripts/postgres.sh installs Debian's)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    pytest.importorskip("psycopg")
    server = Server(binaries)
    yield server
    server.stop()


@pytest.fixture
def postgres_url(postgres):
    """The URL of a catalog in a new database."""
    database = f"test_{secrets.token_hex(4)}"
    postgres.run(f"CREATE DATABASE {database}")
    yield postgres.url(database)
    postgres.run(f"DROP DATABASE {database} WITH (FORCE)")


@pytest.fixture
def postgres_catalog(postgres_url, monkeypatch):
    """Stores that are opened in this test have their catalogs in one new PostgreSQL database."""
    monkeypatch.setenv("TWINLOOP_CATALOG", postgres_url)
    return postgres_url


@pytest.fixture(params=["sqlite", "postgresql"])
def catalog_url(request):
    """Runs a test twice: with catalogs beside the stores, and with catalogs in PostgreSQL; None or the URL."""
    return request.getfixturevalue("postgres_catalog") if request.param == "postgresql" else None


@pytest.fixture(autouse=True)
def _catalog_everywhere(request):
    of_store = request.path.parent == Path(__file__).parent
    if of_store and os.environ.get(EVERYWHERE) == "postgresql" and "catalog_url" not in request.fixturenames:
        request.getfixturevalue("postgres_catalog")
