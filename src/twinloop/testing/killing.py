"""Killing a process, and all that it started, when they have written so many bytes: cut power at any byte.

Bytes are those of the kernel's write calls to files, pipes and sockets (`wchar` of /proc/PID/io), looked at
some thousand times a second; nothing in the process knows of it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_LOOK_S = 0.0002
_LONGEST_S = 120.0


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended: its exit code (negative: the signal), and the bytes that it had written."""

    code: int
    written: int

    @property
    def killed(self) -> bool:
        """Whether it was killed before its end."""
        return self.code == -signal.SIGKILL


def run_forked_until(function: Callable[[], int], after_bytes: int | None) -> Ended:
    """Run `function`, which gives an exit code, in a forked child; kill it after so many bytes (None: never).

    The caller has no thread of its own and no open database.
    """
    child = os.fork()
    if not child:
        os.setpgid(0, 0)
        code = 99
        try:
            silence = os.open(os.devnull, os.O_RDWR)
            os.dup2(silence, 0), os.dup2(silence, 1)
            code = function()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return _watch(child, after_bytes)


def run_process_until(command: Sequence[str], after_bytes: int | None) -> Ended:
    """As `run_forked_until`, for a command of its own."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, process_group=0)
    return _watch(process.pid, after_bytes)


def _watch(process: int, after_bytes: int | None) -> Ended:
    written: dict[int, int] = {}
    deadline = time.monotonic() + _LONGEST_S
    while True:
        _count(process, written)
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return Ended(os.waitstatus_to_exitcode(status), sum(written.values()))
        too_late = time.monotonic() > deadline
        if too_late or (after_bytes is not None and sum(written.values()) >= after_bytes):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process, signal.SIGKILL)
            _, status = os.waitpid(process, 0)
            assert not too_late, f"not done after {_LONGEST_S:.0f} s"
            return Ended(os.waitstatus_to_exitcode(status), sum(written.values()))
        time.sleep(_LOOK_S)


def _count(process: int, written: dict[int, int]) -> None:
    """Bytes written by a process and its descendants; those of the dead stay counted."""
    try:
        for line in Path(f"/proc/{process}/io").read_text().splitlines():
            if line.startswith("wchar:"):
                written[process] = int(line.split()[1])
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except (OSError, ProcessLookupError):
        return
    for child in children:
        _count(int(child), written)
