"""ROS 2 bags as crashes and disks leave them."""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from ros2_bags import CUSTOM, CUSTOM_TYPE, IMAGE, JOINTS, split, write_bag
from rosbags.rosbag2 import CompressionMode

from twinloop.core.errors import TwinloopError, UnreadableError
from twinloop.core.kinds import Kind
from twinloop.core.recording import Problem, Recording
from twinloop.formats.reader import open_recording


def rows(recording: Recording) -> dict[str, int]:
    counts = dict.fromkeys(recording.streams, 0)
    for batch in recording.scan():
        counts[batch.stream] += len(batch)
    return counts


def page_of(db3: Path, row: int) -> int:
    """The byte of the page that holds the start of a row."""
    needle = (1_700_000_000_000_000_000 + (row - 1) * 10_000_000).to_bytes(8, "big")
    with closing(sqlite3.connect(db3)) as connection:
        size = connection.execute("PRAGMA page_size").fetchone()[0]
    return db3.read_bytes().index(needle) // size * size


def test_broken_pages_cost_their_rows_only(tmp_path: Path) -> None:
    path = write_bag(tmp_path / "take", images=False)
    db3 = path / "take.db3"
    page = page_of(db3, 200)
    data = bytearray(db3.read_bytes())
    data[page : page + 4096] = b"\xff" * 4096
    db3.write_bytes(data)
    with open_recording(path) as recording:
        found = rows(recording)[JOINTS]
        assert 360 < found < 400
        notes = [n for n in recording.notes if n.problem is Problem.CORRUPT]
        assert sum(n.lost or 0 for n in notes) == 400 - found
        assert notes[0].where.row is not None
        assert rows(recording)[JOINTS] == found


