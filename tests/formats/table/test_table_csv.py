"""CSV tables: what is seen without a mapping, and what a bad cell or row costs."""

from __future__ import annotations

import numpy as np
import pytest

from twinloop.core.clock import Epoch
from twinloop.core.errors import UnreadableError
from twinloop.core.kinds import Kind, StampSource
from twinloop.core.recording import Problem
from twinloop.formats.reader import find_reader, open_recording

ROWS = 200


def lines(delimiter=",", rows=ROWS, start=0.0):
    for k in range(rows):
        yield delimiter.join((f"{start + k * 0.01:.3f}", f"{k * 0.5}", f"{-k}"))


def write(path, header="time_s,force (N),angle", body=None):
    path.write_text("\n".join([header, *(body or lines())]) + "\n")
    return path


def test_a_plain_table(tmp_path):
    recording = open_recording(write(tmp_path / "log.dat"))
    (stream,) = recording.streams.values()
    assert (stream.name, stream.kind, stream.count) == ("log", Kind.TABLE, ROWS)
    assert (stream.start_ns, stream.end_ns) == (0, 1_990_000_000)
    assert stream.measured_rate_hz == pytest.approx(100)
    assert stream.stamp_source is StampSource.DRIVER
    assert stream.units == {"force (N)": "N"}
    table = recording.read("log")
    assert table.column_names == ["stamp_ns", "force (N)", "angle"]
    np.testing.assert_array_equal(table["stamp_ns"], np.arange(ROWS) * 10_000_000)
    np.testing.assert_array_equal(table["angle"], -np.arange(ROWS, dtype=float))
    assert not recording.notes


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters(tmp_path, delimiter):
    path = write(tmp_path / "log.csv", delimiter.join(("t_ms", "a", "b")), lines(delimiter))
    assert open_recording(path).read("log")["a"][4].as_py() == 2.0


def test_comments_byte_order_mark_and_a_header_in_a_comment(tmp_path):
    path = write(tmp_path / "log.csv", "\ufeff# made by a rig\n\n#timestamp [ns],a,b", lines(start=7))
    table = open_recording(path).read("log")
    assert table.column_names == ["stamp_ns", "a", "b"]
    assert table.num_rows == ROWS


def test_decimal_commas(tmp_path):
    body = [f"{k / 100:.3f};{k / 2}".replace(".", ",") for k in range(ROWS)]
    table = open_recording(write(tmp_path / "log.csv", "Zeit time (s);Kraft", body)).read("log")
    assert table["Kraft"][3].as_py() == 1.5
    assert table["stamp_ns"][150].as_py() == 1_500_000_000


@pytest.mark.parametrize(
    ("header", "cell", "stamp"),
    [
        ("timestamp", "1700000000.123456789", 1_700_000_000_123_456_789),
        ("timestamp", "1700000000123456789", 1_700_000_000_123_456_789),
        ("timestamp", "1700000000123.5", 1_700_000_000_123_500_000),
        ("stamp_ns", "12345678901234567", 12_345_678_901_234_567),
        ("time_us", "-25", -25_000),
        ("datetime", "2023-11-14T22:13:20.000000001Z", 1_700_000_000_000_000_001),
        ("datetime", "2023-11-14 22:13:20", 1_700_000_000_000_000_000),
        ("datetime", "2023-11-15T00:13:20+02:00", 1_700_000_000_000_000_000),
        ("timestamp", "01:00:00.560", 3_600_560_000_000),
    ],
)
def test_times_are_exact(tmp_path, header, cell, stamp):
    recording = open_recording(write(tmp_path / "log.csv", f"{header},a", [f"{cell},1"] * 3))
    assert recording.read("log")["stamp_ns"].to_pylist() == [stamp] * 3
    (stream,) = recording.streams.values()
    expected = Epoch.UNIX if stamp > 10**18 else Epoch.UNKNOWN
    assert stream.stamp_clock.epoch is expected


def test_a_date_that_does_not_exist_is_one_bad_row(tmp_path):
    body = ["2024-02-28T10:00:00,1", "2024-02-31T10:00:00,2", "2024-03-01T10:00:00Z,3"]
    recording = open_recording(write(tmp_path / "log.csv", "datetime,a", body))
    assert recording.read("log")["a"].to_pylist() == [1.0, 3.0]
    assert recording.notes[0].where.row == 1


def test_the_unit_is_inferred_and_said(tmp_path):
    body = [f"{k * 10},{k}" for k in range(ROWS)]
    recording = open_recording(write(tmp_path / "log.csv", "timestamp,a", body))
    assert recording.streams["log"].measured_rate_hz == pytest.approx(100)
    assert [n.problem for n in recording.notes] == [Problem.SCHEMA]
    assert "its numbers fit ms" in recording.notes[0].message


