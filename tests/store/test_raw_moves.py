"""Raw files kept by reference: moved, copied later, gone."""

from __future__ import annotations

import shutil

import pytest

from twinloop.core.errors import StoreError
from twinloop.store.fsck import check_store
from twinloop.store.ingest import Status, ingest
from twinloop.store.sources import IngestOptions

pytestmark = pytest.mark.every_store


@pytest.fixture
def elsewhere(recording, tmp_path):
    return shutil.copy(recording, tmp_path / "elsewhere.mcap")


def test_a_referenced_file_that_moved_is_found_again(store, elsewhere, tmp_path):
    options = IngestOptions(raw="reference")
    session = ingest(store, tmp_path / "elsewhere.mcap", options).session
    (tmp_path / "elsewhere.mcap").rename(tmp_path / "moved.mcap")
    assert ["gone" in trouble.what for trouble in check_store(store)] == [True]
    again = ingest(store, tmp_path / "moved.mcap", options)
    assert again.status is Status.PRESENT
    assert "new place" in again.message
    (file,) = store.session(session).manifest.recordings[0].files
    assert file.url == str(tmp_path / "moved.mcap")
    assert not list(check_store(store))


def test_a_referenced_recording_is_copied_when_asked(store, elsewhere, tmp_path):
    session = ingest(store, tmp_path / "elsewhere.mcap", IngestOptions(raw="reference")).session
    again = ingest(store, tmp_path / "elsewhere.mcap", IngestOptions(raw="copy"))
    assert again.status is Status.PRESENT
    (tmp_path / "elsewhere.mcap").unlink()
    entry = store.session(session).manifest.recordings[0]
    assert entry.raw == "copy"
    assert not list(check_store(store))


def test_video_of_a_folder_is_pointed_to_and_moves_with_its_raw_file(store, test_data, tmp_path):
    source = test_data / "caliscope-multicam/tests/sessions/post_optimization/calibration/extrinsic"
    shutil.copytree(source, tmp_path / "cameras")
    outcome = ingest(store, tmp_path / "cameras", IngestOptions(raw="reference"))
    assert outcome.status is Status.STORED
    with store.session(outcome.session) as session:
        cameras = [stream for stream in session.streams.values() if stream.segments]
        assert cameras
        assert not any(entry.media for entry in session.manifest.recordings[0].streams)
        assert all(s.file.startswith(str(tmp_path / "cameras")) for c in cameras for s in c.segments)
    ingest(store, tmp_path / "cameras", IngestOptions(raw="copy"))
    shutil.rmtree(tmp_path / "cameras")
    with store.session(outcome.session) as session:
        places = [segment.file for stream in session.streams.values() for segment in stream.segments]
        assert places
        assert all(place.startswith(str(store.objects.place("blobs"))) for place in places)
    assert not list(check_store(store))


def test_a_referenced_file_that_is_gone_is_named(store, elsewhere, tmp_path):
    from twinloop.store.places import Places

    ingest(store, tmp_path / "elsewhere.mcap", IngestOptions(raw="reference"))
    (tmp_path / "elsewhere.mcap").unlink()
    with pytest.raises(StoreError, match=r"elsewhere\.mcap is gone"):
        Places(store.objects).find(str(tmp_path / "elsewhere.mcap"))
