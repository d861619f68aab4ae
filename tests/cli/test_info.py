"""`twinloop formats` and `twinloop info`."""

from __future__ import annotations

import json
import shlex

import pytest

from twinloop.formats.reader import FORMATS


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("time_s,force (N)\n" + "".join(f"{k / 100},{k}\n" for k in range(500)))
    return path


def test_formats_lists_all_with_what_they_keep_and_lose(run):
    out = run("formats").out
    assert all(name in out for name in FORMATS.names())
    assert out.rstrip().endswith("next: twinloop info PATH")


def test_formats_as_json(run):
    done = run("formats", "--json")
    listed = {entry["name"]: entry for entry in json.loads(done.out)["formats"]}
    assert sorted(listed) == FORMATS.names()
    assert all(entry["keeps"] and entry["loses"] for entry in listed.values())
    assert "next:" in done.err


def test_info_for_the_eye(run, table):
    out = run("info", table).out
    for words in ("log", "500", "100.000", "4.990", "driver", f"next: twinloop check {table}"):
        assert words in out


def test_info_as_json(run, table):
    done = run("info", table, "--format", "json")
    facts = json.loads(done.out)
    assert (facts["schema"], facts["format"]) == (1, "table")
    (stream,) = facts["streams"]
    assert stream["measured_rate_hz"] == pytest.approx(100)
    assert (stream["start_ns"], stream["end_ns"]) == ("0", "4990000000")
    assert stream["units"] == {"force (N)": "N"}
    assert facts["clocks"][0]["duration_s"] == 4.99
    assert f"next: twinloop check {table}" in done.err


def test_notes_are_shown_with_their_place(run, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("timestamp,a\n" + "".join(f"{k * 10},{k}\n" for k in range(50)))
    out = run("info", path).out
    assert "its numbers fit ms" in out and f"    {path}" in out


def test_a_table_mapping_from_elsewhere(run, tmp_path):
    path = tmp_path / "bare.txt"
    path.write_text("".join(f"{k * 10} {k}\n" for k in range(50)))
    run("info", path, code=3)
    mapping = tmp_path / "elsewhere.toml"
    mapping.write_text(
        '[table]\ndelimiter = " "\nheader = false\ncolumns = ["t", "f"]\n[time]\ncolumn = "t"\nunit = "ms"\n'
        '[[streams]]\nname = "force"\nkind = "scalar"\ncolumns.value = "f"\nunits.value = "N"\n'
    )
    out = run("info", path, "--mapping", mapping).out
    assert "force" in out and "100.000" in out


def test_a_mapping_of_features_is_held_against_the_recording(run, table, tmp_path):
    mapping = tmp_path / "mapping.toml"
    mapping.write_text(
        'schema = 1\n[[features]]\nname = "observation.force"\nstream = "nolog"\nrole = "observation"\n'
    )
    assert "nolog" in run("info", table, "--mapping", mapping, code=2).err
    mapping.write_text(mapping.read_text().replace("nolog", "log"))
    assert "the mapping fits: 1 features" in run("info", table, "--mapping", mapping).out


@pytest.mark.parametrize("content", [None, b"", b"\x00\x01\x02 noise", b"PAR1 cut off"])
def test_what_cannot_be_read_exits_with_3(run, tmp_path, content):
    path = tmp_path / "thing.mcap"
    if content is not None:
        path.write_bytes(content)
    done = run("info", path, code=3)
    assert done.out == ""
    assert done.err.startswith("error: ") and str(path) in done.err
    assert "Traceback" not in done.err


def test_an_unknown_output_format_is_a_usage_error(run, table):
    assert "json" in run("info", table, "--format", "yaml", code=2).err


def test_names_with_brackets_are_not_markup(run, tmp_path):
    path = tmp_path / "[bold]x[red].csv"
    path.write_text("timestamp [ns],a\n0,1\n10000000,2\n")
    assert "[bold]x[red]" in run("info", path).out


def test_real_rates(run, test_data):
    def rates(path):
        facts = json.loads(run("info", test_data / path, "--json").out)
        return {
            s["name"]: (s["count"], round(s["measured_rate_hz"], 2))
            for s in facts["streams"]
            if s["measured_rate_hz"]
        }

    jackal = rates("robot-localization-bags/test/test2.bag")
    assert jackal == {"/imu/data": (3061, 50.0), "/jackal_velocity_controller/odom": (3060, 50.0)}
    g1 = rates("lerobot-v21-unitree-g1")
    assert g1["observation.state"] == (35_965, 30.0)
    cameras = rates("caliscope-multicam/tests/sessions/post_optimization/calibration/extrinsic")
    assert cameras["cam_3"] == (57, 6.01)


def test_one_stream_is_one_and_the_next_command_can_be_pasted(run, table, tmp_path):
    named = tmp_path / "my takes"
    named.mkdir()
    for file in table.parent.glob(f"{table.name}*"):
        (named / file.name).write_bytes(file.read_bytes())
    run("init", "store")
    done = run("ingest", named / table.name, "--store", "store")
    assert "next: twinloop export mcap --store store --out DIR" in done.out  # there is no camera for rows
    done = run("export", "mcap", "--store", "store", "--out", "my takes/out.mcap")
    assert "1 stream, " in done.out
    following = done.out.split("next: twinloop ")[1]
    assert "1 stream\n" in run(*shlex.split(following)).out