def test_one_bad_row_in_a_million(tmp_path):
    rows = 1_000_000
    path = tmp_path / "big.csv"
    k = np.arange(rows)
    text = np.char.add(np.char.add((k * 1000).astype("U"), ","), (k % 977).astype("U")).tolist()
    text[700_000] = "700000000,broken"
    text[700_001] = "700001000,1,2,3"
    path.write_text("time_us,a\n" + "\n".join(text) + "\n")
    recording = open_recording(path)
    total, largest, holes = 0, 0, 0
    for batch in recording.scan():
        total += len(batch)
        largest = max(largest, batch.columns.nbytes)
        holes += batch.columns.column("a").null_count
    assert (total, holes) == (rows - 1, 1)
    assert largest < 20_000_000
    cell, row = sorted(recording.notes, key=lambda note: note.where.row)
    assert (cell.problem, cell.where.row, cell.lost) == (Problem.BAD_VALUE, 700_000, 0)
    assert "line 700002" in cell.message and "'broken'" in cell.message
    assert (row.problem, row.where.row, row.lost) == (Problem.BAD_VALUE, 700_001, 1)
    assert "'700001000,1,2,3'" in row.message


def test_many_bad_cells_are_counted_not_listed(tmp_path):
    body = [line.rsplit(",", 1)[0] + (",oops" if k % 2 else ",1") for k, line in enumerate(lines(rows=90))]
    recording = open_recording(write(tmp_path / "log.csv", body=[*lines(rows=90), *body]))
    recording.read("log")
    assert len(recording.notes) == 11
    assert "45 cells of column angle" in recording.notes[-1].message
    recording.read("log")
    assert len(recording.notes) == 11


def test_rows_without_a_time_are_left_out_and_noted(tmp_path):
    body = list(lines())
    body[3] = "soon,1,2"
    body[9] = ",1,2"
    recording = open_recording(write(tmp_path / "log.csv", body=body))
    assert recording.read("log").num_rows == ROWS - 2
    (note,) = recording.notes
    assert (note.where.row, note.lost) == (3, 2)
    assert "'soon'" in note.message


def test_text_columns_and_empty_cells_stay(tmp_path):
    body = ["0.0,grasp,1", "0.1,,", '0.2,"a, b",3']
    table = open_recording(write(tmp_path / "log.csv", "time_s,event,x", body)).read("log")
    assert table["event"].to_pylist() == ["grasp", None, "a, b"]
    assert table["x"].to_pylist() == [1.0, None, 3.0]


def test_large_whole_numbers_are_not_rounded(tmp_path):
    body = [f"0.{k},{2**60 + k}" for k in range(5)]
    table = open_recording(write(tmp_path / "log.csv", "time_s,id", body)).read("log")
    assert table["id"].to_pylist() == [2**60 + k for k in range(5)]


def test_our_own_time_columns(tmp_path):
    body = [f"{k * 10**7},{k * 10**7 + 5},{k}" for k in range(ROWS)]
    table = open_recording(write(tmp_path / "log.csv", "stamp_ns,log_ns,seq", body)).read("log")
    assert table.column_names == ["stamp_ns", "log_ns", "seq"]
    assert table["log_ns"][2].as_py() == 20_000_005


def test_a_span_of_time(tmp_path):
    recording = open_recording(write(tmp_path / "log.csv"))
    batches = list(recording.scan(start_ns=500_000_000, end_ns=600_000_000))
    assert sum(map(len, batches)) == 10


@pytest.mark.parametrize(
    "content",
    [
        "1.0 2.0 3.0\n1.1 2.1 3.1\n",
        "x,y,z\n1,2,3\n",
        "just a line of text about time, and space\n",
        "time,a\n",
        "time,a\nnever,ever\n",
        '{"time": 1, "a": 2}\n',
        "",
    ],
)
def test_what_is_no_table_is_not_taken_for_one(tmp_path, content):
    path = tmp_path / "file.csv"
    path.write_text(content)
    with pytest.raises(UnreadableError):
        find_reader(path)


def test_bytes_that_are_no_utf8(tmp_path):
    path = tmp_path / "log.csv"
    body = [line.encode() + b",M\xfcnchen" for line in lines()]
    path.write_bytes(b"\n".join([b"time_s,a,b,city", *body]))
    table = open_recording(path).read("log")
    assert table.num_rows == ROWS
    assert table["a"][2].as_py() == 1.0


def test_windows_line_ends_and_no_last_line_end(tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes("\r\n".join(["time_s,a,b", *lines()]).encode())
    recording = open_recording(path)
    assert recording.streams["log"].count == ROWS
    assert recording.read("log").num_rows == ROWS


def test_a_cut_at_any_byte(tmp_path):
    whole = write(tmp_path / "whole.csv").read_bytes()
    path = tmp_path / "cut.csv"
    for size in range(0, len(whole), 37):
        path.write_bytes(whole[:size])
        try:
            for _ in open_recording(path).scan():
                pass
        except UnreadableError:
            assert size < 60


def test_the_real_imu(test_data):
    recording = open_recording(test_data / "xio-imu/Examples/Python/sensor_data.csv")
    stream = recording.streams["sensor_data"]
    assert stream.count == 13_514
    assert stream.units["Accelerometer X (g)"] == "g"
    stamps = np.array(recording.read("sensor_data")["stamp_ns"])
    steps_ms = np.diff(stamps) / 1e6
    assert len(stamps) == 13_514
    assert stamps[-1] / 1e9 == pytest.approx(135.33, abs=0.01)
    assert np.median(steps_ms) == pytest.approx(10.08, abs=0.005)
    assert (steps_ms.min().round(1), steps_ms.max().round(1)) == (7.6, 30.2)
    assert not recording.notes
