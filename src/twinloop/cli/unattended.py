"""What the verbs that run unattended share: ending on a signal, a line of status, amounts with units."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from twinloop.core.errors import UsageError

if TYPE_CHECKING:
    from types import FrameType

_SECONDS = {"": 1.0, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES = {"": 1.0, "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}


def seconds(text: str) -> float:
    """A duration: ``5s``, ``500ms``, ``2min``, ``1h``; a bare number is seconds.

    Raises:
        UsageError: it is none.
    """
    return _amount(text, _SECONDS, "a duration", "5s, 500ms, 2min, 1h")


def bytes_per_s(text: str) -> float:
    """A rate in decimal or binary units: ``2MB/s``, ``500kB/s``, ``1MiB/s``.

    Raises:
        UsageError: it is none, or zero.
    """
    rate = _amount(text.removesuffix("/s"), _BYTES, "a rate", "2MB/s, 500kB/s")
    if not rate:
        raise UsageError("a rate of nothing sends nothing", expected="2MB/s, 500kB/s")
    return rate


def _amount(text: str, units: dict[str, float], what: str, examples: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", text.strip())
    if not match or match[2] not in units:
        raise UsageError(f"{text!r} is not {what}", expected=f"for example {examples}")
    return float(match[1]) * units[match[2]]


@contextmanager
def ending_on_signals() -> Iterator[threading.Event]:
    """An event that SIGTERM or SIGINT sets; the second signal is a KeyboardInterrupt."""
    stop = threading.Event()

    def end(_: int, __: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        typer.echo("ending after what is at hand; once more to end at once", err=True)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def status_line() -> Iterator[tuple[Callable[[str], None], Callable[[str], None]]]:
    """Two functions: one that keeps a line of status up to date, where there is a terminal, and one that
    prints a line that stays. Both write on standard error."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False, soft_wrap=True, markup=False)
    with console.status("") as status:
        yield (lambda text: status.update(text)), (lambda text: console.print(text, markup=False))
