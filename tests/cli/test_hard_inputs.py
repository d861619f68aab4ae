"""Names, values and pipes that a command line meets sooner or later."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from twinloop.cli.main import app
from twinloop.core.errors import TwinloopError, UnreadableError
from twinloop.store.store import Store

COMMAND = [sys.executable, "-c", "from twinloop.cli.main import main; main()"]


def write_table(path: Path, seed: int = 0) -> Path:
    path.write_text("time_s,x\n" + "".join(f"{k * 0.01 + k % 3 * 1e-4},{k + seed}\n" for k in range(200)))
    return path


def run(*words: str) -> str:
    result = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return Store.create(tmp_path / "a store").work


def test_a_pipe_is_no_recording(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.mcap")
    with pytest.raises(UnreadableError, match="neither a file nor a folder"):
        run("info", str(tmp_path / "pipe.mcap"))


@pytest.mark.parametrize("verb", ["check", "report"])
def test_a_word_that_is_neither_path_nor_session(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnreadableError, match="'recordng' is no file or folder here"):
        run(verb, "recordng")


def test_a_name_that_is_not_utf8(tmp_path: Path, store: Path) -> None:
    path = write_table(Path(os.fsdecode(bytes(tmp_path) + b"/bad\xff.csv")))
    page = tmp_path / "page.html"
    run("report", str(path), "-o", str(page))
    assert "bad?.csv" in page.read_text()
    result = CliRunner().invoke(app, ["ingest", str(path), "--store", str(store), "--json"])
    assert result.exit_code == 2
    [outcome] = json.loads(result.stdout)
    assert "not UTF-8" in outcome["message"]
    assert run("store", "fsck", "--store", str(store)).startswith("the store is whole")


def test_names_and_facts_stay_as_they_are_in_tables(tmp_path: Path, store: Path) -> None:
    path = write_table(tmp_path / "a\n[red]b\x1b[31m.csv")
    run("ingest", str(path), "--store", str(store), "--task", "pick[bold]")
    listed = run("ls", "--store", str(store))
    assert r"a\n[red]b\x1b[31m.csv" in listed
    assert "pick[bold]" in listed


def test_the_next_command_names_the_store_that_was_named(tmp_path: Path, store: Path) -> None:
    run("ingest", str(write_table(tmp_path / "t.csv")), "--store", str(store))
    assert f" --store '{store}'" in run("ls", "--store", str(store)).splitlines()[-1]
    following = run("store", "fsck", "--store", str(store)).splitlines()[-1]
    assert following == f"next: twinloop ls --store '{store}'"


def test_content_that_is_present_keeps_its_findings(tmp_path: Path, store: Path) -> None:
    rows = [f"{k * 0.01 + k % 3 * 1e-4},{k}\n" for k in range(600) if not 200 < k < 300]
    path = tmp_path / "gap.csv"
    path.write_text("time_s,x\n" + "".join(rows))
    first, again = (json.loads(run("ingest", str(path), "--store", str(store), "--json")) for _ in range(2))
    assert first[0]["findings"].get("error")
    assert again[0]["findings"] == first[0]["findings"]


def test_a_session_that_is_not_there_is_said_before_anything_is_read(tmp_path: Path, store: Path) -> None:
    path = write_table(tmp_path / "t.csv")
    with pytest.raises(TwinloopError, match="no session 'nope'"):
        run("ingest", str(path), "--store", str(store), "--session", "nope", "--dry-run")


def test_a_reader_that_stops_early_is_no_finding() -> None:
    command = subprocess.Popen([*COMMAND, "explain", "TIM004"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert command.stdout and command.stderr
    command.stdout.close()
    assert command.wait() == 0
    assert command.stderr.read() == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_the_output_is_no_crash() -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run([*COMMAND, "explain", "TIM004"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 3
    assert "No space left" in ended.stderr
    assert "crashed" not in ended.stderr
