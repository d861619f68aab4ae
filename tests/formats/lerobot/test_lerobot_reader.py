"""LeRobot datasets, whole ones: streams, times, images, words."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from clips import number_of, numbered
from datasets import CAMERA, JOINTS, Dataset, edit_info, write_v20, write_v21, write_v30

from twinloop.core.clock import Epoch
from twinloop.core.errors import UnknownNameError, UnreadableError
from twinloop.core.kinds import Kind, Role, StampSource
from twinloop.formats.reader import find_reader, open_recording
from twinloop.formats.video.decode import decode_images
from twinloop.formats.video.still import encode_still
from twinloop.formats.video.thumbnail import thumbnails

WRITERS = {"v2.0": write_v20, "v2.1": write_v21, "v3.0": write_v30}
BASES_S = (0, 2, 3)  # running sums of ceil(12/10), ceil(9/10)


@pytest.fixture(scope="module", params=WRITERS)
def root(request, tmp_path_factory):
    return WRITERS[request.param](tmp_path_factory.mktemp("lerobot"), Dataset())


def test_streams_and_their_words(root):
    recording = open_recording(root)
    assert recording.format == "lerobot"
    assert not recording.notes
    state, action, top = (recording.streams[n] for n in ("observation.state", "action", CAMERA))
    assert (state.kind, state.role, state.count, state.rate_hz) == (Kind.JOINTS, Role.OBSERVATION, 36, 10.0)
    assert (action.kind, action.role) == (Kind.JOINTS, Role.ACTION)
    assert (top.kind, top.role, len(top.segments)) == (
        Kind.IMAGE,
        Role.OBSERVATION,
        3 if "v2" in _version(root) else 1,
    )
    assert top.segments[0].codec == "h264"
    for stream in recording.streams.values():
        assert stream.stamp_source is StampSource.GRID
        assert stream.stamp_clock.epoch is Epoch.EPISODE
        assert stream.timeline == "stamp_ns"
        assert (stream.start_ns, stream.end_ns) == (0, 4_400_000_000)
    assert state.bytes and top.bytes
    assert recording.metadata["robot_type"] == "so101"
    assert recording.metadata["splits/train"] == "0:3"
    assert recording.size_bytes > 0


def _version(root):
    return json.loads((root / "meta/info.json").read_text())["codebase_version"]


def test_episodes_follow_one_another_without_touching(root):
    episodes = open_recording(root).episodes
    assert [e.start_ns for e in episodes] == [s * 10**9 for s in BASES_S]
    assert [e.end_ns - e.start_ns for e in episodes] == [1_200_000_000, 900_000_000, 1_500_000_000]
    assert [e.instruction for e in episodes] == ["pick the cup", "place the cup", "pick the cup"]


def test_states_have_names_and_exact_grid_times(root):
    recording = open_recording(root)
    table = recording.read("observation.state")
    assert table["name"][20].as_py() == list(JOINTS)
    values = np.array(table["position"].to_pylist())
    np.testing.assert_array_equal(values[:, 0], np.repeat([0, 1, 2], (12, 9, 15)))
    stamps = np.array(table["stamp_ns"])
    expected = [b * 10**9 + k * 10**8 for b, n in zip(BASES_S, (12, 9, 15), strict=True) for k in range(n)]
    np.testing.assert_array_equal(stamps, expected)


def test_each_row_finds_its_own_image(root):
    recording = open_recording(root)
    table = recording.read(CAMERA)
    segment, pts = np.array(table["segment"]), np.array(table["pts"])
    numbers = [100 * e + k for e, n in enumerate((12, 9, 15)) for k in range(n)]
    for number, seg in enumerate(recording.streams[CAMERA].segments):
        rows = np.flatnonzero(segment == number)
        for row, image in decode_images(seg, pts[rows]):
            assert number_of(image) == numbers[rows[row]]
    assert table["encoding"][0].as_py() == "h264"
    assert not recording.notes


def test_bookkeeping_and_tasks_are_streams(root):
    recording = open_recording(root)
    rows = recording.read("rows")
    assert rows["index"].to_pylist() == list(range(36))
    assert {"timestamp", "frame_index", "episode_index", "task_index"} <= set(rows.column_names)
    task = recording.read("task")
    assert task["text"].to_pylist() == ["pick the cup", "place the cup", "pick the cup"]
    assert task["stamp_ns"].to_pylist() == [s * 10**9 for s in BASES_S]


def test_a_span_of_time(root):
    recording = open_recording(root)
    batches = list(recording.scan(["observation.state"], start_ns=2_300_000_000, end_ns=3_200_000_000))
    stamps = np.concatenate([b.times("stamp_ns") for b in batches])
    assert stamps[0] == 2_300_000_000
    assert stamps[-1] == 3_100_000_000
    assert len(stamps) == 6 + 2
    assert not recording.notes


def test_unknown_stream_names_the_near_one(root):
    with pytest.raises(UnknownNameError, match=r"observation\.stat"):
        list(open_recording(root).scan(["observation.stat"]))


def test_thumbnails_are_spread_and_small(root):
    recording = open_recording(root)
    small = thumbnails(recording, CAMERA, 6, width=48)
    assert len(small) == 6
    assert all(image.shape == (32, 48, 3) for _, image in small)
    assert [t for t, _ in small] == sorted(t for t, _ in small)


@pytest.mark.parametrize(
    "names",
    [
        [list(JOINTS)],
        {"motors": list(JOINTS)},
        {n: i for i, n in enumerate(JOINTS)},
        {"a": JOINTS[:1], "b": JOINTS[1:]},
    ],
)
def test_names_in_every_wrapping(tmp_path, names):
    recording = open_recording(write_v21(tmp_path, Dataset(names=names, video=False)))
    assert recording.read("action")["name"][0].as_py() == list(JOINTS)
    assert not recording.notes


def test_names_missing_or_of_another_number(tmp_path):
    recording = open_recording(write_v30(tmp_path / "a", Dataset(names=None, video=False)))
    assert recording.read("action")["name"][0].as_py() == ["dim_0", "dim_1", "dim_2"]
    recording = open_recording(write_v30(tmp_path / "b", Dataset(names=["one", "two"], video=False)))
    assert "3 elements and 2 names" in recording.notes[0].message


def _floats(*shape):
    def make(episode, n):
        flat = pa.array(np.arange(n * int(np.prod(shape)), dtype=np.float32))
        for size in reversed(shape):
            flat = pa.FixedSizeListArray.from_arrays(flat, size)
        return flat

    return make


def test_other_numeric_features(tmp_path):
    def feature(dtype, shape, names=None):
        return {"dtype": dtype, "shape": shape, "names": names}

    extra = {
        "observation.effort": (feature("float32", [2], ["left_wrist", "right_wrist"]), _floats(2)),
        "observation.ee": (feature("float32", [3], ["x", "y", "z"]), _floats(3)),
        "observation.touch": (feature("float32", [12, 12]), _floats(12, 12)),
        "intervention": (feature("bool", [1]), lambda e, n: pa.array([k % 2 == 0 for k in range(n)])),
        "weight": (
            feature("float32", [1]),
            lambda e, n: pa.array([[float(k)] if k else None for k in range(n)]),
        ),
        "note": (feature("string", [1]), lambda e, n: pa.array([f"row {k}" for k in range(n)])),
        "next.done": (feature("bool", [1]), lambda e, n: pa.array([k == n - 1 for k in range(n)])),
    }
    recording = open_recording(write_v30(tmp_path, Dataset(extra=extra, video=False)))
    kinds = {name: recording.streams[name].kind for name in extra if name != "next.done"}
    assert list(kinds.values()) == [Kind.JOINTS, Kind.TABLE, Kind.TABLE, Kind.SCALAR, Kind.SCALAR, Kind.TEXT]
    assert recording.read("observation.ee").column_names == ["stamp_ns", "x", "y", "z"]
    touch = recording.read("observation.touch")["values"]
    assert len(touch[0]) == 144 and touch[3][5].as_py() == 3 * 144 + 5
    assert recording.read("intervention")["value"].to_pylist()[:3] == [1.0, 0.0, 1.0]
    weight = np.array(recording.read("weight")["value"])
    assert np.isnan(weight[0]) and weight[5] == 5.0
    assert recording.read("note")["text"][4].as_py() == "row 4"
    assert recording.read("rows")["next.done"].to_pylist().count(True) == 3


def test_pictures_inside_the_table(tmp_path):
    def pictures(episode, n):
        return pa.array(
            [{"bytes": encode_still(numbered(100 * episode + k), "png"), "path": f"f{k}.png"} for k in range(n)]
        )

    entry = {"dtype": "image", "shape": [64, 96, 3], "names": ["height", "width", "channels"]}
    name = "observation.images.wrist"
    dataset = Dataset(lengths=(70, 5, 3), extra={name: (entry, pictures)}, video=False)
    recording = open_recording(write_v30(tmp_path, dataset))
    stream = recording.streams[name]
    assert (stream.kind, stream.attributes["encoding"]) == (Kind.IMAGE, "png")
    batches = list(recording.scan([name]))
    assert max(map(len, batches)) <= 64 and sum(map(len, batches)) == 78
    small = thumbnails(recording, name, 3)
    assert [number_of(image) for _, image in small] == [0, 28, 55]
    bare = list(recording.scan([name], payload=False))
    assert sum(map(len, bare)) == 78 and bare[0].payload is None


def test_pictures_as_files(tmp_path):
    entry = {"dtype": "image", "shape": [64, 96, 3], "names": ["height", "width", "channels"]}
    name = "observation.images.wrist"
    root = write_v21(tmp_path, Dataset(lengths=(4, 3, 2), video=False))
    info = json.loads((root / "meta/info.json").read_text())
    edit_info(root, features={**info["features"], name: entry})
    for episode, n in enumerate((4, 3, 2)):
        folder = root / "images" / name / f"episode_{episode:06d}"
        folder.mkdir(parents=True)
        for k in range(n):
            if (episode, k) != (1, 1):
                (folder / f"frame_{k:06d}.png").write_bytes(encode_still(numbered(10 * episode + k), "png"))
    recording = open_recording(root)
    (*batches,) = recording.scan([name])
    assert sum(map(len, batches)) == 8
    assert any("1 rows of episode 1 have no image" in note.message for note in recording.notes)


def test_language_columns(tmp_path):
    def persistent(episode, n):
        subtasks = [
            {"role": "assistant", "content": f"grasp {episode}", "style": "subtask", "timestamp": 0.0},
            {"role": "assistant", "content": "lift", "style": "subtask", "timestamp": 0.4},
        ]
        return pa.array([subtasks] * n)

    def events(episode, n):
        said = {"role": "user", "content": "stop", "style": "interjection", "camera": None}
        return pa.array([[said] if k == 3 else [] for k in range(n)])

    extra = {
        "language_persistent": ({"dtype": "language", "shape": [1], "names": None}, persistent),
        "language_events": ({"dtype": "language", "shape": [1], "names": None}, events),
    }
    recording = open_recording(write_v30(tmp_path, Dataset(extra=extra, video=False)))
    said = recording.read("language_persistent")
    assert said["text"].to_pylist() == ["grasp 0", "lift", "grasp 1", "lift", "grasp 2", "lift"]
    assert said["stamp_ns"].to_pylist() == [b * 10**9 + t for b in BASES_S for t in (0, 400_000_000)]
    events_table = recording.read("language_events")
    assert events_table["name"].to_pylist() == ["interjection"] * 3
    assert json.loads(events_table["data"][0].as_py())["content"] == "stop"
    assert events_table["stamp_ns"].to_pylist() == [b * 10**9 + 300_000_000 for b in BASES_S]


def test_sniffing_is_by_content(tmp_path):
    root = write_v21(tmp_path / "a folder of any name", Dataset(video=False))
    assert find_reader(root).name == "lerobot"
    other = tmp_path / "other"
    (other / "meta").mkdir(parents=True)
    (other / "meta/info.json").write_text('{"name": "something else"}')
    with pytest.raises(UnreadableError):
        find_reader(other)


def test_the_real_g1(test_data):
    recording = open_recording(test_data / "lerobot-v21-unitree-g1")
    assert len(recording.episodes) == 100
    state = recording.streams["observation.state"]
    assert (state.count, state.kind) == (35_965, Kind.JOINTS)
    table = recording.read("observation.state")
    assert table.num_rows == 35_965
    names = table["name"][0].as_py()
    assert (len(names), names[0], names[-1]) == (26, "kLeftShoulderPitch", "kRightHandThumbRotation")
    images = recording.read("observation.images.cam_high")
    assert images.num_rows == 35_965
    assert images["pts"].null_count == 35_113
    assert [n.problem.value for n in recording.notes] == ["missing_file"]


def test_the_real_so101(test_data):
    root = test_data / "lerobot-v3-so101-SIM/local_dataset_ros2/data/lerobot_dataset_example"
    recording = open_recording(root)
    assert (len(recording.episodes), recording.streams["action"].count) == (6, 1782)
    images = recording.read("observation.images.wrist")
    assert images["pts"].null_count == 0
    assert len(set(images["pts"].to_pylist())) == 1782
    assert not recording.notes
