"""What every benchmark shares: interleaved runs, runs in a child process, targets, the report.

A benchmark prints a table and, last, one line of JSON: ``{"name", "figures": {key: number},
"missed": [key...]}``; it exits 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

#: Runs of each side, unless a benchmark is sized down.
REPEATS = 5


def arguments(description: str) -> argparse.Namespace:
    """The command line of a benchmark; `quick` sizes it to under 50 s."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="a smaller input, under 50 s in all")
    return parser.parse_args()


def interleaved(runs: Mapping[str, Callable[[], object]], repeats: int = REPEATS) -> dict[str, float]:
    """Median CPU seconds (user + system, this process) of each run; one round runs each once, in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            gc.collect()
            before = time.process_time()
            run()
            seconds[name].append(time.process_time() - before)
    return {name: statistics.median(values) for name, values in seconds.items()}


@dataclass(frozen=True, slots=True)
class ChildRun:
    """What a child process used: CPU seconds (user + system), wall seconds, peak resident memory in MB."""

    cpu_s: float
    wall_s: float
    peak_mb: float
    result: Any = None


def in_child(function: Callable[..., Any], *args: object) -> ChildRun:
    """Run `function(*args)` in a fresh interpreter and measure that process; imports it makes count too.

    `function` must be importable by name, its arguments and result picklable. `peak_mb` is the whole
    process's, `cpu_s` and `wall_s` are of the call alone.

    Raises:
        RuntimeError: the child ended without a result; its error is on stderr.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_measured, args=(sender, function, args))
    child.start()
    sender.close()
    try:
        cpu_s, wall_s, peak_mb, result = receiver.recv()
    except EOFError:
        child.join()
        raise RuntimeError(f"{function.__name__} ended with exit code {child.exitcode}") from None
    child.join()
    return ChildRun(cpu_s, wall_s, peak_mb, result)


def _measured(sender: Any, function: Callable[..., Any], args: tuple[object, ...]) -> None:
    wall, cpu = time.perf_counter(), time.process_time()
    result = function(*args)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    sender.send((cpu, wall, peak_mb(), result))
    sender.close()


def peak_mb() -> float:
    """The largest resident memory that this process ever had, in MB (10^6 bytes)."""
    # ru_maxrss outlives exec and so may be the parent's; the kernel's own mark is this process's.
    try:
        with open("/proc/self/status", encoding="ascii") as status:  # noqa: PTH123
            marks = [line.split()[1] for line in status if line.startswith("VmHWM:")]
    except OSError:
        marks = []
    if marks:
        return int(marks[0]) * 1024 / 1e6
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def command(argv: Sequence[str]) -> ChildRun:
    """Run a command to its end, its output thrown away, and measure it.

    Raises:
        RuntimeError: it ended with another exit code than 0.
    """
    wall = time.perf_counter()
    child = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    wall = time.perf_counter() - wall
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise RuntimeError(f"{' '.join(argv)} ended with exit code {child.returncode}")
    return ChildRun(used.ru_utime + used.ru_stime, wall, used.ru_maxrss * 1024 / 1e6)


@dataclass(frozen=True, slots=True)
class Target:
    """What a figure is held against: at least `least`, at most `most`; neither: it is only shown."""

    least: float | None = None
    most: float | None = None

    def missed_by(self, value: float) -> bool:
        """Whether `value` misses the target."""
        return (self.least is not None and not value >= self.least) or (
            self.most is not None and not value <= self.most
        )

    def __str__(self) -> str:
        if self.least is not None:
            return f">= {self.least:g}"
        return f"<= {self.most:g}" if self.most is not None else ""


def finish(name: str, figures: Mapping[str, float], targets: Mapping[str, Target]) -> None:
    """Print the table of figures and the line of JSON, and exit: 1 when a target is missed, else 0."""
    missed = [key for key, target in targets.items() if key in figures and target.missed_by(figures[key])]
    width = max(map(len, figures), default=0)
    for key, value in figures.items():
        verdict = "  MISSED" if key in missed else ""
        print(f"{key:<{width}}  {value:>14,.3f}  {targets.get(key, '')!s:<10}{verdict}".rstrip())
    rounded = {key: float(f"{value:.6g}") for key, value in figures.items()}
    print(json.dumps({"name": name, "figures": rounded, "missed": missed}), flush=True)
    sys.exit(1 if missed else 0)
