"""Recordings inside compressed files: unpacked, read, and nothing left behind."""

from __future__ import annotations

import gzip
import random
import tempfile
from collections.abc import Callable
from pathlib import Path

import lz4.frame
import pytest
import zstandard

from twinloop.core.errors import TwinloopError, UnreadableError
from twinloop.core.recording import Problem, Recording
from twinloop.formats import compressed
from twinloop.formats.reader import find_reader, open_recording
from twinloop.testing.synthetic import FOLLOWER, SessionSpec, record_session

Pack = Callable[[bytes], bytes]
PACKS: dict[str, Pack] = {"zst": zstandard.compress, "gz": gzip.compress, "lz4": lz4.frame.compress}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plain") / "take.mcap"
    record_session(path, SessionSpec(duration_s=4.0, cameras=(), compression="none", chunk_bytes=1 << 14))
    return path


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def rows(recording: Recording) -> int:
    return recording.read(FOLLOWER).num_rows


@pytest.mark.parametrize("kind", PACKS)
def test_the_recording_is_that_of_the_plain_file(
    plain: Path, tmp_path: Path, temporary: Path, kind: str
) -> None:
    path = tmp_path / f"take.mcap.{kind}"
    path.write_bytes(PACKS[kind](plain.read_bytes()))
    assert find_reader(path).name == "mcap"
    with open_recording(path) as recording, open_recording(plain) as expected:
        assert recording.path == path
        assert recording.files == (path,)
        assert recording.streams == expected.streams
        assert recording.read(FOLLOWER).equals(expected.read(FOLLOWER))
        attachment = recording.attachments[0]
        assert recording.read_attachment(attachment) == expected.read_attachment(expected.attachments[0])
        assert any(temporary.iterdir())
    assert not any(temporary.iterdir())


@pytest.mark.parametrize("kind", PACKS)
def test_a_file_cut_off_gives_what_could_be_unpacked(
    plain: Path, tmp_path: Path, temporary: Path, kind: str
) -> None:
    path = tmp_path / "no-suffix"
    packed = PACKS[kind](plain.read_bytes())
    path.write_bytes(packed[: len(packed) // 2])
    with open_recording(path) as recording, open_recording(plain) as expected:
        assert 0 < rows(recording) < rows(expected)
        note = recording.notes[0]
        assert note.problem is Problem.TRUNCATED
        assert note.where.file == str(path)
        assert note.where.byte == len(packed) // 2
        assert all(str(temporary) not in str(note.where) for note in recording.notes)


def test_frames_in_a_row_are_one_file(plain: Path, tmp_path: Path, temporary: Path) -> None:
    data = plain.read_bytes()
    for kind, pack in PACKS.items():
        path = tmp_path / f"take.{kind}"
        path.write_bytes(pack(data[:5000]) + pack(data[5000:]))
        with open_recording(path) as recording:
            assert recording.notes == []
            assert rows(recording) > 0


def test_a_bomb_is_refused_before_the_disk_is_full(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bomb.bag.zst"
    path.write_bytes(zstandard.compress(b"#ROSBAG V2.0\n" + bytes(3 << 20)))
    monkeypatch.setattr(compressed, "_DISK_MARGIN", 1 << 62)
    with pytest.raises(UnreadableError, match="does not fit on the disk") as error:
        open_recording(path)
    assert "TMPDIR" in str(error.value)
    assert not any(temporary.iterdir())


def test_something_else_inside_is_said(tmp_path: Path, temporary: Path) -> None:
    path = tmp_path / "notes.txt.gz"
    path.write_bytes(gzip.compress(b"just some words, no recording"))
    with pytest.raises(UnreadableError, match="no known format"):
        open_recording(path)
    assert not any(temporary.iterdir())


@pytest.mark.parametrize("kind", PACKS)
def test_any_byte_may_be_wrong(plain: Path, tmp_path: Path, temporary: Path, kind: str) -> None:
    whole = PACKS[kind](plain.read_bytes())
    path = tmp_path / "broken"
    chance = random.Random(3)
    for _ in range(25):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 3, 30))):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
        try:
            with open_recording(path) as recording:
                for _batch in recording.scan():
                    pass
        except TwinloopError:
            pass
    assert not any(temporary.iterdir())
