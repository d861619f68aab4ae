"""Many items through one function in local processes; one that dies takes only its own item with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from twinloop.engine.workers import Crash, Item, Result, Watch, Workers, attempt, nobody_watches

if TYPE_CHECKING:
    from twinloop.engine.progress import Report

__all__ = ["Crash", "Watch", "nobody_watches", "run_all"]


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
            yield position, attempt(function, item, partial(watch, position))
        return
    todo = iter(enumerate(items))
    with Workers(function, workers, watch=watch) as processes:
        for position, item in islice(todo, workers):
            processes.give(position, item)
        while processes.busy:
            for position, result in processes.hear():
                yield position, result
                if following := next(todo, None):
                    processes.give(*following)
