"""Running a function on many inputs in forked children that may not take too much memory or time.

The parent has everything imported and no thread of its own, so a child costs a millisecond. A child works
through inputs until one of them ends it; the next child goes on with the one after.

    import_as(lambda: read(sound))
    for verdict in run_forked(read, damaged): ...
"""

from __future__ import annotations

import importlib
import os
import resource
import signal
import sys
import traceback
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

T = TypeVar("T")

_AT_ONCE = 50


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of input number `number`: `fault` is empty where all went as it should."""

    number: int
    fault: str


def import_as(function: Callable[[], None]) -> None:
    """Import what a function imports when it runs, without running it here: it may start threads."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        with suppress(BaseException):
            function()
        with os.fdopen(writer, "w") as names:
            names.write("\n".join(sys.modules))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as names:
        wanted = names.read().split()
    os.waitpid(child, 0)
    for name in wanted:
        if name not in sys.modules:
            with suppress(Exception):  # made by other modules as they were imported
                importlib.import_module(name)


def run_forked(
    function: Callable[[T], None],
    inputs: Sequence[T],
    *,
    memory_bytes: int = 1 << 30,
    seconds: int = 5,
) -> Iterator[Verdict]:
    """A verdict for each input: an exception, a signal, too much memory or time is a fault.

    `memory_bytes`: address space of a child (RLIMIT_AS) beyond what the parent has, whose libraries reserve
    about 1 GB; so the default is 2 GB for a process of its own. `seconds`: for one input, by the alarm.
    """
    number = 0
    while number < len(inputs):
        some = range(number, min(number + _AT_ONCE, len(inputs)))
        for verdict in _child(function, inputs, some, memory_bytes, seconds):
            yield verdict
            number = verdict.number + 1


def _child(
    function: Callable[[T], None], inputs: Sequence[T], some: range, memory_bytes: int, seconds: int
) -> Iterator[Verdict]:
    reader, writer = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if not child:
        os.close(reader)
        _work(function, inputs, some, memory_bytes, seconds, writer)
    os.close(writer)
    told = 0
    with os.fdopen(reader, "rb") as lines:
        for line in lines:
            yield Verdict(some[told], line.decode(errors="replace").rstrip("\n").replace("\x1f", "\n"))
            told += 1
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if told < len(some):
        yield Verdict(some[told], _ended(code, seconds))


def _work(
    function: Callable[[T], None],
    inputs: Sequence[T],
    some: range,
    memory_bytes: int,
    seconds: int,
    writer: int,
) -> None:
    """The child: never returns."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # libraries complain of damaged files there
    limit = _address_space() + memory_bytes
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    for number in some:
        signal.alarm(seconds)
        try:
            function(inputs[number])
            fault = ""
        except BaseException as error:
            lines = traceback.format_exception(error, limit=-6)
            fault = f"{type(error).__name__}: {error}\n{''.join(lines)}"
        signal.alarm(0)
        os.write(writer, fault.replace("\n", "\x1f").encode(errors="replace")[:4000] + b"\n")
    os._exit(0)


def _address_space() -> int:
    """Bytes of address space that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _ended(code: int, seconds: int) -> str:
    if code == -signal.SIGALRM:
        return f"not done after {seconds} s"
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"
