"""Mapping files of tables: kinds, units, clocks, and what is wrong with a mapping."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from twinloop.core.clock import Epoch
from twinloop.core.errors import MappingError, UnreadableError
from twinloop.core.kinds import Kind, Role, StampSource
from twinloop.core.recording import Problem
from twinloop.formats.reader import ReadOptions, find_reader, open_recording

HEADERLESS = "".join(f"{k * 10} {k / 2} {-k} 1 2 3\n" for k in range(50))
MAPPING = """
schema = 1
[table]
delimiter = " "
header = false
columns = ["t", "q0", "q1", "gx", "gy", "gz"]
[time]
column = "t"
unit = "ms"
source = "sensor"
epoch = "boot"
[[streams]]
name = "joint_states"
kind = "joints"
role = "observation"
rate_hz = 100
columns.position = ["q0", "q1"]
units.position = "deg"
[[streams]]
name = "imu"
kind = "imu"
frame_id = "imu_link"
columns.angular_velocity = ["gx", "gy", "gz"]
units.angular_velocity = "deg/s"
"""


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "run.txt"
    path.write_text(HEADERLESS)
    (tmp_path / "run.txt.twinloop.toml").write_text(MAPPING)
    return path


def test_streams_of_kinds(table):
    recording = open_recording(table)
    joints, imu = recording.streams.values()
    assert (joints.kind, joints.role, joints.rate_hz) == (Kind.JOINTS, Role.OBSERVATION, 100)
    assert joints.units == {"position": "deg"}
    assert (imu.kind, imu.stamp_source, imu.stamp_clock.epoch) == (Kind.IMU, StampSource.SENSOR, Epoch.BOOT)
    assert imu.units == {}
    read = recording.read("joint_states")
    assert read["name"][7].as_py() == ["q0", "q1"]
    assert read["position"][7].as_py() == [3.5, -7.0]
    assert read["stamp_ns"][7].as_py() == 70_000_000
    rates = recording.read("imu")
    np.testing.assert_allclose(rates["angular_velocity"][0].as_py(), np.deg2rad([1, 2, 3]))
    assert rates["frame_id"][0].as_py() == "imu_link"
    assert {p.name for p in recording.files} == {"run.txt", "run.txt.twinloop.toml"}
    assert not recording.notes


def test_one_scan_gives_all_streams(table):
    names = [batch.stream for batch in open_recording(table).scan()]
    assert names == ["joint_states", "imu"]


def test_the_mapping_of_a_folder(tmp_path):
    (tmp_path / "run.txt").write_text(HEADERLESS)
    (tmp_path / "notes.txt").write_text("nothing")
    (tmp_path / "table.toml").write_text('file = "run*"\n' + MAPPING.replace("schema = 1", ""))
    assert find_reader(tmp_path / "run.txt").name == "table"
    assert list(open_recording(tmp_path / "run.txt").streams) == ["joint_states", "imu"]
    assert list(open_recording(tmp_path).streams) == ["joint_states", "imu"]
    with pytest.raises(UnreadableError):
        find_reader(tmp_path / "notes.txt")


def test_a_mapping_from_elsewhere(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("time_s,a\n0,1\n1,2\n")
    elsewhere = tmp_path / "elsewhere.toml"
    elsewhere.write_text('[[streams]]\nname = "force"\nkind = "scalar"\ncolumns.value = "a"\n')
    recording = open_recording(path, ReadOptions(table_mapping=elsewhere))
    assert recording.read("force")["value"].to_pylist() == [1.0, 2.0]


def test_many_kinds(tmp_path):
    names = ["time_s", "x", "y", "z", "qw", "qx", "qy", "qz", "p", "word"]
    path = tmp_path / "data.csv"
    path.write_text(",".join(names) + "\n" + "\n".join(f"{k},1,2,3,1,0,0,0,1013,go" for k in range(3)) + "\n")
    mapping = """
