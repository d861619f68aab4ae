"""The same content is one recording, however often and by however many it is taken in."""

from __future__ import annotations

import os
import shutil

import pytest

from twinloop.core.errors import TwinloopError
from twinloop.core.session import SessionFacts
from twinloop.store.fsck import check_store
from twinloop.store.ingest import Status, ingest
from twinloop.store.queries import list_sessions
from twinloop.store.sources import IngestOptions
from twinloop.store.store import Store
from twinloop.testing.synthetic import SessionSpec, record_session


def test_two_processes_at_once_make_one_recording(store, recording):
    children = []
    for _ in range(2):
        child = os.fork()
        if not child:
            outcome = ingest(Store.open(store.work), recording)
            os._exit({Status.STORED: 10, Status.PRESENT: 11}.get(outcome.status, 1))
        children.append(child)
    codes = sorted(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)
    assert codes == [10, 11]
    assert len(list_sessions(store.catalog)) == 1
    assert list(check_store(store)) == []


@pytest.mark.every_store
def test_a_copy_under_another_name_is_present(store, recording, tmp_path):
    first = ingest(store, recording)
    copy = tmp_path / "other.bin"
    shutil.copy(recording, copy)
    second = ingest(store, copy)
    assert (first.status, second.status) == (Status.STORED, Status.PRESENT)
    assert second.session == first.session


@pytest.mark.every_store
def test_a_later_recording_joins_its_session(store, recording, tmp_path):
    first = ingest(store, recording, IngestOptions(facts=SessionFacts(task="pick", operator="ana")))
    late = tmp_path / "late.mcap"
    record_session(late, SessionSpec(seed=9, duration_s=2.0, cameras=()))
    second = ingest(store, late, IngestOptions(session=first.session[-8:], facts=SessionFacts(operator="bo")))
    assert second.session == first.session
    session = store.session("last")
    assert len(session.session.recordings) == 2
    assert session.session.facts.operator == "ana"
    assert {episode.facts.operator for episode in session.session.episodes} == {None, "bo"}


@pytest.mark.every_store
def test_raw_files_by_reference_stay_where_they_are(store, recording, tmp_path):
    own = tmp_path / "own.mcap"
    shutil.copy(recording, own)
    outcome = ingest(store, own, IngestOptions(raw="reference"))
    assert outcome.status is Status.STORED
    assert not list(store.objects.walk("blobs"))
    assert list(check_store(store)) == []
    own.write_bytes(own.read_bytes()[:-1] + b"x")
    (trouble,) = check_store(store)
    assert trouble.key == str(own)


@pytest.mark.every_store
def test_an_erased_recording_is_refused(store, recording):
    from twinloop.store.blobs import hash_file
    from twinloop.store.tombstones import FOLDER

    stone = b'{"hash":"%s","at":"2026-01-01","by":"ana","reason":"asked for"}' % hash_file(recording).encode()
    store.objects.put(f"{FOLDER}/{hash_file(recording)}.json", stone)
    outcome = ingest(store, recording)
    assert outcome.status is Status.REFUSED
    assert "asked for" in outcome.message
    assert outcome.exit_code == 3
    assert not list_sessions(store.catalog)


def test_a_dry_run_changes_nothing(store, recording):
    before = {path for path in store.work.rglob("*") if path.is_file()}
    outcome = ingest(store, recording, dry_run=True)
    assert outcome.status is Status.PLANNED
    assert outcome.episodes == 1
    assert {path for path in store.work.rglob("*") if path.is_file()} == before


def test_session_toml_states_what_options_do(store, recording, tmp_path):
    folder = tmp_path / "with-facts"
    folder.mkdir()
    shutil.copy(recording, folder)
    (folder / "session.toml").write_text('task = "stack"\noutcome = "success"\n[meta]\ntable = "oak"\n')
    ingest(store, folder / recording.name)
    session = store.session("last").session
    assert session.facts.task == "stack"
    assert session.facts.meta == {"table": "oak"}
    assert session.episodes[0].outcome.value == "success"
    (folder / "session.toml").write_text('taks = "stack"\n')
    bad = ingest(store, folder / recording.name)
    assert "did you mean task" in bad.message
    assert bad.exit_code == 2


@pytest.mark.every_store
def test_ids_may_be_shortened_and_wrong_ones_say_so(store, recording):
    ingest(store, recording)
    with pytest.raises(TwinloopError, match="no session 'ZZZ'"):
        store.session("ZZZ")
