"""A store on S3 is a store: taken in, read, edited, checked; by several machines at once."""

from __future__ import annotations

import re
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from twinloop.cli.main import main
from twinloop.core.errors import StoreError, UnreachableError, UsageError
from twinloop.core.ids import new_ulid
from twinloop.core.session import Outcome, SessionFacts
from twinloop.store.fsck import Harm, check_store
from twinloop.store.ingest import Status, ingest
from twinloop.store.locations import locate
from twinloop.store.manifest import Manifest
from twinloop.store.queries import list_episodes, list_sessions
from twinloop.store.sources import IngestOptions
from twinloop.store.store import Store
from twinloop.testing.faulty_proxy import FaultyProxy
from twinloop.testing.synthetic import SessionSpec, record_session


@pytest.fixture
def proxy(bucket, s3_server, monkeypatch):
    """Counts the requests to the bucket."""
    with FaultyProxy(*s3_server) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        yield proxy


@pytest.fixture
def filled(bucket, recording) -> Store:
    store = Store.create(f"{bucket}/lab/store")
    assert ingest(store, recording, IngestOptions(facts=SessionFacts(task="pick"))).status is Status.STORED
    return store


@pytest.fixture
def hosts(bucket, tmp_path, monkeypatch) -> list[Store]:
    """The same store, seen from two machines: each has a cache and locks of its own."""
    Store.create(f"{bucket}/store")
    seen = []
    for host in "ab":
        monkeypatch.setenv("TWINLOOP_CACHE", str(tmp_path / host))
        seen.append(Store.open(f"{bucket}/store"))
    return seen


def contents(store: Store) -> dict[str, object]:
    with store.session("last") as session:
        return {name: session.read(name) for name in session.streams}


def test_it_holds_what_a_store_in_a_folder_holds(filled, recording, tmp_path):
    local = Store.create(tmp_path / "local")
    ingest(local, recording)
    assert contents(filled) == contents(local)
    with filled.session("last") as session:
        episode = session.session.episodes[0]
    filled.edit_episodes([episode.id], outcome=Outcome.SUCCESS)
    again = Store.open(filled.url)
    (row,) = list_episodes(again.catalog)
    assert (row.outcome, row.task) == ("success", "pick")
    assert list(check_store(again)) == []
    assert ingest(again, recording).status is Status.PRESENT


def test_the_cache_is_no_part_of_it(filled, tmp_path, monkeypatch):
    before = contents(filled), list_sessions(filled.catalog)
    monkeypatch.setenv("TWINLOOP_CACHE", str(tmp_path / "elsewhere"))
    other = Store.open(filled.url)
    assert (contents(other), list_sessions(other.catalog)) == before


def test_opening_a_session_takes_three_requests_at_most(filled, proxy):
    session = list_sessions(filled.catalog)[0].id
    store = Store.open(filled.url)
    assert store.catalog
    before = len(proxy.requests)
    store.session(session)
    assert len(proxy.requests) - before <= 3


def test_what_changed_is_found_without_a_request_for_each_session(filled, proxy):
    for _ in range(30):
        filled.manifests.commit(Manifest(new_ulid()), "for a test")
    store = Store.open(filled.url)
    store.catalog.sync()
    before = len(proxy.requests)
    store.catalog.sync()
    assert len(proxy.requests) - before <= 4


def test_files_are_fetched_when_they_are_read(filled, tmp_path, monkeypatch):
    monkeypatch.setenv("TWINLOOP_CACHE", str(tmp_path / "empty"))
    store = Store.open(filled.url)

    def fetched() -> set[str]:
        return {path.name for path in store.objects.place("").rglob("*") if path.is_file()}

    with store.session("last") as session:
        camera = next(stream for stream in session.streams.values() if stream.segments)
        assert session.files
        assert session.size_bytes > 0
        assert fetched() == set()
        session.read(camera.name)
        assert {name.rpartition(".")[2] for name in fetched()} == {"parquet"}
        segment = camera.segments[0]
        assert segment.file.rpartition("/")[2] in fetched()


