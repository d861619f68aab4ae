"""What files of tracked boxes say comes out as said."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from mot_files import FRAMES, write_detrac, write_mot, write_truth, write_vatic

from twinloop.core.errors import UnreadableError
from twinloop.formats.reader import find_reader, open_recording


def test_boxes_are_corners_with_frames_and_identities(tmp_path: Path) -> None:
    with open_recording(write_mot(tmp_path / "test.txt")) as recording:
        stream = recording.streams["boxes"]
        assert (stream.count, stream.attributes["tracks"]) == (FRAMES, "2")
        row = recording.read("boxes").to_pylist()[1]
    assert (row["seq"], row["message"], row["track"], row["score"]) == (1, 0, "2", 0.7)
    assert row["box"] == [101.0, 50.5, 141.0, 130.5]


def test_truth_sorted_by_track_is_one_message_a_box(tmp_path: Path) -> None:
    with open_recording(write_truth(tmp_path / "gt.txt")) as recording:
        table = recording.read("boxes")
        assert len(np.unique(table.column("message"))) == recording.streams["boxes"].count
        row = table.to_pylist()[-1]
    assert (row["category"], json.loads(row["data"])) == ("2", {"visibility": 0.75})


def test_detrac_and_vatic_have_words(tmp_path: Path) -> None:
    with open_recording(write_detrac(tmp_path / "a.xml")) as recording:
        row = recording.read("boxes").to_pylist()[0]
        assert recording.metadata["camera_state"] == "stable"
    assert (row["category"], row["box"]) == ("car", [101.0, 50.5, 141.0, 130.5])
    assert json.loads(row["data"]) == {"orientation": "20"}
    with open_recording(write_vatic(tmp_path / "b.txt")) as recording:
        row = recording.read("boxes").to_pylist()[3]
    assert (row["category"], row["seq"], row["box"]) == ("worker", 3, [103.0, 50.0, 143.0, 130.0])
    assert json.loads(row["data"])["attributes"] == ["bent down"]


@pytest.mark.parametrize(
    "line", ["1,1,2,3,4,5,6,7,8,9", "1,1,2,3,0,5,1,-1,-1,-1", "1,1,2,3,4,5,2,1,0.5", "a" + ",1" * 9]
)
def test_other_tables_are_not_claimed(tmp_path: Path, line: str) -> None:
    (tmp_path / "a.txt").write_text(f"{line}\n{line}\n")
    with pytest.raises(UnreadableError):
        find_reader(tmp_path / "a.txt")


def test_real_boxes(test_data: Path) -> None:
    folder = test_data / "mot-tud/motmetrics/data"
    found = {}
    for name in (
        "TUD-Campus/gt.txt",
        "TUD-Campus/test.txt",
        "iotest/detrac.xml",
        "iotest/motchallenge.txt",
        "iotest/vatic.txt",
    ):
        with open_recording(folder / name) as recording:
            assert recording.format == "mot"
            table = recording.read("boxes")
            found[name] = (table.num_rows, len(np.unique(table.column("seq"))))
            assert not recording.notes
    assert found["TUD-Campus/gt.txt"] == (359, 71)
    assert found["TUD-Campus/gt.txt"][0] + found["TUD-Campus/test.txt"][0] == 581
