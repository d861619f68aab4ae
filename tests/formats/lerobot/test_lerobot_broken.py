"""LeRobot datasets as people really have them: wrong paths, missing files, counts that lie."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from clips import number_of, write_clip
from datasets import CAMERA, Dataset, edit_info, episode_table, write_lines, write_v21, write_v30

from twinloop.core.errors import UnreadableError
from twinloop.core.recording import Problem
from twinloop.formats.reader import open_recording
from twinloop.formats.video.decode import decode_images

SMALL = Dataset(video=False)


def problems(recording):
    return [note.problem for note in recording.notes]


def numbers_shown(recording):
    """The number of the image in each row, None where there is none."""
    table = recording.read(CAMERA)
    shown: list[int | None] = [None] * table.num_rows
    segment = np.array(table["segment"].fill_null(-1))
    pts = np.array(table["pts"].fill_null(0))
    for number, seg in enumerate(recording.streams[CAMERA].segments):
        rows = np.flatnonzero(segment == number)
        for row, image in decode_images(seg, pts[rows]):
            shown[rows[row]] = number_of(image)
    return shown


@pytest.mark.parametrize(
    "path",
    [
        "/home/someone/data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
        "data/episode_{episode_index}.parquet",
        "data/{no_such_key}.parquet",
        "data/{",
    ],
)
def test_a_wrong_data_path_is_survived(tmp_path, path):
    root = write_v21(tmp_path, SMALL)
    edit_info(root, data_path=path)
    recording = open_recording(root)
    assert recording.read("action").num_rows == 36
    assert problems(recording) == [Problem.PATH]
    assert "data_path" in recording.notes[0].message


@pytest.mark.parametrize("write", [write_v21, write_v30])
def test_a_wrong_video_path_and_codec_are_survived(tmp_path, write):
    root = write(tmp_path, Dataset())
    info = json.loads((root / "meta/info.json").read_text())
    info["features"][CAMERA]["info"]["video.codec"] = "av1"
    info["features"][CAMERA]["shape"] = [480, 640, 3]
    edit_info(root, video_path="clips/{video_key}.mp4", features=info["features"])
    recording = open_recording(root)
    assert recording.read(CAMERA)["pts"].null_count == 0
    assert problems(recording) == [Problem.PATH] * 3
    assert "codec av1, the files are h264" in recording.notes[1].message
    assert "640x480, the files are 96x64" in recording.notes[2].message


def test_missing_files_are_counted(tmp_path):
    root = write_v21(tmp_path, Dataset())
    (root / f"videos/chunk-000/{CAMERA}/episode_000001.mp4").unlink()
    (root / "data/chunk-000/episode_000002.parquet").unlink()
    recording = open_recording(root)
    assert [(n.problem, n.lost) for n in recording.notes] == [
        (Problem.MISSING_FILE, 15),
        (Problem.MISSING_FILE, 9),
    ]
    table = recording.read(CAMERA)
    assert (table.num_rows, table["pts"].null_count) == (21, 9)
    assert recording.streams["action"].count == 21


def test_fewer_images_than_rows(tmp_path):
    root = write_v21(tmp_path, Dataset())
    dataset = Dataset()
    write_clip(root / f"videos/chunk-000/{CAMERA}/episode_000001.mp4", dataset.images(1)[:6], fps=10)
    recording = open_recording(root)
    shown = numbers_shown(recording)
    assert shown[12:21] == [100, 101, 102, 103, 104, 105, None, None, None]
    (note,) = recording.notes
    assert (note.problem, note.lost) == (Problem.COUNT, 3)
    assert "episode 1 has 9 rows and 6 images" in note.message
    list(recording.scan([CAMERA]))
    assert len(recording.notes) == 1


def test_no_row_gets_an_image_of_the_next_episode(tmp_path):
    dataset = Dataset()
    root = write_v30(tmp_path, dataset)
    images = [*dataset.images(0)[:10], *dataset.images(1), *dataset.images(2)]
    write_clip(root / f"videos/{CAMERA}/chunk-000/file-000.mp4", images, fps=10)
    pq.write_table(episode_table(dataset, (10, 9, 15)), root / "meta/episodes/chunk-000/file-000.parquet")
    recording = open_recording(root)
    shown = numbers_shown(recording)
    assert shown[:14] == [*range(10), None, None, 100, 101]
    assert shown[-1] == 214
    assert "episode 0 has 12 rows and 10 images" in recording.notes[0].message


def test_a_discarded_take_left_in_the_video(tmp_path):
    dataset = Dataset()
    root = write_v30(tmp_path, dataset)
    take = dataset.images(2)[:7]
    images = [*dataset.images(0), *take, *dataset.images(1), *dataset.images(2)]
    write_clip(root / f"videos/{CAMERA}/chunk-000/file-000.mp4", images, fps=10)
    table = episode_table(dataset, (12, 9, 15)).to_pydict()
    table[f"videos/{CAMERA}/from_timestamp"] = [0.0, 1.9, 2.8]
    table[f"videos/{CAMERA}/to_timestamp"] = [1.2, 2.8, 4.3]
    pq.write_table(pa.table(table), root / "meta/episodes/chunk-000/file-000.parquet")
    recording = open_recording(root)
    assert numbers_shown(recording) == [*range(12), *range(100, 109), *range(200, 215)]
    assert "43 images, its episodes have 36 rows" in recording.notes[0].message


def test_totals_that_disagree(tmp_path):
    root = write_v21(tmp_path, SMALL)
    edit_info(root, total_episodes=4, total_frames=40)
    recording = open_recording(root)
    assert problems(recording) == [Problem.COUNT, Problem.COUNT]
    assert recording.notes[1].lost == 4


def test_lines_missing_and_broken_in_episodes_jsonl(tmp_path):
    root = write_v21(tmp_path, SMALL)
    lines = (root / "meta/episodes.jsonl").read_text().splitlines()
    (root / "meta/episodes.jsonl").write_text(f'{lines[0]}\n{{"episode_index": 1, "tas\n')
    recording = open_recording(root)
    assert len(recording.episodes) == 3
    assert [e.instruction for e in recording.episodes] == ["pick the cup", None, None]
    assert recording.read("action").num_rows == 36
    assert problems(recording) == [Problem.CORRUPT, Problem.COUNT]
    assert recording.notes[0].where.row == 1
    assert "2 episodes have a data file but no line" in recording.notes[1].message


def test_no_episodes_table_at_all(tmp_path):
    root = write_v30(tmp_path, Dataset())
    shutil.rmtree(root / "meta/episodes")
    recording = open_recording(root)
    assert [e.end_ns - e.start_ns for e in recording.episodes] == [1_200_000_000, 900_000_000, 1_500_000_000]
    assert recording.read("action").num_rows == 36
    assert Problem.INDEX in problems(recording)
    assert CAMERA not in recording.streams
    assert Problem.MISSING_FILE in problems(recording)


def test_lengths_that_lie(tmp_path):
    root = write_v21(tmp_path, SMALL)
    write_lines(
        root / "meta/episodes.jsonl",
        [{"episode_index": e, "tasks": ["t"], "length": n} for e, n in enumerate((12, 10, 15))],
    )
    edit_info(root, total_frames=37)
    recording = open_recording(root)
    assert not recording.notes
    recording.read("action")
    assert recording.notes[0].message == "episode 1 is listed with 10 rows and has 9"
    assert recording.notes[0].lost == 1


def test_numbers_inside_a_file_that_contradict_its_name(tmp_path):
    root = write_v21(tmp_path, SMALL)
    shutil.copy(root / "data/chunk-000/episode_000002.parquet", root / "data/chunk-000/episode_000001.parquet")
    recording = open_recording(root)
    stamps = np.array(recording.read("action")["stamp_ns"])
    assert (np.diff(stamps) > 0).sum() >= len(stamps) - 2
    assert problems(recording)[0] is Problem.BAD_VALUE
    assert "named for episode 1" in recording.notes[0].message


def test_rows_of_an_episode_that_is_not_listed(tmp_path):
    root = write_v30(tmp_path, SMALL)
    table = episode_table(SMALL, SMALL.lengths).slice(0, 2)
    pq.write_table(table, root / "meta/episodes/chunk-000/file-000.parquet")
    edit_info(root, total_episodes=2, total_frames=21)
    recording = open_recording(root)
    stamps = np.array(recording.read("action")["stamp_ns"])
    assert len(stamps) == 36 and (np.diff(stamps) > 0).all()
    assert "15 rows of episodes that are not listed: 2" in recording.notes[0].message


@pytest.mark.parametrize("fps", [0, None, "thirty", -5])
def test_fps_missing_or_senseless_is_measured(tmp_path, fps):
    root = write_v21(tmp_path, SMALL)
    edit_info(root, fps=fps)
    recording = open_recording(root)
    assert recording.streams["action"].rate_hz == 10.0
    assert problems(recording) == [Problem.BAD_VALUE]


def test_nan_timestamps_fall_back_to_the_grid(tmp_path):
    root = write_v21(tmp_path, SMALL)
    path = root / "data/chunk-000/episode_000000.parquet"
    table = pq.read_table(path)
    times = table["timestamp"].to_numpy().copy()
    times[4] = np.nan
    pq.write_table(table.set_column(2, "timestamp", pa.array(times)), path)
    recording = open_recording(root)
    assert np.array(recording.read("action")["stamp_ns"])[4] == 400_000_000
    assert (recording.notes[0].problem, recording.notes[0].where.row) == (Problem.BAD_VALUE, 4)


def test_a_truncated_data_file_keeps_the_others(tmp_path):
    root = write_v21(tmp_path, SMALL)
    path = root / "data/chunk-000/episode_000001.parquet"
    path.write_bytes(path.read_bytes()[:200])
    recording = open_recording(root)
    assert recording.read("action").num_rows == 27
    note = next(n for n in recording.notes if n.problem is Problem.CORRUPT)
    assert note.lost == 9 and note.where.file == str(path)


def test_a_video_that_does_not_open(tmp_path):
    root = write_v21(tmp_path, Dataset())
    (root / f"videos/chunk-000/{CAMERA}/episode_000000.mp4").write_text(
        "version https://git-lfs.github.com/spec/v1"
    )
    recording = open_recording(root)
    assert recording.read(CAMERA)["pts"].null_count == 12
    assert problems(recording) == [Problem.CORRUPT]


@pytest.mark.parametrize("version", ["v1.6", "v4.0", "three"])
def test_an_unknown_version_says_what_is_known(tmp_path, version):
    root = write_v21(tmp_path, SMALL)
    edit_info(root, codebase_version=version)
    with pytest.raises(UnreadableError, match=version) as error:
        open_recording(root)
    assert "v2.0, v2.1 or v3.0" in str(error.value)


def test_info_that_is_no_json(tmp_path):
    root = write_v21(tmp_path, SMALL)
    (root / "meta/info.json").write_text('{"codebase_version": "v2.1", ')
    with pytest.raises(UnreadableError, match="no JSON"):
        open_recording(root)


def test_metadata_without_data(tmp_path):
    root = write_v21(tmp_path, SMALL)
    shutil.rmtree(root / "data")
    with pytest.raises(UnreadableError, match="not one data file"):
        open_recording(root)


def test_declared_columns_that_are_not_there_and_the_other_way_round(tmp_path):
    root = write_v21(tmp_path, SMALL)
    info = json.loads((root / "meta/info.json").read_text())
    info["features"]["observation.force"] = {"dtype": "float32", "shape": [3], "names": None}
    del info["features"]["action"]
    edit_info(root, features=info["features"])
    recording = open_recording(root)
    assert problems(recording) == [Problem.SCHEMA, Problem.SCHEMA]
    assert recording.read("action").num_rows == 36


def test_every_byte_of_a_small_dataset_may_be_cut(tmp_path):
    root = write_v30(tmp_path / "whole", Dataset(lengths=(4, 3), tasks=("a", "b"), video=False))
    files = [p for p in root.rglob("*") if p.is_file()]
    for file in files:
        whole = file.read_bytes()
        for size in range(0, len(whole), max(1, len(whole) // 8)):
            file.write_bytes(whole[:size])
            try:
                recording = open_recording(root)
                for _ in recording.scan():
                    pass
            except UnreadableError:
                pass
        file.write_bytes(whole)
