"""What is written is read back as it was: every kind, every column, every time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from every_kind import START, every_kind

from twinloop.core.calibration import CameraCalibration, CameraModel, FramePose, encode_calibration
from twinloop.core.errors import UsageError
from twinloop.core.kinds import Kind
from twinloop.core.mapping import Mapping
from twinloop.core.recording import Recording
from twinloop.core.stream import Batch, Stream
from twinloop.deliver.mcap.export import export_mcap
from twinloop.deliver.source import ExportSource
from twinloop.formats.reader import open_recording
from twinloop.testing.memory import MemoryRecording, memory_stream

if TYPE_CHECKING:
    from twinloop.deliver.mcap.own import Encoding

ENCODINGS: tuple[Encoding, ...] = ("ros2", "foxglove")


def source_of(recording: Recording) -> ExportSource:
    return ExportSource("01SESSION", recording, Mapping(), ())


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_kind_comes_back(tmp_path: Path, encoding: Encoding) -> None:
    recording = every_kind()
    export_mcap(source_of(recording), tmp_path / "out.mcap", encoding=encoding)
    with open_recording(tmp_path / "out.mcap") as back:
        assert list(back.streams) == list(recording.streams)
        assert back.episodes == recording.episodes
        assert back.metadata == recording.metadata
        for name, stream in recording.streams.items():
            again = back.streams[name]
            assert (again.kind, again.role, again.units, again.rate_hz) == (
                stream.kind,
                stream.role,
                stream.units,
                stream.rate_hz,
            )
            assert (again.timeline, again.stamp_source, again.stamp_clock, again.log_clock) == (
                stream.timeline,
                stream.stamp_source,
                stream.stamp_clock,
                stream.log_clock,
            )
            before, after = recording.read(name), back.read(name)
            if not before.num_rows:
                assert not after.num_rows
                continue
            assert set(after.schema.names) == set(before.schema.names), name
            for column in before.schema.names:
                assert after[column].to_pylist() == before[column].to_pylist(), (name, column)
                if not before.schema.field(column).type.equals(after.schema.field(column).type):
                    assert "dictionary" in str(before.schema.field(column).type)
            assert payloads(back, name) == payloads(recording, name)
        assert not back.notes


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_window_of_time_and_some_streams(tmp_path: Path, encoding: Encoding) -> None:
    recording = every_kind()
    export_mcap(source_of(recording), tmp_path / "out.mcap", encoding=encoding)
    window = {"start_ns": START + 10**8, "end_ns": START + 3 * 10**8}
    with open_recording(tmp_path / "out.mcap") as back:
        for name in ("wrench/of more", "/pose", "/transforms", "/points"):
            wanted = np.concatenate([b.columns.column("log_ns") for b in recording.scan([name], **window)])
            found = np.concatenate([b.columns.column("log_ns") for b in back.scan([name], **window)])
            assert found.tolist() == wanted.tolist()


class Untimed(Recording):
    """Poses that have an order and no time."""

    def scan(self, streams=None, *, start_ns=None, end_ns=None, payload=True):  # type: ignore[no-untyped-def]
        for name in self.check_names(streams):
            yield Batch(name, pa.record_batch({"seq": pa.array([0, 1, 2]), "value": pa.array([1.0, 2.0, 3.0])}))


def test_a_stream_without_times_has_none_afterwards(tmp_path: Path) -> None:
    recording = Untimed(tmp_path, "untimed", files=(), streams={"x": Stream("x", Kind.SCALAR, count=3)})
    export_mcap(source_of(recording), tmp_path / "out.mcap")
    with open_recording(tmp_path / "out.mcap") as back:
        assert back.read("x").to_pydict() == {"seq": [0, 1, 2], "value": [1.0, 2.0, 3.0]}


def test_calibration_comes_back_and_stands_there_for_viewers(tmp_path: Path) -> None:
    recording = every_kind()
    recording.calibration = encode_calibration(
        [
            FramePose("base", "cam", (0.1, 0.2, 0.3), (1.0, 0.0, 0.0, 0.0)),
            CameraCalibration("cam", CameraModel.RADTAN, 640, 480, (500.0, 501.0, 320.0, 240.0), (0.1, 0.2)),
        ]
    )
    export_mcap(source_of(recording), tmp_path / "out.mcap")
    with open_recording(tmp_path / "out.mcap") as back:
        assert back.calibration == recording.calibration
        assert "/tf_static" not in back.streams
    from mcap.reader import make_reader

    with (tmp_path / "out.mcap").open("rb") as file:
        topics = {channel.topic for channel in make_reader(file).get_summary().channels.values()}  # type: ignore[union-attr]
    assert {"/tf_static", "/calibration/cam"} <= topics


def test_rows_whose_companion_is_lost_are_told(tmp_path: Path) -> None:
    from mcap.reader import make_reader
    from mcap.writer import Writer

    export_mcap(source_of(every_kind()), tmp_path / "out.mcap")
    with (tmp_path / "out.mcap").open("rb") as file, (tmp_path / "cut.mcap").open("wb") as copy:
        reader = make_reader(file)
        writer = Writer(copy)
        writer.start()
        for record in reader.iter_metadata():
            writer.add_metadata(record.name, record.metadata)
        ids: dict[str, int] = {}
        seen = 0
        for schema, channel, message in reader.iter_messages():
            assert schema
            seen += channel.topic == "wrench/of more/columns"
            if channel.topic == "wrench/of more/columns" and seen in (5, 6):
                continue
            if channel.topic not in ids:
                schema_id = writer.register_schema(schema.name, schema.encoding, schema.data)
                ids[channel.topic] = writer.register_channel(channel.topic, channel.message_encoding, schema_id)
            writer.add_message(
                ids[channel.topic], message.log_time, message.data, message.publish_time, message.sequence
            )
        writer.finish()
    with open_recording(tmp_path / "cut.mcap") as back:
        values = back.read("wrench/of more")["temperature"].to_pylist()
        wanted = every_kind().read("wrench/of more")["temperature"].to_pylist()
        assert values == [None if row in (4, 5) else value for row, value in enumerate(wanted)]
        assert [note.lost for note in back.notes] == [2]


def test_a_file_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out.mcap").write_bytes(b"mine")
    with pytest.raises(UsageError):
        export_mcap(source_of(every_kind()), tmp_path / "out.mcap")
    assert (tmp_path / "out.mcap").read_bytes() == b"mine"
    export_mcap(source_of(every_kind()), tmp_path / "out.mcap", force=True)


def payloads(recording: Recording, stream: str) -> list[bytes]:
    return [bytes(each) for batch in recording.scan([stream]) for each in batch.payload or ()]


def test_a_stream_without_a_single_sample_comes_back_without_notes(tmp_path: Path) -> None:
    empty = np.empty(0, np.int64)
    recording = MemoryRecording([memory_stream("empty", Kind.SCALAR, {"value": empty}, stamp_ns=empty)])
    export_mcap(source_of(recording), tmp_path / "out.mcap")
    with open_recording(tmp_path / "out.mcap") as back:
        assert back.read("empty").num_rows == 0
        assert not back.notes
