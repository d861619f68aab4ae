"""Many items through one function in local processes; one that dies takes only its own item with it."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

    from twinloop.engine.progress import Report

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Called with an item's position, what is being done with it, and how much of it is done, 0 to 1.
Watch = Callable[[int, str, float], None]


@dataclass(frozen=True, slots=True)
class Crash:
    """An item whose process died or whose function raised. `what` says how."""

    what: str


def nobody_watches(_: int, __: str, ___: float) -> None:
    """Progress that nobody watches."""


def run_all(
    function: Callable[[Item, Report], Result],
    items: Sequence[Item],
    *,
    workers: int | None = None,
    watch: Watch = nobody_watches,
) -> Iterator[tuple[int, Result | Crash]]:
    """Results as they come, each with its item's position.

    Args:
        function: takes an item and a progress report; importable by name, as are items and results
            (with one worker it runs right here, and anything goes).
        workers: processes at a time; None: one a core.

    An interrupt (Ctrl-C) ends all processes and is raised.
    """
    workers = min(workers or os.cpu_count() or 1, len(items))
    if workers <= 1:
        for position, item in enumerate(items):
            yield position, _try(function, item, partial(watch, position))
        return
    yield from _Pool(function, items, workers, watch).results()


@dataclass(slots=True)
class _Worker:
    process: SpawnProcess
    pipe: Connection
    position: int


class _Pool(Generic[Item, Result]):
    def __init__(
        self, function: Callable[[Item, Report], Result], items: Sequence[Item], workers: int, watch: Watch
    ) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._function = function
        self._items = items
        self._watch = watch
        self._todo = iter(range(len(items)))
        self._workers = workers
        self._busy: dict[Connection, _Worker] = {}

    def results(self) -> Iterator[tuple[int, Result | Crash]]:
        try:
            for _ in range(self._workers):
                self._start()
            while self._busy:
                for pipe in wait(list(self._busy)):
                    assert isinstance(pipe, Connection)
                    yield from self._hear(self._busy[pipe])
        finally:
            for worker in self._busy.values():
                worker.process.terminate()
            for worker in self._busy.values():
                worker.process.join()

    def _start(self) -> None:
        """A new process with the next item, if there is one."""
        position = next(self._todo, None)
        if position is None:
            return
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_work, args=(theirs, self._function), daemon=True)
        process.start()
        theirs.close()
        worker = _Worker(process, ours, position)
        self._busy[ours] = worker
        ours.send(self._items[position])

    def _hear(self, worker: _Worker) -> Iterator[tuple[int, Result | Crash]]:
        try:
            message = worker.pipe.recv()
        except (EOFError, OSError):
            yield worker.position, Crash(self._bury(worker))
            self._start()
            return
        if message[0] == "progress":
            self._watch(worker.position, message[1], message[2])
            return
        yield worker.position, message[1]
        position = next(self._todo, None)
        if position is None:
            worker.pipe.close()
            worker.process.join()
            del self._busy[worker.pipe]
        else:
            worker.position = position
            worker.pipe.send(self._items[position])

    def _bury(self, worker: _Worker) -> str:
        worker.process.join()
        del self._busy[worker.pipe]
        code = worker.process.exitcode or 0
        if code < 0:
            return f"its process was killed ({signal.Signals(-code).name})"
        return f"its process ended with exit code {code}"


def _work(pipe: Connection, function: Callable[[Item, Report], Result]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides, and terminates
    while True:
        try:
            item = pipe.recv()
        except EOFError:
            return
        result = _try(function, item, lambda what, done: pipe.send(("progress", what, done)))
        pipe.send(("result", result))


def _try(function: Callable[[Item, Report], Result], item: Item, report: Report) -> Result | Crash:
    try:
        return function(item, report)
    except Exception as error:
        return Crash(f"{type(error).__name__}: {error}")
