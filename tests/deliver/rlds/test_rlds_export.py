"""RLDS, read back by a TFRecord reader that is not ours."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import av
import numpy as np
import pytest
from export_lab import START_NS, at_rate, expected_values, files_of, number_of, packets_of
from tfrecord.reader import example_pb2, tfrecord_iterator

from twinloop.core.errors import UsageError
from twinloop.deliver.frames import Images
from twinloop.deliver.hdf5.robomimic import RobomimicOptions, export_robomimic
from twinloop.deliver.rlds.example import example, int_list, record, varints
from twinloop.deliver.rlds.export import export_rlds
from twinloop.deliver.rlds.options import RldsOptions
from twinloop.deliver.rows import CameraClock
from twinloop.formats.video.pixels import to_pixels

TOP = CameraClock("top")


def records(folder):
    """The examples of a dataset, key -> values, by the package tfrecord."""
    for path in sorted(folder.glob("*.tfrecord-*")):
        for data in tfrecord_iterator(str(path)):
            features = example_pb2.Example.FromString(bytes(data)).features.feature
            yield {key: list(getattr(value, value.WhichOneof("kind")).value) for key, value in features.items()}


def decoded(data: bytes):
    with av.open(io.BytesIO(data)) as container:
        return to_pixels(next(container.decode(video=0)))


def test_steps_hold_what_the_session_holds(session, tmp_path):
    account = export_rlds([session], tmp_path / "out", RldsOptions(TOP))
    first, second = records(tmp_path / "out")
    rows = np.array(first["steps/observation/timestamp_ns"])
    assert len(rows) == 30 and rows[0] == START_NS
    for key, feature in (("observation/state", "observation.state"), ("action", "action")):
        values = np.array(first[f"steps/{key}"], np.float32).reshape(30, 2)
        assert np.array_equal(values, expected_values(session, rows, feature).astype(np.float32))
    assert np.array_equal(first["steps/leader_state"], first["steps/observation/state"])
    assert first["steps/is_first"] == [1] + [0] * 29
    assert first["steps/is_last"] == first["steps/is_terminal"] == [0] * 29 + [1]
    assert first["steps/reward"] == [0] * 29 + [1] and not any(second["steps/reward"])
    assert set(first["steps/discount"]) == {1}
    assert set(second["steps/language_instruction"]) == {b"put it down"}
    assert second["episode_metadata/outcome"] == [b"failure"]
    assert all(first["steps/valid"])
    assert account.cameras["observation.images.wrist"].copied == 60


def test_images_are_the_recordings_own_or_lossless(session, lab, tmp_path):
    export_rlds([session], tmp_path / "out", RldsOptions(TOP))
    both = list(records(tmp_path / "out"))
    wrist = [data for item in both for data in item["steps/observation/wrist"]]
    assert wrist == packets_of(lab.folder / "w.mkv")
    top = [decoded(data) for item in both for data in item["steps/observation/top"]]
    assert [number_of(image) for image in top] == [k % 26 for k in range(60)]
    with av.open(str(lab.folder / "t.mp4")) as video:
        assert all(np.array_equal(a, to_pixels(b)) for a, b in zip(top, video.decode(video=0), strict=True))
    depth = [decoded(data) for item in both for data in item["steps/observation/depth"]]
    assert all(np.array_equal(image, lab.pixels(k, deep=True)) for k, image in enumerate(depth))


def test_jpeg_where_it_is_asked_for(session, tmp_path):
    export_rlds([session], tmp_path / "out", RldsOptions(TOP, images=Images.JPEG))
    first = next(records(tmp_path / "out"))
    assert all(data[:2] == b"\xff\xd8" for data in first["steps/observation/top"])
    assert [number_of(decoded(data)) for data in first["steps/observation/top"][:5]] == [0, 1, 2, 3, 4]
    assert all(data[:4] == b"\x89PNG" for data in first["steps/observation/depth"])


def test_float64_keeps_every_bit(session, tmp_path):
    export_rlds([session], tmp_path / "out", RldsOptions(TOP, float64=True))
    first = next(records(tmp_path / "out"))
    values = np.frombuffer(b"".join(first["steps/action"]), "<f8").reshape(30, 2)
    rows = np.array(first["steps/observation/timestamp_ns"])
    assert np.array_equal(values, expected_values(session, rows, "action"))
    described = json.loads((tmp_path / "out/features.json").read_text())
    steps = described["featuresDict"]["features"]["steps"]["sequence"]["feature"]["featuresDict"]["features"]
    assert steps["action"]["tensor"] == {
        "shape": {"dimensions": ["2"]},
        "dtype": "float64",
        "encoding": "bytes",
    }


def test_every_key_is_described_and_every_description_has_a_key(session, tmp_path):
    export_rlds([session], tmp_path / "out", RldsOptions(TOP))

    def leaves(node, at=""):
        inner = node.get("sequence", {}).get("feature", node)
        if "featuresDict" not in inner:
            yield at
            return
        for name, child in inner["featuresDict"]["features"].items():
            yield from leaves(child, f"{at}/{name}" if at else name)

    described = json.loads((tmp_path / "out/features.json").read_text())
    assert set(leaves(described)) == set(next(records(tmp_path / "out")))


def test_images_of_several_sizes_are_declared_so(lab, tmp_path):
    small = lab.video("s.mp4", 30)
    lab.width, lab.height = 32, 24
    times = at_rate(60, 30.0)
    camera = lab.camera([small, lab.video("b.mp4", 30, first=30)], times)
    session = lab.source({"top": camera}, {"state": lab.joints(times), "action": lab.joints(times)})
    export_rlds([session], tmp_path / "out", RldsOptions(TOP))
    text = json.dumps(json.loads((tmp_path / "out/features.json").read_text()))
    assert '"image": {"shape": {"dimensions": ["-1", "-1", "3"]}' in text
    images = [decoded(data) for data in next(records(tmp_path / "out"))["steps/observation/top"]]
    assert [image.shape for image in images[28:32]] == [(48, 64, 3)] * 2 + [(24, 32, 3)] * 2
    with pytest.raises(UsageError, match="images of one size"):
        export_robomimic([session], tmp_path / "demos.hdf5", RobomimicOptions(TOP))


def test_files_start_anew_by_size_and_say_how_many_they_are(session, tmp_path):
    export_rlds([session], tmp_path / "out", RldsOptions(TOP, name="cubes", shard_mb=0.001))
    names = sorted(path.name for path in (tmp_path / "out").glob("*.tfrecord*"))
    assert names == ["cubes-train.tfrecord-00000-of-00002", "cubes-train.tfrecord-00001-of-00002"]
    split = json.loads((tmp_path / "out/dataset_info.json").read_text())["splits"][0]
    assert split["shardLengths"] == ["1", "1"]
    assert int(split["numBytes"]) == sum((tmp_path / "out" / name).stat().st_size for name in names)


def test_the_same_session_gives_the_same_bytes(session, tmp_path):
    for name in ("a", "b"):
        export_rlds([session], tmp_path / name, RldsOptions(TOP))
    assert files_of(tmp_path / "a") == files_of(tmp_path / "b")


def test_a_dry_run_counts_the_same_and_writes_nothing(session, tmp_path):
    planned = export_rlds([session], None, RldsOptions(TOP)).to_json()
    done = export_rlds([session], tmp_path / "out", RldsOptions(TOP)).to_json()
    assert planned == done


def test_what_rlds_cannot_hold_is_refused(session, tmp_path):
    with pytest.raises(UsageError, match="snake case"):
        export_rlds([session], tmp_path / "out", RldsOptions(TOP, name="Cubes!"))
    with pytest.raises(UsageError, match="own, png or jpeg"):
        export_rlds([session], tmp_path / "out", RldsOptions(TOP, images=Images.RAW))
    twice = replace(session.mapping.features[0], name="observation.images.w")
    clash = replace(session.mapping.features[0], name="observation.w!")
    mapping = replace(session.mapping, features=(*session.mapping.features, twice, clash))
    with pytest.raises(UsageError, match="would both be called w"):
        export_rlds([replace(session, mapping=mapping)], tmp_path / "out", RldsOptions(TOP))
    assert not (tmp_path / "out").exists()


def test_integers_on_the_wire():
    values = np.array([0, 1, 127, 128, 300, 2**40, 2**63 - 1, -1, -(2**63)], np.int64)
    message = example_pb2.Example.FromString(b"".join(example({"x": int_list(values)})))
    assert list(message.features.feature["x"].int64_list.value) == values.tolist()
    assert varints(np.zeros(0, np.int64)) == b""
    assert len(b"".join(record([b"ab", b"c"]))) == 8 + 4 + 3 + 4
