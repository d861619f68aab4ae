"""LeRobot v2.1: a file an episode, lines of JSON; from v2.1 through a store to v2.1 nothing changes."""

from __future__ import annotations

import json
from dataclasses import replace

import av
import numpy as np
import pyarrow.parquet as pq
import pytest
from export_lab import START_NS, at_rate, files_of, number_of, packets_of

from twinloop.core.errors import UnknownNameError
from twinloop.deliver.lerobot.export import export_lerobot
from twinloop.deliver.lerobot.options import ExportOptions
from twinloop.deliver.rows import CameraClock
from twinloop.deliver.stored import stored_sources
from twinloop.formats.reader import open_recording
from twinloop.formats.video.pixels import to_pixels
from twinloop.store.ingest import ingest
from twinloop.store.sources import IngestOptions
from twinloop.store.store import Store

TOP = "observation.images.top"
OPTIONS = ExportOptions(CameraClock("top"), version="v2.1")


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def images(path):
    with av.open(str(path)) as video:
        pictures = list(video.decode(video=0))
    return pictures, [number_of(to_pixels(picture)) for picture in pictures]


@pytest.fixture
def source(lab):
    """Two episodes of one H.264 file, of which the second begins off a keyframe."""
    times = at_rate(60, 30.0)
    joints = at_rate(300, 100.0, START_NS - 50_000_000)
    middle = int(times[25]) - 1
    source = lab.source(
        {"top": lab.camera([lab.video("t.mp4", 60)], times)},
        {"state": lab.joints(joints), "action": lab.joints(joints + 3_000_000)},
        spans=[(START_NS, middle), (middle, START_NS + 3 * 10**9)],
    )
    second = replace(source.episodes[1], instruction="put it down", attributes={"retries": "2"})
    return replace(source, episodes=(source.episodes[0], second))


def test_the_layout(source, tmp_path):
    export_lerobot([source], tmp_path / "out", OPTIONS)
    root = tmp_path / "out"
    info = json.loads((root / "meta/info.json").read_text())
    assert info["codebase_version"] == "v2.1"
    assert (info["total_episodes"], info["total_frames"], info["total_videos"], info["total_chunks"]) == (
        2,
        60,
        2,
        1,
    )
    assert lines(root / "meta/episodes.jsonl") == [
        {"episode_index": 0, "tasks": ["pick the cube"], "length": 25},
        {"episode_index": 1, "tasks": ["put it down"], "length": 35, "retries": 2},
    ]
    assert lines(root / "meta/tasks.jsonl") == [
        {"task_index": 0, "task": "pick the cube"},
        {"task_index": 1, "task": "put it down"},
    ]
    stats = lines(root / "meta/episodes_stats.jsonl")
    assert set(stats[1]["stats"]) == set(info["features"])
    assert set(stats[1]["stats"]["action"]) == {"min", "max", "mean", "std", "count"}
    assert np.array(stats[0]["stats"][TOP]["mean"]).shape == (3, 1, 1)
    for number, length in enumerate((25, 35)):
        table = pq.read_table(root / info["data_path"].format(episode_chunk=0, episode_index=number))
        assert table.num_rows == length
        assert table["episode_index"].to_pylist() == [number] * length
        video = root / info["video_path"].format(episode_chunk=0, video_key=TOP, episode_index=number)
        pictures, numbers = images(video)
        assert numbers == [k % 26 for k in range(25 * number, 25 * number + length)]
        assert [picture.time for picture in pictures] == pytest.approx([k / 30 for k in range(length)])


def test_videos_are_remuxed_and_cut_at_their_first_row(source, lab, tmp_path):
    account = export_lerobot([source], tmp_path / "out", OPTIONS)
    camera = account.to_json()["cameras"][TOP]
    assert (camera["remuxed_episodes"], camera["unreferenced_lead_images"]) == (2, 0)
    assert camera["remuxed_but_for_the_first_group"] == 1
    packets = packets_of(lab.folder / "t.mp4")
    folder = tmp_path / f"out/videos/chunk-000/{TOP}"
    assert packets_of(folder / "episode_000000.mp4") == packets[:25]
    assert packets_of(folder / "episode_000001.mp4")[5:] == packets[30:]


def test_the_same_session_gives_the_same_bytes(source, tmp_path):
    for name in ("a", "b"):
        export_lerobot([source], tmp_path / name, OPTIONS)
    assert files_of(tmp_path / "a") == files_of(tmp_path / "b")


def test_from_v21_through_a_store_to_v21(source, tmp_path):
    export_lerobot([source], tmp_path / "first", OPTIONS)
    store = Store.create(tmp_path / "store")
    assert ingest(store, tmp_path / "first", IngestOptions()).session is not None
    export_lerobot(stored_sources(store), tmp_path / "second", OPTIONS)
    first, second = tmp_path / "first", tmp_path / "second"
    assert lines(first / "meta/episodes.jsonl") == lines(second / "meta/episodes.jsonl")
    assert lines(first / "meta/tasks.jsonl") == lines(second / "meta/tasks.jsonl")
    features = [json.loads((root / "meta/info.json").read_text())["features"] for root in (first, second)]
    assert features[0] == features[1]
    for number in range(2):
        name = f"data/chunk-000/episode_{number:06d}.parquet"
        assert pq.read_table(first / name).equals(pq.read_table(second / name))
        video = f"videos/chunk-000/{TOP}/episode_{number:06d}.mp4"
        assert packets_of(first / video) == packets_of(second / video)


def test_a_dataset_of_others(test_data, tmp_path):
    """The real G1 set: its three videos are there, in AV1, and come out byte by byte."""
    store = Store.create(tmp_path / "store")
    ingest(store, test_data / "lerobot-v21-unitree-g1", IngestOptions())
    export_lerobot(
        stored_sources(store), tmp_path / "out", ExportOptions(CameraClock("cam_high"), version="v2.1")
    )
    kept = sorted((test_data / "lerobot-v21-unitree-g1/videos").glob("*/*/*.mp4"))
    made = sorted((tmp_path / "out/videos").glob("*/*/*.mp4"))
    theirs = [int(path.stem.split("_")[1]) for path in kept]
    assert len(made) == 3
    with open_recording(tmp_path / "out") as back:
        assert not back.notes
    for number, (mine, video) in enumerate(zip(made, kept, strict=True)):
        assert packets_of(mine) == packets_of(video)
        name = "data/chunk-000/episode_{:06d}.parquet"
        ours = pq.read_table(tmp_path / "out" / name.format(number))
        original = pq.read_table(test_data / "lerobot-v21-unitree-g1" / name.format(theirs[number]))
        for column in ("observation.state", "action"):
            assert ours[column].equals(original[column])


def test_there_is_no_other_version(source):
    with pytest.raises(UnknownNameError, match="version of LeRobot"):
        export_lerobot([source], None, replace(OPTIONS, version="v2.2"))
