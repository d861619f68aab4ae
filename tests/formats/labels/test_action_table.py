"""What a table of actions says comes out as labels."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from action_files import write_actions

from twinloop.core.clock import Clock, Epoch
from twinloop.core.errors import UnreadableError
from twinloop.formats.reader import open_recording


def test_a_row_is_a_label(tmp_path: Path) -> None:
    with open_recording(write_actions(tmp_path)) as recording:
        assert recording.format == "action-table"
        stream = recording.streams["P01_01"]
        first = recording.read("P01_01").to_pylist()[0]
    assert stream.stamp_clock == Clock(Epoch.EPISODE, "P01_01")
    assert stream.attributes["video_fps"] == "50.0"
    data = json.loads(first.pop("data"))
    assert first == {
        "stamp_ns": 2_000_000_000,
        "end_ns": 3_500_000_000,
        "name": "take cup",
        "subject": "P01_01",
        "narrated_ns": 2_500_000_000,
        "start_frame": 101,
        "end_frame": 176,
    }
    assert data == {
        "row": 1,
        "narration_id": "P01_01_1",
        "participant_id": "P01",
        "verb": "take",
        "verb_class": "0",
        "noun": "cup",
        "noun_class": "13",
        "all_nouns": "['cup', 'plate']",
        "all_noun_classes": "[13, 2]",
    }


def test_a_table_without_words_and_frames_is_read(tmp_path: Path) -> None:
    path = tmp_path / "test.csv"
    path.write_text(
        "video_id,start_timestamp,stop_timestamp\nb,00:00:01.00,00:00:02.00\na,00:00:00.5,00:00:00.6\n"
    )
    with open_recording(path) as recording:
        assert list(recording.streams) == ["a", "b"]
        assert recording.read("b").column_names == ["stamp_ns", "end_ns", "name", "subject", "data"]


def test_rows_without_times_are_noted_and_left_out(tmp_path: Path) -> None:
    write_actions(tmp_path)
    path = tmp_path / "actions.csv"
    path.write_text(path.read_text().replace("00:00:02.00", "soon"))
    with open_recording(path) as recording:
        assert recording.read("P01_01").num_rows == 9
        assert [note.lost for note in recording.notes] == [1]


def test_a_table_of_nothing_but_bad_rows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("video_id,start_timestamp,stop_timestamp\nb,soon,later\n")
    with pytest.raises(UnreadableError):
        open_recording(path)