def test_two_machines_take_in_one_recording_at_once(hosts, recording):
    """Threads for machines: what holds them apart on one machine, locks of files, is apart here too."""
    with ThreadPoolExecutor(2) as at_once:
        outcomes = list(at_once.map(lambda host: ingest(host, recording), hosts))
    assert {outcome.session for outcome in outcomes} == {outcomes[0].session}
    assert {outcome.status for outcome in outcomes} <= {Status.STORED, Status.PRESENT}
    assert [outcome.status for outcome in outcomes].count(Status.STORED) == 1
    for host in hosts:
        host.catalog.sync()
        (row,) = list_sessions(host.catalog)
        assert len(host.session(row.id).manifest.recordings) == 1
        assert [t for t in check_store(host) if t.harm is not Harm.LEFTOVER] == []


def test_two_machines_with_two_sessions_in_mind_agree_on_one(hosts, recording, tmp_path):
    sessions = []
    for seed, host in enumerate(hosts):
        record_session(tmp_path / f"{seed}.mcap", SessionSpec(seed=30 + seed, duration_s=2.0, cameras=()))
        sessions.append(ingest(host, tmp_path / f"{seed}.mcap").session)
    with ThreadPoolExecutor(2) as at_once:
        outcomes = list(
            at_once.map(lambda host, to: ingest(host, recording, IngestOptions(session=to)), hosts, sessions)
        )
    assert {outcome.session for outcome in outcomes} < set(sessions)
    held = [entry.hash for id in sessions for entry in hosts[0].manifests.latest(id).recordings]
    assert len(held) == len(set(held)) == 3


def test_a_session_that_another_machine_has_just_taken_in_is_found(hosts, recording):
    assert list_sessions(hosts[1].catalog) == []
    session = ingest(hosts[0], recording).session
    assert hosts[1].session(session).session.id == session


def test_machines_at_one_journal_lose_nothing(hosts, recording):
    ingest(hosts[0], recording)
    (episode,) = list_episodes(hosts[0].catalog)

    def exclude(number):
        hosts[number % 2].journal.append("episode", [episode.id], {"excluded": str(number)})

    with ThreadPoolExecutor(4) as people:
        list(people.map(exclude, range(8)))
    for host in hosts:
        assert {entry.data["excluded"] for entry in host.journal.entries()} == set("01234567")
        host.catalog.sync()
        assert host.catalog.stale() == []


def test_a_bucket_that_is_used_anew_has_a_new_catalog(filled):
    for key in list(filled.objects.walk("")):
        filled.objects.delete(key)
    again = Store.create(filled.url)
    assert list_sessions(again.catalog) == []
    assert again.catalog.stale() == []


def test_what_cannot_be_a_store_is_told(bucket, monkeypatch):
    with pytest.raises(StoreError, match="there is no store"):
        Store.open(f"{bucket}/nothing")
    locate(bucket).objects.put("other/data.bin", b"x")
    with pytest.raises(UsageError, match="something already"):
        Store.create(bucket)
    assert Store.create(f"{bucket}/store").url == f"{bucket}/store"
    with pytest.raises(UnreachableError, match="no such bucket"):
        Store.create("s3://bucket-that-is-not-there/x")


class Heedless(FaultyProxy):
    """An S3 that knows no conditions."""

    def _forward(self, client, head, body, fault):
        super()._forward(client, re.sub(rb"(?i)\r\nif-none-match:[^\r]*", b"", head), body, fault)


def test_a_server_without_conditional_writes_is_refused(bucket, s3_server, monkeypatch):
    with Heedless(*s3_server) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        with pytest.raises(StoreError, match="writes over"):
            Store.create(f"{bucket}/store")


def test_the_verbs_take_its_url(bucket, recording, monkeypatch, capsys):
    def run(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["twinloop", *words])
        with pytest.raises(SystemExit) as ended:
            main()
            raise SystemExit(0)
        assert not ended.value.code
        return capsys.readouterr().out

    url = f"{bucket}/store"
    assert url in run("init", url)
    assert f"--store {url}" in run("ingest", "--store", url, str(recording))
    assert "short.mcap" in run("show", "--store", url, "last")
    assert "whole" in run("store", "fsck", "--store", url)
    assert f"{url}/sessions/" in run("check", "--store", url, "--fail-on", "never", "last")