[[streams]]
name = "pose"
kind = "pose"
columns = { position = ["x", "y", "z"], orientation = ["qw", "qx", "qy", "qz"] }
units = { position = "mm" }
[[streams]]
name = "air"
kind = "barometer"
columns = { pressure = "p" }
units = { pressure = "hPa" }
[[streams]]
name = "said"
kind = "text"
columns = { text = "word" }
[[streams]]
name = "touch"
kind = "tactile"
columns = { values = ["x", "y", "z", "p"] }
[[streams]]
name = "rest"
columns = { height = "z", both = ["x", "y"] }
"""
    (tmp_path / "data.csv.twinloop.toml").write_text(mapping)
    recording = open_recording(path)
    first = {name: recording.read(name).slice(0, 1).to_pylist()[0] for name in recording.streams}
    assert first["pose"]["position"] == pytest.approx([0.001, 0.002, 0.003])
    assert first["pose"]["orientation"] == [1, 0, 0, 0]
    assert recording.streams["pose"].units == {}
    assert first["air"]["pressure"] == pytest.approx(101_300)
    assert first["said"]["text"] == "go"
    assert first["touch"]["values"] == [1, 2, 3, 1013]
    assert (first["rest"]["height"], first["rest"]["both"]) == (3, [1, 2])


def test_a_table_stream_takes_what_is_left(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("time_s,a,b,c\n0,1,2,3\n1,2,3,4\n")
    (tmp_path / "data.csv.twinloop.toml").write_text(
        '[[streams]]\nname = "a"\nkind = "scalar"\ncolumns.value = "a"\n[[streams]]\nname = "rest"\n'
    )
    recording = open_recording(path)
    assert recording.read("rest").column_names == ["stamp_ns", "b", "c"]
    assert recording.streams["a"].units == {}


def test_a_unit_that_nobody_declares_stays_undeclared(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("time_s,a,b,c\n0,1,2,3\n1,2,3,4\n")
    (tmp_path / "data.csv.twinloop.toml").write_text(
        '[[streams]]\nname = "imu"\nkind = "imu"\ncolumns.linear_acceleration = ["a", "b", "c"]\n'
    )
    assert open_recording(path).streams["imu"].units == {"linear_acceleration": "undeclared"}


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ('[[streams]]\nname = "a"\nkind = "scalar"\ncolumns.value = "aa"', "there is no column named 'aa'"),
        ('[[streams]]\nname = "a"\nkind = "scalar"', "needs the field value"),
        ('[[streams]]\nname = "a"\nkind = "scalar"\ncolumns.height = "a"', "has no field height"),
        ('[[streams]]\nname = "a"\nkind = "imu"\ncolumns.angular_velocity = ["a", "b"]', "made of 2 columns"),
        ('[[streams]]\nname = "a"\nkind = "image"', "cannot make streams of kind image"),
        ('[[streams]]\nname = "a"\nkind = "imagine"', "does not parse"),
        ('[[streams]]\nname = "a"\nkinds = "scalar"', "kinds"),
        ('[[streams]]\nname = "a"\n[[streams]]\nname = "a"', "two streams are named a"),
        ('[time]\ncolumn = "clock"', "there is no column named 'clock'"),
        ('[time]\nunit = "fortnights"', "does not parse"),
        (
            '[[streams]]\nname = "a"\nkind = "barometer"\ncolumns.pressure = "a"\nunits.pressure = "deg"',
            "cannot be converted",
        ),
        (
            '[[streams]]\nname = "a"\nkind = "joints"\ncolumns = {position = ["a", "b"], velocity = ["c"]}',
            "1 columns for 2 names",
        ),
        ("[time", "does not parse"),
        ("schema = 7", "does not parse"),
    ],
)
def test_a_wrong_mapping_says_what_is_wrong(tmp_path, mapping, message):
    path = tmp_path / "data.csv"
    path.write_text("time_s,a,b,c\n0,1,2,3\n1,2,3,4\n")
    (tmp_path / "data.csv.twinloop.toml").write_text(mapping)
    with pytest.raises(MappingError, match=message) as error:
        open_recording(path)
    assert "data.csv" in str(error.value)


def test_a_unit_that_no_number_tells(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("time,a\n5,1\n")
    with pytest.raises(MappingError, match="unit of the times") as error:
        open_recording(path)
    assert "data.csv.twinloop.toml" in str(error.value)


def parquet(path, time, rows=1000):
    values = pa.array(np.arange(rows) / 2)
    pq.write_table(pa.table({"timestamp": time, "value": values, "n": range(rows)}), path, row_group_size=300)
    return path


@pytest.mark.parametrize(
    "time",
    [
        pa.array(1_700_000_000_000_000_000 + np.arange(1000) * 10_000_000),
        pa.array(1_700_000_000_000_000_000 + np.arange(1000) * 10_000_000, pa.timestamp("ns")),
        pa.array(1_700_000_000_000_000 + np.arange(1000) * 10_000, pa.timestamp("us", "UTC")),
    ],
    ids=["int", "ns", "us"],
)
def test_parquet(tmp_path, time):
    path = parquet(tmp_path / "no suffix at all", time)
    assert find_reader(path).name == "table"
    recording = open_recording(path)
    (stream,) = recording.streams.values()
    assert (stream.count, stream.stamp_clock.epoch, stream.encoding) == (1000, Epoch.UNIX, "parquet")
    assert stream.measured_rate_hz == pytest.approx(100)
    table = recording.read(stream.name)
    assert table["stamp_ns"][999].as_py() == 1_700_000_009_990_000_000
    assert table.column_names == ["stamp_ns", "value", "n"]


def test_parquet_without_times_says_so(tmp_path):
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"a": [1, 2, 3]}), path)
    recording = open_recording(path)
    assert recording.notes[0].problem is Problem.SCHEMA
    assert recording.streams["data"].stamp_source is StampSource.NONE
    assert recording.read("data").column_names == ["a"]


def test_parquet_with_a_mapping(tmp_path):
    path = parquet(tmp_path / "data.parquet", pa.array(np.arange(1000) / 100))
    (tmp_path / "data.parquet.twinloop.toml").write_text(
        '[time]\nunit = "s"\n[[streams]]\nname = "v"\nkind = "scalar"\ncolumns.value = "value"\n'
    )
    recording = open_recording(path)
    assert recording.read("v")["value"][3].as_py() == 1.5
    assert recording.metadata["columns_not_mapped"] == "n"
    assert not recording.notes


def test_damaged_parquet(tmp_path):
    whole = parquet(tmp_path / "whole.parquet", pa.array(np.arange(1000) * 10_000_000)).read_bytes()
    path = tmp_path / "cut.parquet"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UnreadableError, match="does not open"):
        open_recording(path)
    damaged = bytearray(whole)
    damaged[len(whole) // 3 : len(whole) // 3 + 400] = b"\xff" * 400
    path.write_bytes(damaged)
    try:
        recording = open_recording(path)
        for _ in recording.scan():
            pass
        assert any(note.problem is Problem.CORRUPT for note in recording.notes)
    except UnreadableError:
        pass
