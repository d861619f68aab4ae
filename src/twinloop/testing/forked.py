"""Running a function on many inputs in forked children that may not take too much memory or time.

The parent has everything imported and no thread of its own, so a child costs a millisecond. A child works
through inputs until one of them ends it; the next child goes on with the one after.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import traceback
from dataclasses import dataclass
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


def run_forked(
    function: Callable[[T], None],
    inputs: Sequence[T],
    *,
    memory_bytes: int = 2 << 30,
    seconds: int = 5,
) -> Iterator[Verdict]:
    """A verdict for each input: an exception, a signal, too much memory or time is a fault.

    `memory_bytes`: RLIMIT_AS of a child. `seconds`: for one input, by the kernel's alarm.
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
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
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


def _ended(code: int, seconds: int) -> str:
    if code == -signal.SIGALRM:
        return f"not done after {seconds} s"
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"
