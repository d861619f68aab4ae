"""Pictures are sorted into streams by their names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scenes import deep_png, jpeg, png

from twinloop.core.calibration import cameras_of
from twinloop.core.clock import Epoch
from twinloop.core.kinds import Kind, StampSource
from twinloop.core.recording import Problem
from twinloop.formats.image_folder.grouping import groups_of
from twinloop.formats.image_folder.reader import READER
from twinloop.formats.reader import open_recording


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["left01", "left02", "right01", "left"], {"left": [1, 2], "right": [1], "left.png": None}),
        (["cam01_01_int", "cam01_02_int", "cam02_01_int"], {"cam01_int": [1, 2], "cam02_int": [1]}),
        (["000", "001"], {"images": [0, 1]}),
        (["a", "b"], {"a": None, "b": None}),
        ([f"{word}x" for word in "abcdefghijklmnopqrst"], {"images": None}),
    ],
)
def test_numbered_pictures_are_one_stream(names: list[str], expected: dict[str, list[int] | None]) -> None:
    groups = groups_of([Path(f"{name}.png") for name in names])
    found = {group.name: None if group.times.seq is None else group.times.seq.tolist() for group in groups}
    assert found == expected
    assert sum(len(group.files) for group in groups) == len(names)


def test_names_that_are_times_are_times(tmp_path: Path) -> None:
    for k in range(3):
        (tmp_path / f"{1_403_636_579_763_555_584 + k * 50_000_000}.png").write_bytes(png(k))
    with open_recording(tmp_path) as recording:
        stream = recording.streams["images"]
        stamps = recording.read("images").column("stamp_ns").to_pylist()
    assert stamps == [1_403_636_579_763_555_584 + k * 50_000_000 for k in range(3)]
    assert (stream.stamp_source, stream.stamp_clock.epoch) == (StampSource.DRIVER, Epoch.UNIX)


def test_pictures_are_as_they_were_and_gaps_are_told(tmp_path: Path) -> None:
    for k in (1, 2, 4, 5):
        (tmp_path / f"left{k}.jpg").write_bytes(jpeg(k))
        (tmp_path / f"depth{k}.png").write_bytes(deep_png(k))
    with open_recording(tmp_path) as recording:
        assert recording.metadata["numbers_missing/left"] == "3"
        assert recording.streams["depth"].kind is Kind.DEPTH
        (batch,) = recording.scan(["left"])
    assert batch.payload is not None
    assert [bytes(picture) for picture in batch.payload] == [jpeg(k) for k in (1, 2, 4, 5)]
    assert batch.columns.column("seq").to_pylist() == [1, 2, 4, 5]
    assert batch.columns.column("file").to_pylist()[0] == "left1.jpg"


def test_a_picture_that_is_none_is_noted(tmp_path: Path) -> None:
    for k in range(4):
        (tmp_path / f"{k}.png").write_bytes(png(k) if k != 2 else b"not a picture")
    with open_recording(tmp_path) as recording:
        assert np.asarray(recording.read("images").column("seq")).tolist() == [0, 1, 3]
        assert [(note.problem, note.lost) for note in recording.notes] == [(Problem.CORRUPT, 1)]


@pytest.mark.parametrize("other", ["take.mcap", "more/x.txt", "a.txt b.txt c.txt"])
def test_a_folder_of_other_things_is_not_claimed(tmp_path: Path, other: str) -> None:
    for k in range(2):
        (tmp_path / f"{k}.png").write_bytes(png(k))
    for name in other.split():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    assert not READER.sniff(tmp_path, b"")


def test_real_stereo_pairs_lack_number_ten(test_data: Path) -> None:
    folder = test_data / "stereo-calib-opencv/usr/share/doc/opencv-doc/examples/data"
    with open_recording(folder) as recording:
        assert recording.format == "image-folder"
        numbers = {name: recording.read(name).column("seq").to_pylist() for name in ("left", "right")}
        assert recording.metadata["numbers_missing/left"] == "10"
        assert cameras_of(recording.calibration)["left"].error_px == pytest.approx(0.3926, abs=1e-4)
        assert {"aloeL", "aloeR", "aloeGT", "left.jpg", "right.jpg"} <= set(recording.streams)
    assert numbers["left"] == numbers["right"] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14]
