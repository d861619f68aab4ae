"""A disk that is full at any write: told, nothing half-made; with room, the same command finishes."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from scenarios import ExportLeRobot, ExportMcap, Ingest, Mirror, Push, Repair, Scenario, Watch

from twinloop.testing.killing import run_forked_until

SIZES, TORTURE_SIZES = 8, 100
_PAGE = 4096
#: What runs unattended waits for room by itself; it gets it after so long.
WAITING = (Watch, Push)
_FULL_S = 0.5


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 24 MB."""
    (folder := tmp_path / "disk").mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", folder]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system needs root, and a system that lets it")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def room(disk: Path) -> int:
    """Bytes that are free."""
    state = os.statvfs(disk)
    return state.f_bavail * state.f_frsize


def fill(disk: Path, left: int) -> Path:
    """A file that leaves so many bytes free."""
    filler = disk / "filler"
    filler.touch()
    for size in range(room(disk) - left, 0, -_PAGE):
        with filler.open("wb") as file, suppress(OSError):  # the kernel keeps some pages to itself
            os.posix_fallocate(file.fileno(), 0, size)
            break
    return filler


def free_later(filler: Path) -> int:
    """Remove a file in a moment, in another process."""
    child = os.fork()
    if not child:
        time.sleep(_FULL_S)
        filler.unlink()
        os._exit(0)
    return child


@pytest.mark.parametrize(
    "kind", [Ingest, Watch, Push, Mirror, Repair, ExportMcap, ExportLeRobot], ids=lambda kind: kind.name
)
def test_a_disk_that_fills_up_at_any_write(
    kind: type[Scenario], tmp_path: Path, disk: Path, torture: bool
) -> None:
    scenario = kind(tmp_path / "sound")
    scenario.fresh(disk / "warm")
    before = room(disk)
    code = scenario.act(disk / "warm")
    needed = before - room(disk)
    shutil.rmtree(disk / "warm")
    sizes = TORTURE_SIZES if torture else 4 if kind in WAITING else SIZES
    refused = 0
    for number in range(sizes):
        at = disk / str(number)
        scenario.fresh(at)
        filler = fill(disk, int(needed * 1.1 * number / sizes) // _PAGE * _PAGE)
        helper = free_later(filler) if kind in WAITING else None
        ended = run_forked_until(lambda at=at: scenario.act(at), None)
        if helper:
            os.waitpid(helper, 0)
        assert ended.code in (0, 3, code), f"exit code {ended.code} with the {number}th size"
        refused += ended.code != code
        filler.unlink(missing_ok=True)
        scenario.survived(at)
        if ended.code != code or kind in WAITING:
            assert run_forked_until(lambda at=at: scenario.act(at), None).code in (0, code)
        scenario.finished(at)
        shutil.rmtree(at)
    assert refused or kind in WAITING
