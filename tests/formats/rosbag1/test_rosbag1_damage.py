"""ROS 1 bags as crashes leave them: what is there is read, what is not is said."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from ros1_bags import IMAGE, IMU, JOINTS, chunk_positions, drop_index, write_bag

from twinloop.core.errors import TwinloopError, UnreadableError
from twinloop.core.kinds import Kind
from twinloop.core.recording import Problem, Recording
from twinloop.formats.reader import open_recording


def rows(recording: Recording) -> dict[str, int]:
    counts = dict.fromkeys(recording.streams, 0)
    for batch in recording.scan():
        counts[batch.stream] += len(batch)
    return counts


def problems(recording: Recording) -> set[Problem]:
    return {note.problem for note in recording.notes}


WHOLE = {JOINTS: 400, IMU: 200, IMAGE: 40}


@pytest.mark.parametrize("compression", ["none", "lz4", "bz2"])
def test_no_index_costs_nothing_but_a_note(tmp_path: Path, compression: str) -> None:
    path = write_bag(tmp_path / "take.bag", compression=compression)
    drop_index(path)
    with open_recording(path) as recording:
        assert {name: s.count for name, s in recording.streams.items()} == WHOLE
        assert rows(recording) == WHOLE
        assert problems(recording) == {Problem.INDEX}
        assert "did not finish" in recording.notes[0].message


@pytest.mark.parametrize("compression", ["none", "lz4"])
def test_a_chunk_cut_off_gives_the_messages_before_the_cut(tmp_path: Path, compression: str) -> None:
    path = write_bag(tmp_path / "take.bag", compression=compression)
    cut = (chunk_positions(path)[3] + chunk_positions(path)[4]) // 2
    path.write_bytes(path.read_bytes()[:cut])
    with open_recording(path) as recording:
        found = rows(recording)
        assert Problem.TRUNCATED in problems(recording)
        assert 0 < found[JOINTS] < 400


def test_the_last_chunk_of_a_killed_recorder_has_no_length(tmp_path: Path) -> None:
    path = write_bag(tmp_path / "take.bag")
    last = chunk_positions(path)[-1]
    drop_index(path)
    data = bytearray(path.read_bytes())
    size_at = data.index(b"size=", last) + 5
    size = int.from_bytes(data[size_at : size_at + 4], "little")
    data[size_at : size_at + 4] = bytes(4)
    data[size_at + 4 : size_at + 8] = bytes(4)
    path.write_bytes(data[: size_at + 8 + size - 10])
    with open_recording(path) as recording:
        counts = rows(recording)
        assert sum(WHOLE.values()) - sum(counts.values()) == 1
        assert Problem.TRUNCATED in problems(recording)
        assert counts == {name: stream.count for name, stream in recording.streams.items()}


def test_an_index_that_lies_is_not_believed(tmp_path: Path) -> None:
    path = write_bag(tmp_path / "take.bag")
    data = bytearray(path.read_bytes())
    at = data.index(b"op=\x04", chunk_positions(path)[1])
    entry = data.index(b"count=", at) + 10 + 4 + 8
    data[entry : entry + 4] = (12345).to_bytes(4, "little")
    path.write_bytes(data)
    with open_recording(path) as recording:
        assert rows(recording) == WHOLE
        notes = [note for note in recording.notes if note.problem is Problem.INDEX]
        assert len(notes) == 1
        assert notes[0].where.byte == chunk_positions(path)[1]


def test_chunks_that_the_index_misplaces_are_searched_for(tmp_path: Path) -> None:
    path = write_bag(tmp_path / "take.bag")
    data = bytearray(path.read_bytes())
    at = data.index(b"chunk_pos=", data.index(b"op=\x06")) + 10
    data[at : at + 8] = (2**40).to_bytes(8, "little")
    path.write_bytes(data)
    with open_recording(path) as recording:
        assert rows(recording) == WHOLE
        assert problems(recording) == {Problem.INDEX}


def test_broken_bytes_in_a_compressed_chunk(tmp_path: Path) -> None:
    path = write_bag(tmp_path / "take.bag", compression="bz2", images=False)
    where = chunk_positions(path)[1]
    data = bytearray(path.read_bytes())
    data[where + 300 : where + 340] = bytes(40)
    path.write_bytes(data)
    with open_recording(path) as recording:
        found = rows(recording)
        assert found[JOINTS] < 400
        (note,) = [n for n in recording.notes if n.problem is Problem.CORRUPT]
        assert note.where.byte == where
        assert note.lost == 400 + 200 - found[JOINTS] - found[IMU]


def test_broken_bytes_in_a_plain_chunk_cost_one_message(tmp_path: Path) -> None:
    path = write_bag(tmp_path / "take.bag", images=False)
    data = bytearray(path.read_bytes())
    header = data.index(b"op=\x02", chunk_positions(path)[1] + 4000) - 4
    data[header - 4 : header + 20] = b"\xff" * 24
    path.write_bytes(data)
    with open_recording(path) as recording:
        assert sum(rows(recording).values()) == 599
        note = next(n for n in recording.notes if n.problem is Problem.CORRUPT)
        assert note.lost == 1
        assert abs((note.where.byte or 0) - header) <= 8


def test_a_definition_that_does_not_parse_leaves_the_messages_raw(tmp_path: Path) -> None:
    path = write_bag(tmp_path / "take.bag", images=False)
    data = path.read_bytes().replace(b"float64[] position", b"float6?[] position")
    path.write_bytes(data)
    with open_recording(path) as recording:
        assert recording.streams[JOINTS].kind is Kind.RAW
        assert problems(recording) == {Problem.SCHEMA}
        sizes = [p.nbytes for batch in recording.scan([JOINTS]) for p in batch.payload or ()]
        assert len(sizes) == 400


def test_a_second_scan_notes_nothing_twice(tmp_path: Path) -> None:
    path = write_bag(tmp_path / "take.bag", images=False)
    data = bytearray(path.read_bytes())
    header = data.index(b"op=\x02", chunk_positions(path)[1] + 4000) - 4
    data[header - 4 : header + 20] = b"\xff" * 24
    path.write_bytes(data)
    with open_recording(path) as recording:
        rows(recording)
        first = list(recording.notes)
        rows(recording)
        assert recording.notes == first


@pytest.mark.parametrize(
    "data",
    [
        b"#ROSBAG V2.0\n",
        b"#ROSBAG V1.2\nabc",
        b"#ROSBAG V2.0\n" + bytes(5000),
        b"#ROSBAG V2.0\n" + b"\xff" * 5000,
    ],
)
def test_nothing_to_read_is_a_clear_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "bad.bag"
    path.write_bytes(data)
    with pytest.raises(UnreadableError):
        open_recording(path)


@pytest.mark.parametrize("compression", ["none", "lz4", "bz2"])
def test_any_byte_may_be_wrong(tmp_path: Path, compression: str) -> None:
    whole = write_bag(
        tmp_path / "whole.bag", seconds=0.6, compression=compression, chunk_bytes=1 << 13
    ).read_bytes()
    path = tmp_path / "broken.bag"
    chance = random.Random(5)
    for _ in range(120):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 3, 30))):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        if chance.random() < 0.3:
            del data[chance.randrange(len(data)) :]
        if chance.random() < 0.2:
            at = chance.randrange(len(data) + 1)
            data[at : at + 50] = np.random.default_rng(chance.randrange(99)).bytes(50)
        path.write_bytes(data)
        try:
            with open_recording(path) as recording:
                rows(recording)
        except TwinloopError:
            pass
