"""MCAP files of every shape against the `mcap` package, and what a stream tells before it is read."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import mcap_files
import numpy as np
import pytest
from mcap.writer import Writer
from mcap_files import GOLDEN, SHAPES, START_NS

from twinloop.core.errors import UnknownNameError, UnreadableError
from twinloop.core.kinds import Kind
from twinloop.core.recording import Problem, Recording
from twinloop.core.stream import Batch
from twinloop.formats.reader import ReadOptions, find_reader, open_recording

#: Notes that a shape calls for; every other shape opens without any but those of the raw channel.
_INDEX_SHAPES = {"no_chunk_index", "bare", "unchunked_bare"}


def opened(tmp_path: Path, data: bytes) -> Recording:
    path = tmp_path / "file.mcap"
    path.write_bytes(data)
    return open_recording(path)


def by_stream(batches: list[Batch]) -> dict[str, dict[str, list[Any]]]:
    """Stream -> column -> all values, payloads as the column `payload`."""
    found: dict[str, dict[str, list[Any]]] = {}
    for batch in batches:
        columns = found.setdefault(batch.stream, {})
        for name, values in batch.columns.to_pydict().items():
            columns.setdefault(name, []).extend(values)
        if batch.payload is not None:
            columns.setdefault("payload", []).extend(bytes(one) for one in batch.payload)
    return found


def assert_equal(recording: Recording, expected: dict[str, Any]) -> None:
    """Every message's times, number and content are those that the `mcap` package reads."""
    found = by_stream(list(recording.scan()))
    assert found.keys() == expected["topics"].keys()
    for topic, messages in expected["topics"].items():
        columns = found[topic]
        for name in ("log_ns", "publish_ns", "seq"):
            assert columns[name] == [message[name] for message in messages]
        contents = [base64.b64decode(message["data"]) for message in messages]
        if topic == "/raw":
            assert columns["payload"] == contents
        elif topic == "/value":
            assert columns["v"] == [json.loads(content)["v"] for content in contents]
        else:
            assert columns["n.i"] == [json.loads(content)["n"]["i"] for content in contents]
    attachments = [
        {"name": a.name, "media_type": a.media_type}
        | {"data": base64.b64encode(recording.read_attachment(a)).decode()}
        for a in recording.attachments
    ]
    assert attachments == expected["attachments"]
    assert recording.metadata["operator/name"] == "A" and recording.metadata["operator/shift"] == "2"
    assert recording.metadata["operator#2/name"] == "B"
    assert recording.metadata["mcap/profile"] == "profile"


@pytest.mark.parametrize("shape", SHAPES)
def test_golden_pairs(shape: str) -> None:
    expected = json.loads((GOLDEN / f"{shape}.expected.json").read_text(encoding="utf-8"))
    with open_recording(GOLDEN / f"{shape}.mcap") as recording:
        assert_equal(recording, expected)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_as_the_mcap_package_reads_it(tmp_path: Path, shape: str) -> None:
    data = mcap_files.write(shape)
    with opened(tmp_path, data) as recording:
        assert_equal(recording, mcap_files.expected(data))
        problems = {note.problem for note in recording.notes}
        assert problems == {Problem.SCHEMA} | ({Problem.INDEX} if shape in _INDEX_SHAPES else set())
        value = recording.streams["/value"]
        assert (value.count, value.kind, value.rate_hz) == (200, Kind.TABLE, 50.0)
        assert (value.start_ns, value.end_ns) == (START_NS, START_NS + 397_000_000)
        assert recording.streams["/raw"].kind is Kind.RAW
        silent = recording.streams["/silent"]
        assert (silent.count, silent.start_ns, silent.end_ns) == (0, None, None)


def test_what_a_stream_tells_before_it_is_read(tmp_path: Path) -> None:
    data = mcap_files.write("plain")
    with opened(tmp_path, data) as recording:
        value = recording.streams["/value"]
        assert (value.type_name, value.encoding, value.timeline) == ("own.Value", "json", "log_ns")
        assert value.attributes == {"rate_hz": "50"}
        total = sum(stream.bytes or 0 for stream in recording.streams.values())
        assert 0.6 * len(data) < total < len(data)


def test_only_what_was_asked_for(tmp_path: Path) -> None:
    with opened(tmp_path, mcap_files.write()) as recording:
        assert {batch.stream for batch in recording.scan(["/raw", "/value"])} == {"/raw", "/value"}
        batches = list(recording.scan(["/raw"], payload=False))
        assert all(batch.payload is None for batch in batches) and sum(map(len, batches)) == 100
        with pytest.raises(UnknownNameError, match="/valu"):
            recording.scan(["/valu"])
        assert list(recording.scan(["/silent"])) == []


@pytest.mark.parametrize("shape", ["zstd", "unchunked", "bare"])
def test_a_span_of_time(tmp_path: Path, shape: str) -> None:
    start, end = START_NS + 100_000_000, START_NS + 150_000_000
    with opened(tmp_path, mcap_files.write(shape)) as recording:
        found = by_stream(list(recording.scan(start_ns=start, end_ns=end)))
        times = sorted(t for columns in found.values() for t in columns["log_ns"])
        assert times == list(range(start, end, 1_000_000))
        assert not [note for note in recording.notes if note.problem is Problem.COUNT]


