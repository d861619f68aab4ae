"""Lines that drop, servers that are busy or slow: a command retries, or fails clean and the next finishes."""

from __future__ import annotations

import hashlib
from datetime import timedelta

import pytest

from twinloop.core.errors import UnreachableError
from twinloop.store import locations, remote_objects
from twinloop.store.fsck import Harm, check_store
from twinloop.store.ingest import Status, ingest
from twinloop.store.locations import locate
from twinloop.store.queries import list_sessions
from twinloop.store.store import Store
from twinloop.testing.faulty_proxy import Fault, FaultyProxy
from twinloop.testing.synthetic import SessionSpec, record_session

BUSY = Fault(busy=True)
REQUEST_LOST = Fault(lose_request_at=0)
REQUEST_TORN = Fault(lose_request_at=100)
ANSWER_LOST = Fault(lose_answer_at=0)
ANSWER_TORN = Fault(lose_answer_at=150)
SLOW = Fault(delay_s=0.6)  # longer than the client waits
FAULTS = [BUSY, REQUEST_LOST, REQUEST_TORN, ANSWER_LOST, ANSWER_TORN, SLOW]


@pytest.fixture
def proxy(bucket, s3_server, monkeypatch):
    """Between the store and S3; a client that waits half a second, and not long between its attempts."""
    monkeypatch.setenv("AWS_TIMEOUT", "500ms")
    monkeypatch.setattr(remote_objects, "PAUSE_S", 0.01)
    quick = {"init_backoff": timedelta(milliseconds=5), "max_backoff": timedelta(milliseconds=20), "base": 2}
    monkeypatch.setattr(locations, "RETRIES", {**locations.RETRIES, "backoff": quick, "max_retries": 3})
    with FaultyProxy(*s3_server) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        yield proxy


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """The shortest of recordings."""
    path = tmp_path_factory.mktemp("short") / "arm.mcap"
    record_session(path, SessionSpec(seed=2, duration_s=2.0, cameras=(), imu_hz=0))
    return path


def is_put(request):
    return request.method == "PUT"


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_put_that_meets_a_fault_knows_whether_it_won(proxy, bucket, fault):
    objects = locate(f"{bucket}/x").objects
    proxy.plan(fault, times=2, of=is_put)
    assert objects.put("mine", b"a" * 500)
    assert proxy.planned == 0
    proxy.plan(fault, of=is_put)
    assert not objects.put("mine", b"b" * 500)
    assert objects.get("mine") == b"a" * 500


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_what_is_read_through_a_fault_is_whole(proxy, bucket, fault, monkeypatch):
    monkeypatch.setattr(remote_objects, "PART_BYTES", 200_000)
    objects = locate(f"{bucket}/x").objects
    content = hashlib.shake_128(b"seed").digest(500_000)
    objects.put("large", content)
    for read in (objects.get, lambda key: objects.open(key).read(), lambda key: objects.path(key).read_bytes()):
        proxy.plan(fault, times=2)
        assert read("large") == content
    proxy.plan(fault)
    assert list(objects.listing("")) == [("large", 500_000)]
    proxy.plan(fault)
    assert objects.size("large") == 500_000
    proxy.plan(fault)
    objects.delete("large")
    assert not objects.exists("large")


@pytest.mark.parametrize("fault", [BUSY, Fault(lose_request_at=1_000_000), ANSWER_LOST], ids=str)
def test_an_upload_in_parts_goes_on_after_a_fault(proxy, bucket, fault, tmp_path, monkeypatch):
    monkeypatch.setattr(remote_objects, "PART_BYTES", 5 << 20)
    monkeypatch.setenv("AWS_TIMEOUT", "10s")
    objects = locate(f"{bucket}/x").objects
    content = hashlib.shake_128(b"seed").digest(11 << 20)
    (tmp_path / "large").write_bytes(content)
    for number, of in enumerate(
        (
            lambda request: "uploads" in request.target,
            lambda request: "partNumber=2" in request.target,
            lambda request: request.method == "POST" and "uploadId" in request.target,
        )
    ):
        proxy.plan(fault, of=of)
        assert objects.put_file(f"large-{number}", tmp_path / "large", keep=True)
        assert proxy.planned == 0
        assert objects.digest(f"large-{number}") == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("faults", [(BUSY, ANSWER_LOST), (REQUEST_TORN, ANSWER_TORN)], ids=["busy", "torn"])
def test_a_recording_goes_in_through_faults_again_and_again(proxy, bucket, short, faults):
    proxy.choose = lambda _: faults[len(proxy.requests) % 2] if len(proxy.requests) % 3 == 0 else None
    store = Store.create(f"{bucket}/store")
    outcome = ingest(store, short)
    assert (outcome.status, outcome.message) == (Status.STORED, "")
    assert list(check_store(store)) == []


def test_a_line_that_dies_fails_clean_and_the_same_command_finishes(
    proxy, bucket, short, monkeypatch, pytestconfig
):
    monkeypatch.setattr(remote_objects, "TRIES", 2)
    monkeypatch.setattr(locations, "RETRIES", {**locations.RETRIES, "max_retries": 1})
    before = len(proxy.requests)
    assert ingest(Store.create(f"{bucket}/counted"), short).status is Status.STORED
    needed = len(proxy.requests) - before
    store = Store.create(f"{bucket}/store")
    deaths = range(2, needed, 1 if pytestconfig.getoption("--heavy") else needed // 5)
    for number, dies_at in enumerate(deaths):
        last = len(proxy.requests) + dies_at
        fault = (BUSY, REQUEST_LOST, ANSWER_LOST)[number % 3]
        proxy.choose = lambda _, last=last, fault=fault: fault if len(proxy.requests) > last else None
        outcome = failure(lambda: ingest(Store.open(store.url), short))
        proxy.choose = lambda _: None
        if outcome:
            assert "object store does not answer" in outcome
            assert f"{store.url}/" in outcome
        after = Store.open(store.url)
        assert [t for t in check_store(after, quick=True) if t.harm is not Harm.LEFTOVER] == []
        assert len(list_sessions(after.catalog)) <= 1
    outcome = ingest(Store.open(store.url), short)
    assert outcome.status in (Status.STORED, Status.PRESENT)
    after = Store.open(store.url)
    (row,) = list_sessions(after.catalog)
    with after.session(row.id) as session:
        assert sum(len(session.read(name)) for name in session.streams)
    assert [t for t in check_store(after) if t.harm is not Harm.LEFTOVER] == []


def failure(take_in) -> str | None:
    """What is told of a command that failed; None for one that did not."""
    try:
        outcome = take_in()
    except UnreachableError as error:
        return str(error)
    assert outcome.exit_code == (3 if outcome.status is Status.FAILED else 0)
    return outcome.message if outcome.status is Status.FAILED else None


def test_a_server_that_is_not_there_is_told(bucket, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setattr(locations, "RETRIES", {**locations.RETRIES, "max_retries": 1})
    with pytest.raises(UnreachableError, match="does not answer") as told:
        Store.open(f"{bucket}/store")
    assert "AWS_ENDPOINT_URL" in str(told.value)
    assert len(str(told.value)) < 700


def test_a_closed_door_is_told(proxy, bucket, monkeypatch):
    store = Store.create(f"{bucket}/store")
    proxy.plan(Fault(refused=True), times=1)
    with pytest.raises(UnreachableError, match="refuses access") as told:
        store.objects.put("x", b"y")
    assert "AWS_ACCESS_KEY_ID" in str(told.value)
