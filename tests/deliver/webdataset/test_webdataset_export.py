"""WebDataset shards, read with Python's tarfile by WebDataset's rules."""

from __future__ import annotations

import io
import json
import re
import tarfile

import av
import numpy as np
import pytest
from export_lab import START_NS, expected_values, files_of, number_of, packets_of

from twinloop.core.errors import UnknownNameError, UsageError
from twinloop.deliver.frames import Images
from twinloop.deliver.rows import CameraClock
from twinloop.deliver.webdataset.export import export_webdataset
from twinloop.deliver.webdataset.options import WebDatasetOptions
from twinloop.formats.video.pixels import to_pixels

TOP = CameraClock("top")


def samples(folder):
    """Samples as WebDataset groups them: consecutive files whose names agree up to the first dot."""
    found: list[dict] = []
    for path in sorted(folder.glob("shard-*.tar")):
        with tarfile.open(path) as tar:
            for member in tar:
                key, extension = re.fullmatch(r"((?:.*/|)[^.]+)[.]([^/]*)", member.name).groups()
                if not found or found[-1]["__key__"] != key:
                    found.append({"__key__": key, "__shard__": path.name})
                found[-1][extension] = tar.extractfile(member).read()
    return found


def array(data: bytes):
    return np.load(io.BytesIO(data))


def test_steps(session, lab, tmp_path):
    export_webdataset([session], tmp_path / "out", WebDatasetOptions(TOP))
    steps = samples(tmp_path / "out")
    assert [step["__key__"] for step in steps[28:32]] == [
        "000000_000028",
        "000000_000029",
        "000001_000000",
        "000001_000001",
    ]
    told = [json.loads(step["json"]) for step in steps]
    rows = np.array([said["time_ns"] for said in told])
    assert rows[0] == START_NS
    states = np.stack([array(step["state.npy"]) for step in steps])
    actions = np.stack([array(step["action.npy"]) for step in steps])
    assert np.array_equal(states, expected_values(session, rows, "observation.state"))
    assert np.array_equal(actions, expected_values(session, rows, "action"))
    assert [step["wrist.jpg"] for step in steps] == packets_of(lab.folder / "w.mkv")
    with av.open(io.BytesIO(steps[33]["top.png"])) as image:
        assert number_of(to_pixels(next(image.decode(video=0)))) == 33 % 26
    with av.open(io.BytesIO(steps[33]["depth.png"])) as image:
        assert np.array_equal(to_pixels(next(image.decode(video=0))), lab.pixels(33, deep=True))
    assert told[29]["is_last"] and not told[29]["is_first"] and told[30]["is_first"]
    assert told[45]["instruction"] == "put it down" and told[45]["outcome"] == "failure"
    assert all(said["valid"] for said in told)


def test_episodes(session, tmp_path):
    export_webdataset([session], tmp_path / "out", WebDatasetOptions(TOP, sample="episode"))
    first, second = samples(tmp_path / "out")
    rows = array(second["time_ns.npy"])
    assert np.array_equal(array(second["action.npy"]), expected_values(session, rows, "action"))
    assert array(first["valid.npy"]).all()
    with av.open(io.BytesIO(second["top.mp4"])) as video:
        images = [to_pixels(picture) for picture in video.decode(video=0)]
    assert [number_of(image) for image in images] == [k % 26 for k in range(30, 60)]
    assert json.loads(first["json"])["steps"] == 30
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["shard-000000.tar", "twinloop"]


def test_samples_stay_together_when_a_shard_is_full(session, tmp_path):
    export_webdataset([session], tmp_path / "out", WebDatasetOptions(TOP, shard_mb=0.05))
    shards = {step["__key__"]: step["__shard__"] for step in samples(tmp_path / "out")}
    assert len(shards) == 60 and len(set(shards.values())) > 2
    sizes = [path.stat().st_size for path in (tmp_path / "out").glob("*.tar")]
    assert max(sizes) <= 50_000 + tarfile.RECORDSIZE


def test_the_same_session_gives_the_same_bytes(session, tmp_path):
    for name in ("a", "b"):
        export_webdataset([session], tmp_path / name, WebDatasetOptions(TOP))
    assert files_of(tmp_path / "a") == files_of(tmp_path / "b")


def test_dry_runs_count_the_same(session, tmp_path):
    for sample in ("step", "episode"):
        options = WebDatasetOptions(TOP, sample=sample)
        planned = export_webdataset([session], None, options).to_json()
        done = export_webdataset([session], tmp_path / sample, options).to_json()
        assert planned == done


def test_what_cannot_be_meant_is_refused():
    with pytest.raises(UnknownNameError, match="episode"):
        WebDatasetOptions(TOP, sample="frame")
    with pytest.raises(UsageError, match="above 0"):
        WebDatasetOptions(TOP, shard_mb=0)
    with pytest.raises(UsageError, match="own, png or jpeg"):
        WebDatasetOptions(TOP, images=Images.RAW)
