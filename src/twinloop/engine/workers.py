"""Processes that stay: items go in as they come, results come out; one that dies takes only its own item."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Generic, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from multiprocessing.context import ForkServerProcess

    from twinloop.engine.progress import Report

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Called with an item's number, what is being done with it, and how much of it is done, 0 to 1.
Watch = Callable[[int, str, float], None]


@dataclass(frozen=True, slots=True)
class Crash:
    """An item whose process died or whose function raised. `what` says how; `died`: the process did."""

    what: str
    died: bool = False


def nobody_watches(_: int, __: str, ___: float) -> None:
    """Progress that nobody watches."""


def import_ahead(modules: Sequence[str]) -> None:
    """Begin to import, in the process that workers are forked from, what they will need; does not wait.

    Without it each worker imports for itself. A process from which workers were forked before stays as it is.
    """
    multiprocessing.set_forkserver_preload(["__main__", *modules])
    with _interrupts_held():
        forkserver.ensure_running()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C goes to all processes of a terminal: those started meanwhile leave it to this one, which waits."""
    resource_tracker.ensure_running()  # would let interrupts through again if it were started meanwhile
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@dataclass(slots=True)
class _Worker:
    process: ForkServerProcess
    pipe: Connection
    number: int = -1
    done: int = 0
    heard_s: float = field(default_factory=time.monotonic)


class Workers(Generic[Item, Result]):
    """Up to `count` processes, each started when it is first needed.

    Args:
        function: takes an item and a progress report; importable by name, as are items and results.
        watch: gets the progress.
        lifetime: items after which a process gives way to a fresh one; None: it stays.
        patience_s: a process that says nothing for so long is killed; None: it is waited for.
    """

    def __init__(
        self,
        function: Callable[[Item, Report], Result],
        count: int,
        *,
        watch: Watch = nobody_watches,
        lifetime: int | None = None,
        patience_s: float | None = None,
    ) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._function = function
        self._count = count
        self._watch = watch
        self._lifetime = lifetime
        self._patience_s = patience_s
        self._idle: list[_Worker] = []
        self._busy: dict[Connection, _Worker] = {}

    @property
    def free(self) -> int:
        """How many items can be given at once."""
        return self._count - len(self._busy)

    @property
    def busy(self) -> int:
        """How many items are being worked on."""
        return len(self._busy)

    def give(self, number: int, item: Item) -> None:
        """Let a process that is free work on an item; its result comes with `number`."""
        assert self.free, "every process is busy"
        worker = self._idle.pop() if self._idle else self._start()
        try:
            worker.pipe.send(item)
        except OSError:  # it died while it had nothing to do
            self._dismiss(worker)
            worker = self._start()
            worker.pipe.send(item)
        worker.number, worker.heard_s = number, time.monotonic()
        self._busy[worker.pipe] = worker

    def hear(self, timeout_s: float | None = None) -> list[tuple[int, Result | Crash]]:
        """Wait until some process says something; the results among it. None after `timeout_s`."""
        results = []
        for pipe in wait(list(self._busy), timeout_s) if self._busy else ():
            assert isinstance(pipe, Connection)
            results += self._hear(self._busy[pipe])
        if self._patience_s is not None:
            results += self._give_up_on_the_silent(self._patience_s)
        return results

    def _hear(self, worker: _Worker) -> list[tuple[int, Result | Crash]]:
        worker.heard_s = time.monotonic()
        try:
            message = worker.pipe.recv()
        except (EOFError, OSError):
            return [(worker.number, Crash(self._bury(worker), died=True))]
        if message[0] == "progress":
            self._watch(worker.number, message[1], message[2])
            return []
        del self._busy[worker.pipe]
        worker.done += 1
        if self._lifetime is not None and worker.done >= self._lifetime:
            self._dismiss(worker)
        else:
            self._idle.append(worker)
        return [(worker.number, message[1])]

    def _give_up_on_the_silent(self, patience_s: float) -> list[tuple[int, Result | Crash]]:
        now = time.monotonic()
        silent = [worker for worker in self._busy.values() if now - worker.heard_s > patience_s]
        for worker in silent:
            worker.process.kill()
            self._bury(worker)
        what = f"its process said nothing for {patience_s:.0f} s and was ended"
        return [(worker.number, Crash(what, died=True)) for worker in silent]

    def _start(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(
            target=_work, args=(theirs, self._function, dict(os.environ)), daemon=True
        )
        with _interrupts_held():  # it may be the first one, and start the process that all are forked from
            process.start()
        theirs.close()
        return _Worker(process, ours)

    def _bury(self, worker: _Worker) -> str:
        worker.process.join()
        worker.pipe.close()
        self._busy = {pipe: other for pipe, other in self._busy.items() if other is not worker}
        code = worker.process.exitcode or 0
        if code < 0:
            return f"its process was killed ({signal.Signals(-code).name})"
        return f"its process ended with exit code {code}"

    @staticmethod
    def _dismiss(worker: _Worker) -> None:
        worker.pipe.close()
        worker.process.join()

    def close(self) -> None:
        """End all processes: those that work at once, the others as they like."""
        for worker in self._busy.values():
            worker.process.kill()
        for worker in (*self._idle, *self._busy.values()):
            self._dismiss(worker)
        self._idle, self._busy = [], {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def attempt(function: Callable[[Item, Report], Result], item: Item, report: Report) -> Result | Crash:
    """The function's result, or what it raised."""
    try:
        return function(item, report)
    except Exception as error:
        return Crash(f"{type(error).__name__}: {error}")


def _work(pipe: Connection, function: Callable[[Item, Report], Result], environment: Mapping[str, str]) -> None:
    os.environ.clear()  # it is that of the time when the first worker was started
    os.environ.update(environment)
    for ending in (signal.SIGINT, signal.SIGTERM):  # the parent decides, and ends this process
        signal.signal(ending, signal.SIG_IGN)
    with suppress(EOFError, OSError):  # the parent is done with this process, or dead
        while True:
            item = pipe.recv()
            result = attempt(function, item, lambda what, done: pipe.send(("progress", what, done)))
            pipe.send(("result", result))
