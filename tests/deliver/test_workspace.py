"""The folder of an export is there whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from twinloop.core.errors import TwinloopError, UsageError
from twinloop.deliver.workspace import whole_file, whole_folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_appears_when_all_is_written(tmp_path):
    with whole_folder(tmp_path / "a/out") as folder:
        (folder / "file").write_text("x")
        assert not (tmp_path / "a/out").exists()
    assert names(tmp_path / "a") == ["out"]
    assert names(tmp_path / "a/out") == ["file"]


def test_an_error_leaves_nothing(tmp_path):
    with pytest.raises(ZeroDivisionError), whole_folder(tmp_path / "out") as folder:
        (folder / "file").write_text("x")
        _ = 1 / 0
    assert names(tmp_path) == []


def test_a_folder_that_is_there_is_kept_unless_forced(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/old").touch()
    with pytest.raises(UsageError, match="exists already"), whole_folder(tmp_path / "out"):
        pass
    with pytest.raises(ZeroDivisionError), whole_folder(tmp_path / "out", force=True):
        _ = 1 / 0
    assert names(tmp_path / "out") == ["old"]
    with whole_folder(tmp_path / "out", force=True) as folder:
        (folder / "new").touch()
    assert names(tmp_path / "out") == ["new"]
    assert names(tmp_path) == ["out"]


def dead_process() -> int:
    done = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True
    )
    return int(done.stdout)


def test_leftovers_of_killed_exports_are_removed_and_their_victims_restored(tmp_path):
    pid = dead_process()
    (tmp_path / f".out.partial-{pid}").mkdir()
    (tmp_path / f".out.replaced-{pid}").mkdir()
    (tmp_path / f".out.replaced-{pid}/old").touch()
    mine = tmp_path / f".out.partial-{os.getppid()}"
    mine.mkdir()
    with pytest.raises(UsageError, match="exists already"), whole_folder(tmp_path / "out"):
        pass
    assert names(tmp_path) == [mine.name, "out"]
    assert names(tmp_path / "out") == ["old"]


def test_a_kill_leaves_no_folder_of_that_name(tmp_path):
    script = (
        "import sys, time; from pathlib import Path\n"
        "from twinloop.deliver.workspace import whole_folder\n"
        "with whole_folder(Path(sys.argv[1])) as folder:\n"
        "    (folder / 'half').touch(); print('writing', flush=True); time.sleep(60)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "out")], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "writing\n"
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert not (tmp_path / "out").exists()
    with whole_folder(tmp_path / "out") as folder:
        (folder / "whole").touch()
    assert names(tmp_path) == ["out"]


def test_a_place_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(TwinloopError, match="refuses to write"), whole_folder(tmp_path / "file/out"):
        pass


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path):
    with pytest.raises(TwinloopError, match="disk is full") as told, whole_folder(tmp_path / "out"):
        Path("/dev/full").write_text("x" * 100_000)
    assert told.value.fix is not None
    assert names(tmp_path) == []


def test_a_file_comes_with_the_folder_beside_it(tmp_path):
    out = tmp_path / "out.hdf5"
    with whole_file(out) as (file, beside):
        file.write_text("x")
        (beside / "account.json").touch()
        assert not out.exists()
    assert names(tmp_path) == ["out.hdf5", "out.hdf5.twinloop"]
    assert names(tmp_path / "out.hdf5.twinloop") == ["account.json"]
    with pytest.raises(UsageError, match="exists already"), whole_file(out):
        pass
    with pytest.raises(ZeroDivisionError), whole_file(out, force=True) as (file, _):
        file.write_text("y")
        _ = 1 / 0
    assert out.read_text() == "x"
    with whole_file(out, force=True) as (file, beside):
        file.write_text("z")
        (beside / "account.json").touch()
    assert out.read_text() == "z"
    assert names(tmp_path) == ["out.hdf5", "out.hdf5.twinloop"]


def test_what_a_killed_export_left_of_a_file_is_removed(tmp_path):
    (tmp_path / f".out.hdf5.partial-{dead_process()}").touch()
    with whole_file(tmp_path / "out.hdf5") as (file, _):
        file.touch()
    assert names(tmp_path) == ["out.hdf5"]  # nothing is in the folder beside it