def test_a_scan_given_up_and_begun_again(tmp_path: Path) -> None:
    with opened(tmp_path, mcap_files.write(messages=4000)) as recording:
        next(recording.scan())
        assert sum(map(len, recording.scan())) == 4000


def separate_chunks(writer: Writer) -> None:
    """A numeric channel in a few chunks of its own among chunks of large raw messages."""
    schema = writer.register_schema("Raw", "blob", b"")
    large, small = (
        writer.register_channel("/large", "blob", schema),
        writer.register_channel("/small", "json", 0),
    )
    rng = np.random.default_rng(0)
    for second in range(40):
        for i in range(8):
            writer.add_message(large, START_NS + second * 10**9 + i, rng.bytes(40_000), 0)
        writer.flush()
        if second % 10 == 0:
            writer.add_message(small, START_NS + second * 10**9 + 9, b'{"a": 1}', 0)
            writer.flush()


def test_chunks_without_wanted_streams_are_not_read(tmp_path: Path) -> None:
    data = mcap_files.write("zstd", fill=separate_chunks)
    assert len(data) > 12_000_000
    with opened(tmp_path, data) as recording:
        assert recording.bytes_read < 800_000
        before = recording.bytes_read
        assert sum(map(len, recording.scan(["/small"]))) == 4
        assert recording.bytes_read - before < 5_000


def test_chunks_outside_the_span_are_not_read(tmp_path: Path) -> None:
    with opened(tmp_path, mcap_files.write("plain", fill=separate_chunks)) as recording:
        before = recording.bytes_read
        span = {"start_ns": START_NS + 5 * 10**9, "end_ns": START_NS + 6 * 10**9}
        assert sum(map(len, recording.scan(**span))) == 8
        assert recording.bytes_read - before < 400_000


def test_large_messages_outside_chunks_are_passed_over_unread(tmp_path: Path) -> None:
    with opened(tmp_path, mcap_files.write("unchunked", fill=separate_chunks)) as recording:
        before = recording.bytes_read
        assert sum(map(len, recording.scan(["/small"]))) == 4
        assert recording.bytes_read - before < 4_000_000


def test_one_topic_with_two_types_is_two_streams(tmp_path: Path) -> None:
    def fill(writer: Writer) -> None:
        first = writer.register_schema("A", "jsonschema", b"{}")
        second = writer.register_schema("B", "jsonschema", b"{}")
        channels = [writer.register_channel("/t", "json", schema) for schema in (first, first, second)]
        for i, channel in enumerate(channels):
            writer.add_message(channel, START_NS + i, b'{"a": %d}' % i, 0)

    with opened(tmp_path, mcap_files.write(fill=fill)) as recording:
        found = by_stream(list(recording.scan()))
        assert {name: columns["a"] for name, columns in found.items()} == {"/t": [0, 1], "/t (B)": [2]}
        assert recording.streams["/t (B)"].attributes["topic"] == "/t"
        assert [note.where.stream for note in recording.notes] == ["/t (B)"]


def test_a_batch_of_many_small_chunks(tmp_path: Path) -> None:
    with opened(tmp_path, mcap_files.write(messages=4000)) as recording:
        batches = [batch for batch in recording.scan() if batch.stream == "/value"]
        assert len(batches) == 1 and len(batches[0]) == 2000


def test_messages_larger_than_what_is_decoded_at_a_time(tmp_path: Path) -> None:
    images = [bytes([i]) * 3_000_000 for i in range(8)]

    def fill(writer: Writer) -> None:
        channel = writer.register_channel("/image", "blob", 0)
        for i, image in enumerate(images):
            writer.add_message(channel, START_NS + i, image, 0, i)

    for shape in ("zstd", "one_chunk", "unchunked"):
        with opened(tmp_path, mcap_files.write(shape, fill=fill)) as recording:
            found = by_stream(list(recording.scan()))["/image"]
            assert found["payload"] == images and found["seq"] == [*range(8)]


def test_a_chunk_too_large_to_hold_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("twinloop.formats.mcap.scan.LARGEST_CHUNK", 1000)
    for shape in ("zstd", "lz4", "plain"):
        data = mcap_files.write(shape)
        with opened(tmp_path, data) as recording:
            assert_equal(recording, mcap_files.expected(data))
            assert {note.problem for note in recording.notes} == {Problem.SCHEMA}


def test_the_reader_knows_mcap_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "recording.bin"
    path.write_bytes(mcap_files.write())
    assert find_reader(path).name == "mcap"
    path.write_bytes(b"\x89MCAX0\r\n" + bytes(100))
    with pytest.raises(UnreadableError):
        open_recording(path)
    with pytest.raises(UnreadableError, match="not an MCAP"):
        from twinloop.formats.mcap.reader import READER

        READER.open(path, ReadOptions())


def test_a_closed_recording_says_so(tmp_path: Path) -> None:
    recording = opened(tmp_path, mcap_files.write())
    recording.close()
    recording.close()
    with pytest.raises(UnreadableError, match="closed"):
        list(recording.scan())
