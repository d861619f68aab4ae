"""Killing a process, and all that it started, when they have written so many bytes: cut power at any byte.

Bytes are those of the kernel's write calls to files, pipes and sockets (`wchar` of /proc/PID/io), looked at
two thousand times a second; nothing in the process knows of it.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_LOOK_S = 0.0005
_LONGEST_S = 120.0
_WCHAR = re.compile(rb"wchar: (\d+)")


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
    """Wait for the end of a process, or bring it about."""
    deadline = time.monotonic() + _LONGEST_S
    with _Writers(process) as writers:
        while True:
            written = writers.count()
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                return Ended(os.waitstatus_to_exitcode(status), written)
            too_late = time.monotonic() > deadline
            if too_late or (after_bytes is not None and written >= after_bytes):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process, signal.SIGKILL)
                _, status = os.waitpid(process, 0)
                assert not too_late, f"not done after {_LONGEST_S:.0f} s"
                return Ended(os.waitstatus_to_exitcode(status), written)
            time.sleep(_LOOK_S)


class _Writers:
    """A process and its descendants, each with the bytes that it wrote; those of the dead stay counted."""

    def __init__(self, process: int) -> None:
        self._process = process
        self._written: dict[int, int] = {}
        self._open: dict[int, tuple[int, int]] = {}

    def count(self) -> int:
        """Bytes that all of them have written by now."""
        todo = [self._process]
        while todo:
            process = todo.pop()
            with contextlib.suppress(OSError):
                if process not in self._open:
                    self._open[process] = _open_accounts(process)
                io, children = self._open[process]
                self._written[process] = int(_WCHAR.findall(os.pread(io, 4096, 0))[0])
                todo += map(int, os.pread(children, 4096, 0).split())
        return sum(self._written.values())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptors in self._open.values():
            for descriptor in descriptors:
                os.close(descriptor)


def _open_accounts(process: int) -> tuple[int, int]:
    """Descriptors of the kernel's account of what a process wrote, and of the list of its children."""
    io = os.open(f"/proc/{process}/io", os.O_RDONLY)
    try:
        return io, os.open(f"/proc/{process}/task/{process}/children", os.O_RDONLY)
    except OSError:
        os.close(io)
        raise
