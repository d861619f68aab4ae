"""What was exported reads back through the LeRobot reader as it was; a store's session exports whole."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from export_lab import START_NS, DatasetView, at_rate, number_of

from twinloop.core.session import Episode
from twinloop.deliver.lerobot.export import export_lerobot
from twinloop.deliver.lerobot.options import ExportOptions
from twinloop.deliver.rows import CameraClock
from twinloop.deliver.source import ExportSource
from twinloop.deliver.stored import stored_sources
from twinloop.formats.mapping.propose import propose
from twinloop.formats.reader import open_recording
from twinloop.formats.video.decode import decode_images
from twinloop.store.ingest import ingest
from twinloop.store.sources import IngestOptions
from twinloop.store.store import Store
from twinloop.testing.faults import DroppedSamples
from twinloop.testing.synthetic import WRIST, SessionSpec, record_session

TOP = "observation.images.top"


def test_the_lerobot_reader_gives_values_images_and_tasks_back(lab):
    times = at_rate(60, 30.0)
    joints = at_rate(300, 100.0, START_NS - 50_000_000)
    middle = START_NS + 10**9 - 1
    source = lab.source(
        {"top": lab.camera([lab.video("t.mp4", 60)], times)},
        {"state": lab.joints(joints), "action": lab.joints(joints + 3_000_000)},
        spans=[(START_NS, middle), (middle, START_NS + 3 * 10**9)],
    )
    second = replace(source.episodes[1], instruction="put it down")
    source = replace(source, episodes=(source.episodes[0], second))
    export_lerobot([source], lab.folder / "out", ExportOptions(CameraClock("top")))

    with open_recording(lab.folder / "out") as back:
        assert back.format == "lerobot"
        assert not back.notes
        assert [episode.instruction for episode in back.episodes] == ["pick the cube", "put it down"]
        assert [episode.outcome for episode in back.episodes] == ["success", "success"]
        view = DatasetView(lab.folder / "out")
        for name in ("observation.state", "action"):
            table = back.read(name)
            assert np.array(table["position"].to_pylist()).astype(np.float32).tolist() == (
                view.column(name).astype(np.float32).tolist()
            )
            assert table["name"][0].as_py() == ["a", "b"]
        images = back.read(TOP)
        assert images.num_rows == 60
        stream = back.streams[TOP]
        numbers = [0] * 60
        for row, picture in decode_images(stream.segments[0], np.asarray(images["pts"])):
            numbers[row] = number_of(picture)
        assert numbers == [k % 26 for k in range(60)]


def test_a_dataset_with_made_up_times_says_so(test_data):
    """The real G1 set: its stamps are frame / fps; its AV1 is remuxed, three of its videos are there."""
    recording = open_recording(test_data / "lerobot-v21-unitree-g1")
    episodes = tuple(
        Episode(f"E{span.index}", span.index, span.start_ns, span.end_ns, instruction=span.instruction)
        for span in recording.episodes
    )
    source = ExportSource("G1", recording, propose(recording), episodes)
    account = export_lerobot([source], None, ExportOptions(CameraClock("cam_high")))
    assert account.cameras["observation.images.cam_high"].remuxed == 3
    assert len(account.left_out) == 97
    assert any("not measured" in warning for warning in account.warnings)
    assert account.largest_true_minus_grid_ms < 1e-3


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Store:
    """A store of one synthetic session, in which images of the wrist camera are missing."""
    folder = tmp_path_factory.mktemp("store")
    faults = (DroppedSamples(WRIST, 1.8, 0.6),)
    record_session(folder / "a.mcap", SessionSpec(seed=3, duration_s=6.0, episodes=2, faults=faults))
    store = Store.create(folder / "store")
    outcome = ingest(store, folder / "a.mcap", IngestOptions())
    assert outcome.session is not None
    return store


def test_a_stored_session_exports_with_its_true_times(store, tmp_path):
    (source,) = stored_sources(store)
    account = export_lerobot([source], tmp_path / "out", ExportOptions(CameraClock("scene")))
    view = DatasetView(tmp_path / "out")
    assert view.info["total_episodes"] == 2
    stored = store.session(source.session)
    scene = stored.mapping.features
    stream = next(f.stream for f in scene if f.name == "observation.images.scene")
    true = np.asarray(stored.read(stream)["stamp_ns"])
    inside = np.zeros(len(true), bool)
    for episode in stored.session.episodes:
        inside |= (true >= episode.start_ns) & (true < episode.end_ns)
    rows = view.rows["row_ns"].to_pylist()
    assert set(rows) <= set(true[inside].tolist())
    assert len(rows) >= inside.sum() - 2  # the first may come before a sample of every feature
    assert account.cameras["observation.images.scene"].reasons == {"mjpeg": 2}
    wrist = account.cameras["observation.images.wrist"]
    assert wrist.largest_before_row_ms > 500  # the images that are missing
    assert len(view.images("observation.images.scene", 1)) == view.episodes[1]["length"]
    assert account.sources == {source.session: list(stored.session.recordings)}
    facts = json.loads((tmp_path / "out/twinloop/facts.json").read_text())["sessions"][source.session]
    assert len(facts["camera_info"]["/scene/camera_info"]["k"]) == 9
    assert facts["recordings"] == list(stored.session.recordings)


def test_jpegs_of_a_store_are_remuxed_when_kept(store, tmp_path):
    sources = stored_sources(store)
    options = ExportOptions(CameraClock("scene"), keep_mjpeg=True)
    account = export_lerobot(sources, tmp_path / "out", options)
    assert account.cameras["observation.images.scene"].remuxed == 2
    view = DatasetView(tmp_path / "out")
    # Statistics of remuxed images are those that were taken at ingest.
    table = store.session(sources[0].session).image_stats(
        next(f.stream for f in sources[0].mapping.features if f.name == "observation.images.scene")
    )
    assert sum(e["stats/observation.images.scene/count"][0] for e in view.episodes) <= table.num_rows
    mean = np.array(view.stats["observation.images.scene"]["mean"]).reshape(3)
    frames = np.stack(view.images("observation.images.scene", 0)[::10]) / 255
    assert np.allclose(mean, frames.mean(axis=(0, 1, 2)), atol=0.05)


def test_an_excluded_episode_stays_out_until_it_is_let_in_again(store, tmp_path):
    (source,) = stored_sources(store)
    entries = store.edit_episodes([source.episodes[0].id], exclude="arm slipped")
    try:
        account = export_lerobot(stored_sources(store), None, ExportOptions(CameraClock("scene")))
        assert [left.why for left in account.left_out] == ["excluded: arm slipped"]
        assert len(account.episodes) == 1
    finally:
        store.undo(entries[0].command)
    account = export_lerobot(stored_sources(store), None, ExportOptions(CameraClock("scene")))
    assert len(account.episodes) == 2