def test_a_file_cut_off(tmp_path: Path) -> None:
    path = write_bag(tmp_path / "take", images=False)
    db3 = path / "take.db3"
    data = db3.read_bytes()
    db3.write_bytes(data[: len(data) * 2 // 3])
    with open_recording(path) as recording:
        assert 0 < rows(recording)[JOINTS] < 400
        assert {n.problem for n in recording.notes} >= {Problem.TRUNCATED, Problem.CORRUPT}


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_what_a_crash_left_in_a_journal_is_recovered(tmp_path: Path, mode: str) -> None:
    path = write_bag(tmp_path / "take", images=False)
    db3, crashed = path / "take.db3", tmp_path / "crashed"
    with closing(sqlite3.connect(db3)) as connection:
        connection.execute(f"PRAGMA journal_mode={mode}")
        connection.execute("PRAGMA cache_size=1")
        connection.execute("UPDATE messages SET topic_id = topic_id WHERE id > 200")
        connection.execute("DELETE FROM messages WHERE id > 390")
        if mode == "WAL":
            connection.commit()
        shutil.copytree(path, crashed)  # as the disk is when the process dies
        connection.rollback()
    assert any(f.name.endswith(("-wal", "-journal")) and f.stat().st_size for f in crashed.iterdir())
    before = {f.name: f.read_bytes() for f in crashed.iterdir()}
    with open_recording(crashed) as recording:
        assert rows(recording)[JOINTS] == (390 if mode == "WAL" else 400)
        assert any("left by a crash" in n.message for n in recording.notes)
    assert {f.name: f.read_bytes() for f in crashed.iterdir()} == before


def test_metadata_that_is_no_yaml(tmp_path: Path) -> None:
    path = write_bag(tmp_path / "take")
    (path / "metadata.yaml").write_text("rosbag2_bagfile_information: [1, {")
    with open_recording(path) as recording:
        assert rows(recording) == {JOINTS: 400, IMAGE: 40}
        assert {n.problem for n in recording.notes} == {Problem.INDEX}


def test_declared_and_actual_counts(tmp_path: Path) -> None:
    path = write_bag(tmp_path / "take")
    metadata = path / "metadata.yaml"
    metadata.write_text(metadata.read_text().replace("message_count: 400", "message_count: 410"))
    with open_recording(path) as recording:
        (note,) = recording.notes
        assert (note.problem, note.lost, note.where.stream) == (Problem.COUNT, 10, JOINTS)


def test_a_missing_file_of_a_split_bag(tmp_path: Path) -> None:
    path = write_bag(tmp_path / "take", images=False)
    split(path, 3)
    (path / "take_1.db3").unlink()
    with open_recording(path) as recording:
        assert 250 < rows(recording)[JOINTS] < 280
        assert {n.problem for n in recording.notes} == {Problem.MISSING_FILE, Problem.COUNT}


def test_a_file_that_the_metadata_forgot(tmp_path: Path) -> None:
    path = write_bag(tmp_path / "take", images=False)
    split(path, 3)
    metadata = path / "metadata.yaml"
    metadata.write_text(metadata.read_text().replace("  - take_2.db3\n", ""))
    with open_recording(path) as recording:
        assert rows(recording)[JOINTS] == 400
        assert {n.problem for n in recording.notes} == {Problem.INDEX}


def test_a_definition_that_does_not_parse_leaves_the_messages_raw(tmp_path: Path) -> None:
    path = write_bag(tmp_path / "take", custom=True, images=False)
    with closing(sqlite3.connect(path / "take.db3")) as connection:
        connection.execute(
            "UPDATE message_definitions SET encoded_message_definition = 'float6? x' WHERE topic_type = ?",
            (CUSTOM_TYPE,),
        )
        connection.commit()
    with open_recording(path) as recording:
        assert recording.streams[CUSTOM].kind is Kind.RAW
        assert {n.problem for n in recording.notes} == {Problem.SCHEMA}


def test_a_broken_compressed_message(tmp_path: Path) -> None:
    path = write_bag(tmp_path / "take", compression=CompressionMode.MESSAGE, images=False)
    with closing(sqlite3.connect(path / "take.db3")) as connection:
        connection.execute("UPDATE messages SET data = x'28b52ffd00' WHERE id = 7")
        connection.commit()
    with open_recording(path) as recording:
        assert rows(recording)[JOINTS] == 399
        assert {n.problem for n in recording.notes} >= {Problem.CORRUPT}


def test_rows_that_are_no_messages(tmp_path: Path) -> None:
    path = write_bag(tmp_path / "take", images=False)
    with closing(sqlite3.connect(path / "take.db3")) as connection:
        connection.execute("UPDATE messages SET data = 'text' WHERE id = 7")
        connection.execute("UPDATE messages SET timestamp = 'noon' WHERE id = 8")
        connection.commit()
    with open_recording(path) as recording:
        assert rows(recording)[JOINTS] == 398
        assert {(n.problem, n.lost) for n in recording.notes} >= {
            (Problem.BAD_VALUE, 1),
            (Problem.UNDECODABLE, 1),
        }


def test_a_database_of_something_else_is_not_a_bag(tmp_path: Path) -> None:
    path = tmp_path / "other.db3"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE people (name TEXT)")
        connection.commit()
    with pytest.raises(UnreadableError):
        open_recording(path)


@pytest.mark.parametrize("compression", [CompressionMode.NONE, CompressionMode.FILE, CompressionMode.MESSAGE])
def test_any_byte_may_be_wrong(tmp_path: Path, compression: CompressionMode) -> None:
    path = write_bag(tmp_path / "take", seconds=0.5, compression=compression)
    files = {file: file.read_bytes() for file in path.iterdir()}
    chance = random.Random(5)
    for _ in range(80):
        for file, whole in files.items():
            data = bytearray(whole)
            if chance.random() < 0.7:
                for _ in range(chance.choice((1, 3, 30))):
                    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            if chance.random() < 0.3:
                del data[chance.randrange(len(data)) :]
            file.write_bytes(data)
        try:
            with open_recording(path) as recording:
                rows(recording)
        except TwinloopError:
            pass
