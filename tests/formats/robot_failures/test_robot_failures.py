"""Windows are episodes, their classes outcomes and labels."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from failure_files import CLASSES, write_windows

from twinloop.core.errors import UnreadableError
from twinloop.core.kinds import StampSource
from twinloop.formats.reader import find_reader, open_recording


def test_a_window_is_an_episode(tmp_path: Path) -> None:
    with open_recording(write_windows(tmp_path / "lp1.data")) as recording:
        stream = recording.streams["force_torque"]
        rows = recording.read("force_torque").to_pylist()
        labels = recording.read("failure").to_pylist()
    assert [episode.outcome for episode in recording.episodes] == list(CLASSES)
    assert {episode.end_ns - episode.start_ns for episode in recording.episodes} == {315_000_000}
    assert [label["name"] for label in labels] == list(CLASSES)
    assert (stream.stamp_source, stream.units["force"]) == (StampSource.GRID, "undeclared")
    assert (rows[16]["force"], rows[16]["torque"], rows[16]["window"]) == (
        [1.0, 1.0, 63.0],
        [-3.0, -1.0, 0.0],
        1,
    )


def test_a_window_that_is_not_whole_is_noted(tmp_path: Path) -> None:
    path = write_windows(tmp_path / "lp1.data")
    path.write_text(path.read_text().replace("\t1\t3\t63", "\tone\t3\t63"))
    with open_recording(path) as recording:
        assert len(recording.episodes) == 3
        assert [note.lost for note in recording.notes] == [15]


def test_words_and_other_numbers_are_not_claimed(tmp_path: Path) -> None:
    (tmp_path / "a.data").write_text("normal\n" + "1 2 3 4 5 6\n" * 15)
    with pytest.raises(UnreadableError):
        find_reader(tmp_path / "a.data")


@pytest.mark.parametrize(
    ("file", "windows", "most"),
    [("lp1", 88, ("obstruction", 34)), ("lp2", 47, ("normal", 20)), ("lp3", 47, ("ok", 20))],
)
def test_real_windows(test_data: Path, file: str, windows: int, most: tuple[str, int]) -> None:
    with open_recording(test_data / f"uci-robot-failures/{file}.data") as recording:
        assert recording.format == "robot-failures"
        assert recording.read("force_torque").num_rows == 15 * windows
        assert Counter(episode.outcome for episode in recording.episodes).most_common(1) == [most]
        assert not recording.notes
