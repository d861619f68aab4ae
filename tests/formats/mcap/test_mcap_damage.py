"""MCAP files that are cut off, corrupt, or lie about what they hold: what can be read is, the rest is noted."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import mcap_files
import numpy as np
import pytest
from mcap.opcode import Opcode
from mcap.writer import Writer
from mcap_files import START_NS, patched, records

from twinloop.core.errors import TwinloopError, UnreadableError
from twinloop.core.kinds import Kind
from twinloop.core.recording import Problem, ReadNote, Recording
from twinloop.formats.reader import open_recording


def opened(tmp_path: Path, data: bytes) -> Recording:
    path = tmp_path / "file.mcap"
    path.write_bytes(data)
    return open_recording(path)


def read(tmp_path: Path, data: bytes) -> tuple[dict[str, list[int]], list[ReadNote]]:
    """Stream -> sequence numbers, and the notes but for those of the raw channel."""
    with opened(tmp_path, data) as recording:
        found: dict[str, list[int]] = {}
        for batch in recording.scan():
            found.setdefault(batch.stream, []).extend(batch.columns["seq"].to_pylist())
        again = sum(map(len, recording.scan()))
        assert again == sum(map(len, found.values()))
        notes = [note for note in recording.notes if note.problem is not Problem.SCHEMA]
        assert all(note.where.file == str(tmp_path / "file.mcap") for note in notes)
        return found, notes


def count(found: dict[str, list[int]]) -> int:
    return sum(map(len, found.values()))


def chunks(data: bytes) -> list[tuple[int, int]]:
    """(byte, whole length) of the chunks."""
    return [(at, size) for opcode, at, size in records(data) if opcode == Opcode.CHUNK]


def test_cut_inside_a_chunk(tmp_path: Path) -> None:
    data = mcap_files.write("plain")
    at, size = chunks(data)[5]
    whole, notes = read(tmp_path, data[:at])
    assert [(n.problem, n.where.byte, n.lost) for n in notes] == [(Problem.TRUNCATED, at, 0)]
    for compression in ("plain", "zstd", "lz4"):
        data = mcap_files.write(compression)
        at, size = chunks(data)[5]
        found, notes = read(tmp_path, data[: at + size - 20])
        assert count(found) >= count(read(tmp_path, data[:at])[0])
        assert {n.problem for n in notes} == {Problem.TRUNCATED}
        assert (notes[0].where.byte, notes[0].lost) == (at + size - 20, None)
        assert f"the chunk that starts at byte {at}" in notes[0].message
    assert count(found) >= count(whole)


def noise(writer: Writer) -> None:
    """One channel of 60 messages that do not compress."""
    rng = np.random.default_rng(0)
    channel = writer.register_channel("/noise", "blob", 0)
    for i in range(60):
        writer.add_message(channel, START_NS + i, rng.bytes(20_000), 0, i)


@pytest.mark.parametrize("shape", ["one_chunk", "one_lz4_chunk", "one_plain_chunk"])
def test_messages_of_a_cut_chunk_up_to_the_cut(tmp_path: Path, shape: str) -> None:
    data = mcap_files.write(shape, fill=noise)
    [(at, size)] = chunks(data)
    for share in (0.3, 0.6, 0.9):
        found, notes = read(tmp_path, data[: at + int(size * share)])
        assert found["/noise"] == list(range(len(found["/noise"])))
        assert 60 * share - 10 < len(found["/noise"]) <= 60 * share
        assert {n.problem for n in notes} == {Problem.TRUNCATED}


def test_cut_between_a_message_and_the_next(tmp_path: Path) -> None:
    data = mcap_files.write("unchunked")
    messages = [(at, size) for opcode, at, size in records(data) if opcode == Opcode.MESSAGE]
    at, size = messages[100]
    for cut, left, lost in ((at, 100, 0), (at + 40, 100, 1), (at + size, 101, 0)):
        found, notes = read(tmp_path, data[:cut])
        assert count(found) == left
        assert [(n.problem, n.where.byte, n.lost) for n in notes] == [(Problem.TRUNCATED, cut, lost)]


def test_cut_inside_the_summary_loses_nothing(tmp_path: Path) -> None:
    data = mcap_files.write()
    footer = len(data) - 37
    found, notes = read(tmp_path, data[: footer - 100])
    assert count(found) == 400
    assert [(n.problem, n.lost) for n in notes] == [(Problem.TRUNCATED, 0)]
    assert "inside its summary" in notes[0].message


def test_cut_right_after_the_magic(tmp_path: Path) -> None:
    data = mcap_files.write()
    for size in (8, 12, 40):
        found, notes = read(tmp_path, data[:size])
        assert found == {} and notes[-1].problem is Problem.TRUNCATED
    with pytest.raises(UnreadableError):
        opened(tmp_path, data[:5])
    with pytest.raises(UnreadableError):
        opened(tmp_path, b"")


@pytest.mark.parametrize("shape", ["plain", "lz4", "zstd"])
def test_a_chunk_that_fails_its_crc(tmp_path: Path, shape: str) -> None:
    data = mcap_files.write(shape)
    at, _size = chunks(data)[3]
    crc = at + 9 + 24
    found, notes = read(tmp_path, patched(data, crc, b"\x01\x02\x03\x04", seal=False))
    assert count(found) == 400
    assert [(n.problem, n.where.byte, n.lost) for n in notes] == [(Problem.CORRUPT, at, 0)]
    assert "CRC" in notes[0].message


def test_a_chunk_whose_messages_do_not_all_parse(tmp_path: Path) -> None:
    data = mcap_files.write("plain")
    at, _size = chunks(data)[3]
    torn = data[:at] + data[at : at + 400] + bytes(30) + data[at + 430 :]
    found, notes = read(tmp_path, torn)
    assert 390 <= count(found) < 400
    corrupt = next(n for n in notes if n.problem is Problem.CORRUPT)
    assert corrupt.where.byte == at
    assert sum(note.lost or 0 for note in notes) == 400 - count(found)


def test_a_chunk_that_does_not_decompress(tmp_path: Path) -> None:
    for shape in ("zstd", "lz4"):
        data = mcap_files.write(shape)
        all_chunks = chunks(data)
        at, size = all_chunks[3]
        torn = data[: at + 60] + bytes(size - 60) + data[at + size :]
        found, notes = read(tmp_path, torn)
        lost = 400 - count(found)
        assert 0 < lost <= 400 / len(all_chunks) + 10
        corrupt = [n for n in notes if n.problem is Problem.CORRUPT]
        assert [(n.where.byte, n.lost) for n in corrupt] == [(at, lost)]


def test_a_declared_size_that_the_bytes_cannot_hold(tmp_path: Path) -> None:
    data = mcap_files.write()
    at, _size = chunks(data)[0]
    index = next(r for r in records(data) if r[0] == Opcode.CHUNK_INDEX)
    enormous = (1 << 60).to_bytes(8, "little")
    lying = patched(patched(data, at + 9 + 16, enormous), index[1] + index[2] - 8, enormous)
    found, notes = read(tmp_path, lying)
    assert 300 < count(found) < 400
    assert (
        notes[0].problem is Problem.CORRUPT
        and notes[0].where.byte == at
        and notes[0].lost == 400 - count(found)
    )


def test_a_summary_that_fails_its_crc(tmp_path: Path) -> None:
    data = mcap_files.write()
    statistics = next(r for r in records(data) if r[0] == Opcode.STATISTICS)
    found, notes = read(tmp_path, patched(data, statistics[1] + 9, b"\x07", seal=False))
    assert count(found) == 400
    assert [n.problem for n in notes] == [Problem.INDEX] and "CRC" in notes[0].message


def test_statistics_that_differ_from_the_data(tmp_path: Path) -> None:
    data = mcap_files.write()
    _, at, _size = next(r for r in records(data) if r[0] == Opcode.STATISTICS)
    counts = data.index(struct.pack("<HQ", 1, 200), at)
    lying = patched(patched(data, counts + 2, struct.pack("<Q", 210)), at + 9, struct.pack("<Q", 410))
    found, notes = read(tmp_path, lying)
    assert count(found) == 400
    assert [(n.problem, n.where.stream, n.lost) for n in notes] == [(Problem.COUNT, "/value", 10)]
    assert "210" in notes[0].message and "200" in notes[0].message


def lies() -> dict[str, tuple[int, bytes]]:
    """Where an index says something else, and the bytes that make it."""
    data = mcap_files.write("zstd")
    found = records(data)
    chunk_index = [r for r in found if r[0] == Opcode.CHUNK_INDEX][2]
    message_index = [r for r in found if r[0] == Opcode.MESSAGE_INDEX][4]
    entry = message_index[1] + 9 + 6
    footer = len(data) - 37
    return {
        "chunk elsewhere": (chunk_index[1] + 9 + 16, struct.pack("<Q", 5000)),
        "chunk outside the file": (chunk_index[1] + 9 + 16, struct.pack("<Q", 1 << 50)),
        "chunk length": (chunk_index[1] + 9 + 24, struct.pack("<Q", 70)),
        "chunk that is left out": (chunk_index[1], b"\x0e"),
        "message time": (entry, struct.pack("<Q", 5)),
        "message offset": (entry + 8, struct.pack("<Q", 3)),
        "message offset outside": (entry + 8, struct.pack("<Q", 1 << 40)),
        "message index of another channel": (message_index[1] + 9, struct.pack("<H", 4)),
        "message index with fewer entries": (message_index[1] + 11, struct.pack("<I", 16)),
        "summary elsewhere": (footer + 9, struct.pack("<Q", 700)),
        "summary outside": (footer + 9, struct.pack("<Q", 1 << 60)),
    }


@pytest.mark.parametrize("lie", lies())
def test_an_index_that_lies_loses_nothing(tmp_path: Path, lie: str) -> None:
    at, new = lies()[lie]
    data = mcap_files.write("zstd")
    found, notes = read(tmp_path, patched(data, at, new, seal="summary" not in lie))
    assert count(found) == 400
    assert found["/value"] == [i for i in range(400) if i % 4 < 2]
    assert {n.problem for n in notes} <= {Problem.INDEX, Problem.COUNT, Problem.CORRUPT}
    assert Problem.INDEX in {n.problem for n in notes}


def test_chunk_times_that_lie_are_noted(tmp_path: Path) -> None:
    data = mcap_files.write()
    index = [r for r in records(data) if r[0] == Opcode.CHUNK_INDEX][2]
    found, notes = read(tmp_path, patched(data, index[1] + 9, struct.pack("<QQ", START_NS, START_NS + 1)))
    assert count(found) == 400
    assert [n.problem for n in notes] == [Problem.INDEX] and "times" in notes[0].message


def test_bytes_that_are_no_record_are_passed_over(tmp_path: Path) -> None:
    for shape, damaged in (
        ("unchunked", Opcode.MESSAGE),
        ("unchunked_bare", Opcode.MESSAGE),
        ("bare", Opcode.CHUNK),
    ):
        data = mcap_files.write(shape)
        places = [(at, size) for opcode, at, size in records(data) if opcode == damaged]
        at, _size = places[len(places) // 2]
        found, notes = read(tmp_path, patched(data, at, b"\x00" * 9, seal=False))
        assert 400 - 45 < count(found) < 400
        corrupt = [n for n in notes if n.problem is Problem.CORRUPT]
        assert [(n.where.byte, n.lost) for n in corrupt] == [(at, None)]


def test_messages_of_a_channel_that_nothing_describes(tmp_path: Path) -> None:
    data = mcap_files.write("unchunked")
    for opcode, at, _ in records(data)[20:40]:
        if opcode == Opcode.MESSAGE:
            data = patched(data, at + 9, struct.pack("<H", 77))
            break
    found, notes = read(tmp_path, data)
    assert count(found) == 399
    strangers = next(n for n in notes if n.problem is Problem.CORRUPT)
    assert "channel 77" in strangers.message and strangers.lost == 1


def schemas(writer: Writer) -> None:
    for name, encoding, schema_encoding, schema in (
        ("/proto", "protobuf", "protobuf", b"\xff\xff"),
        ("/json", "json", "jsonschema", b"{broken"),
        ("/none", "protobuf", "", b""),
        ("/cbor", "cbor", "", b""),
    ):
        schema_id = writer.register_schema("some.Type", schema_encoding, schema)
        channel = writer.register_channel(name, encoding, schema_id)
        writer.add_message(channel, START_NS, b"payload", START_NS)


def test_schemas_that_do_not_parse_leave_the_messages_raw(tmp_path: Path) -> None:
    with opened(tmp_path, mcap_files.write(fill=schemas)) as recording:
        assert {stream.kind for stream in recording.streams.values()} == {Kind.RAW}
        assert [(n.problem, n.where.stream) for n in recording.notes] == [
            (Problem.SCHEMA, name) for name in ("/proto", "/json", "/none", "/cbor")
        ]
        assert [bytes(batch.payload[0]) for batch in recording.scan() if batch.payload] == [b"payload"] * 4


def test_messages_that_do_not_fit_their_schema(tmp_path: Path) -> None:
    def fill(writer: Writer) -> None:
        channel = writer.register_channel("/json", "json", 0)
        for i, text in enumerate((b'{"a": 1}', b"{", b'{"a": 2}', b"]")):
            writer.add_message(channel, START_NS + i, text, 0, i)

    found, notes = read(tmp_path, mcap_files.write(fill=fill))
    assert found == {"/json": [0, 2]}
    assert [(n.problem, n.lost, n.where.time_ns) for n in notes] == [(Problem.UNDECODABLE, 2, START_NS + 1)]


def test_an_attachment_that_fails_its_crc_or_is_cut(tmp_path: Path) -> None:
    data = mcap_files.write()
    at = data.index(b"as carried")
    with opened(tmp_path, patched(data, at, b"is")) as recording:
        assert recording.read_attachment(recording.attachments[0]).startswith(b"is carried")
        assert recording.notes[-1].problem is Problem.CORRUPT and recording.notes[-1].where.byte == at


def test_no_permission_and_no_file(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="no such file"):
        open_recording(tmp_path / "nothing.mcap")


def damaged_versions(data: bytes, seed: int) -> Any:
    """Random cuts and flips, with the byte from which on the file is not what it was."""
    rng = np.random.default_rng(seed)
    for _ in range(40):
        cut = int(rng.integers(0, len(data)))
        yield data[:cut], cut
    for _ in range(80):
        torn = bytearray(data)
        places = np.sort(rng.integers(0, len(data), int(rng.integers(1, 4))))
        for place in places.tolist():
            torn[place] ^= 1 << int(rng.integers(8))
        yield bytes(torn), int(places[0])


@pytest.mark.parametrize("shape", ["plain", "zstd", "lz4", "unchunked", "bare", "unchunked_bare", "no_crc"])
def test_random_damage_never_loses_what_precedes_it(tmp_path: Path, shape: str) -> None:
    data = mcap_files.write(shape, messages=200)
    before: dict[int, int] = {}  # first byte after a chunk or message -> messages up to there
    total = 0
    for opcode, at, size in records(data):
        if opcode == Opcode.MESSAGE:
            total += 1
        elif opcode == Opcode.CHUNK:
            total += messages_in(data, at, size)
        before[at + size] = total
    for number, (torn, damage) in enumerate(damaged_versions(data, seed=len(shape))):
        try:
            with opened(tmp_path, torn) as recording:
                found = sum(map(len, recording.scan()))
        except TwinloopError:
            assert damage < 8
            continue
        safe = max((count for end, count in before.items() if end <= damage), default=0)
        assert found >= safe, (number, damage)


def messages_in(data: bytes, at: int, size: int) -> int:
    """Messages of a chunk, by the `mcap` package."""
    from io import BytesIO

    from mcap.data_stream import ReadDataStream
    from mcap.records import Chunk, Message
    from mcap.stream_reader import breakup_chunk

    chunk = Chunk.read(ReadDataStream(BytesIO(data[at + 9 : at + size])))
    return sum(isinstance(record, Message) for record in breakup_chunk(chunk))
