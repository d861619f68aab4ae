"""`kill -9` between any two requests to S3 loses nothing and leaves nothing half-made."""

from __future__ import annotations

import subprocess
import sys

import pytest

from twinloop.store.fsck import Harm, check_store
from twinloop.store.ingest import Status, ingest
from twinloop.store.queries import list_sessions
from twinloop.store.staging import leftovers
from twinloop.store.store import Store
from twinloop.testing.faulty_proxy import Fault, FaultyProxy
from twinloop.testing.synthetic import SessionSpec, record_session

TAKE_IN = """
import sys
from pathlib import Path
from twinloop.store.ingest import ingest_at
from twinloop.store.sources import IngestOptions
ingest_at(sys.argv[1], IngestOptions(), False, Path(sys.argv[2]))
"""


def take_in_and_die(proxy: FaultyProxy, url: str, recording, dies_at) -> bool:
    """Take in, in a process that is killed at the first request that `dies_at` chooses; whether one came."""
    child = subprocess.Popen([sys.executable, "-c", TAKE_IN, url, str(recording)], start_new_session=True)

    def choose(request) -> Fault | None:
        if not dies_at(request):
            return None
        child.kill()
        child.wait()
        return Fault(lose_answer_at=0)  # the request had left; the server acts on it

    proxy.choose = choose
    killed = child.wait() != 0
    proxy.choose = lambda _: None
    return killed


def is_commit(request) -> bool:
    return request.method == "PUT" and "/manifest-" in request.target


def is_last_artefact(request) -> bool:
    return request.method == "PUT" and "/reports/" in request.target


@pytest.fixture
def proxy(bucket, s3_server, monkeypatch):
    with FaultyProxy(*s3_server) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        yield proxy


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    path = tmp_path_factory.mktemp("short") / "arm.mcap"
    record_session(path, SessionSpec(seed=2, duration_s=2.0, cameras=(), imu_hz=0))
    return path


def judge(url: str, recording) -> None:
    """After a kill nothing is damaged, and the same command makes the recording one, and whole."""
    assert {t.harm for t in check_store(Store.open(url), quick=True)} <= {Harm.LEFTOVER}
    assert ingest(Store.open(url), recording).status in (Status.STORED, Status.PRESENT)
    store = Store.open(url)
    (row,) = list_sessions(store.catalog)
    with store.session(row.id) as session:
        assert all(len(session.read(name)) for name in session.streams)
    assert not leftovers(store.work)
    assert {t.harm for t in check_store(store)} <= {Harm.LEFTOVER}


@pytest.mark.parametrize(("dies_at", "sessions"), [(is_last_artefact, 0), (is_commit, 1)])
def test_a_kill_before_and_at_the_commit(proxy, bucket, short, dies_at, sessions):
    store = Store.create(f"{bucket}/store")
    assert take_in_and_die(proxy, store.url, short, dies_at)
    assert len(list_sessions(store.catalog)) == sessions
    judge(store.url, short)


def test_a_kill_at_any_request(proxy, bucket, short, pytestconfig):
    if not pytestconfig.getoption("--heavy"):
        pytest.skip("forty kills: with --heavy")
    store = Store.create(f"{bucket}/store")
    for number in range(1, 41):
        last = len(proxy.requests) + number
        killed = take_in_and_die(proxy, store.url, short, lambda _, last=last: len(proxy.requests) > last)
        assert killed or list_sessions(Store.open(store.url).catalog)
        if number % 8 == 0:
            judge(store.url, short)
            store = Store.create(f"{bucket}/store-{number}")
