"""A folder is looked at until what is in it has come to rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from twinloop.store.arrivals.folder import DropFolder, Look
from twinloop.testing.synthetic import SessionSpec, record_session

TINY = SessionSpec(duration_s=2.0, cameras=(), follower_hz=10.0, leader_hz=0.0)


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def folder(tmp_path, clock) -> DropFolder:
    (tmp_path / "drop").mkdir()
    return DropFolder(tmp_path / "drop", settle_s=5.0, grace_s=600.0, clock=clock)


def nothing_done(name: str, state: str) -> bool:
    return False


def names(look: Look) -> dict[str, list[str]]:
    return {
        field: sorted(arrival.name for arrival in getattr(look, field))
        for field in ("ready", "settling", "unfinished")
    }


def settle(folder: DropFolder, clock: Clock, seconds: float = 6.0) -> Look:
    folder.look(nothing_done)
    clock.now_s += seconds
    return folder.look(nothing_done)


def test_a_file_is_ready_once_it_rests(folder, clock):
    path = folder.root / "a.mcap"
    record_session(path, TINY)
    assert names(folder.look(nothing_done)) == {"ready": [], "settling": ["a.mcap"], "unfinished": []}
    clock.now_s += 4
    path.write_bytes(path.read_bytes() + b"more")
    assert names(folder.look(nothing_done))["settling"] == ["a.mcap"]
    record_session(path, TINY)
    assert names(settle(folder, clock))["ready"] == ["a.mcap"]
    assert names(folder.look(lambda name, state: True)) == {"ready": [], "settling": [], "unfinished": []}


def test_what_never_ends_is_taken_after_the_grace(folder, clock):
    path = folder.root / "a.mcap"
    record_session(path, TINY)
    path.write_bytes(path.read_bytes()[:-100])
    (folder.root / "b.bag.active").write_bytes(b"#ROSBAG V2.0\n")
    look = settle(folder, clock)
    assert names(look) == {"ready": [], "settling": [], "unfinished": ["a.mcap", "b.bag.active"]}
    assert "magic" in look.unfinished[0].waits
    clock.now_s += 600
    late = folder.look(nothing_done)
    assert names(late)["ready"] == ["a.mcap", "b.bag.active"]
    assert all(arrival.waits for arrival in late.ready)


def test_a_file_that_is_open_for_writing_waits(folder, clock):
    path = folder.root / "a.mcap"
    record_session(path, TINY)
    with path.open("ab"):
        look = settle(folder, clock)
        assert names(look)["unfinished"] == ["a.mcap"]
        assert "open for writing" in look.unfinished[0].waits
    assert names(folder.look(nothing_done))["ready"] == ["a.mcap"]


def test_companions_hidden_files_and_stores_are_no_arrivals(folder, clock):
    for name in ("session.toml", "mapping.toml", "x.csv.twinloop.toml", ".hidden", "store/store.toml"):
        (folder.root / name).parent.mkdir(exist_ok=True)
        (folder.root / name).write_text("")
    assert names(settle(folder, clock)) == {"ready": [], "settling": [], "unfinished": []}


def test_recordings_in_folders_and_folders_that_are_recordings(folder, clock):
    day, bag = folder.root / "monday", folder.root / "bag"
    day.mkdir(), bag.mkdir()
    record_session(day / "a.mcap", TINY)
    record_session(bag / "bag_0.mcap", TINY)
    assert names(settle(folder, clock)) == {
        "ready": ["monday/a.mcap"],
        "settling": [],
        "unfinished": ["bag/bag_0.mcap"],
    }


def test_plain_files_wait_for_the_outermost_folder(folder, clock):
    """A table may be a part of a dataset that is still being copied; an MCAP file is a recording by itself."""
    day = folder.root / "day"
    day.mkdir()
    (day / "times.csv").write_text("timestamp,x\n1,2\n2,3\n")
    record_session(day / "a.mcap", TINY)
    folder.look(nothing_done)
    clock.now_s += 6
    (day / ".copying").write_text("more")
    assert names(folder.look(nothing_done)) == {
        "ready": ["day/a.mcap"],
        "settling": ["day/times.csv"],
        "unfinished": [],
    }
    assert names(settle(folder, clock))["ready"] == ["day/a.mcap", "day/times.csv"]


def test_names_that_are_no_text(folder, clock):
    path = Path(str(folder.root) + "/a\udcff.mcap")
    path.write_bytes(b"x")
    assert names(settle(folder, clock))["ready"] == ["a\\xff.mcap"]
