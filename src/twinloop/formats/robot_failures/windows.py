"""The windows of a file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import UnreadableError, Where
from twinloop.core.recording import Problem

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.formats.notes import Notes

SAMPLES = 15
PERIOD_NS = 21_000_000
_CLASS = re.compile(rb"[a-z][a-z_]{1,40}")
_ROW = re.compile(rb"\t?(?:-?\d{1,6}\t){5}-?\d{1,6}")
_MOST_BYTES = 64 << 20


def is_windows(head: bytes) -> bool:
    """Whether a file that starts with `head` has a class and fifteen rows of six whole numbers."""
    lines = [line.rstrip() for line in head.split(b"\n")]
    while lines and not lines[0]:
        lines.pop(0)
    return (
        len(lines) > SAMPLES
        and _CLASS.fullmatch(lines[0]) is not None
        and all(_ROW.fullmatch(line) for line in lines[1 : SAMPLES + 1])
    )


def read_windows(path: Path, notes: Notes) -> tuple[list[str], NDArray[np.float64]]:
    """Classes (W) and samples (W, 15, 6): force x y z, torque x y z. Windows that are not whole are noted.

    Raises:
        UnreadableError: the file is too large, or holds no whole window.
    """
    if path.stat().st_size > _MOST_BYTES:
        raise UnreadableError("the file of windows is too large", where=str(path), expected="at most 64 MB")
    classes: list[str] = []
    windows: list[list[list[int]]] = []
    name: str | None = None
    rows: list[list[int]] = []
    broken = 0
    for line in (*path.read_bytes().splitlines(), b"end"):
        line = line.rstrip()
        if _CLASS.fullmatch(line):
            if name is not None:
                if len(rows) == SAMPLES:
                    classes.append(name)
                    windows.append(rows)
                else:
                    broken += 1
            name, rows = line.decode("ascii"), []
        elif _ROW.fullmatch(line):
            rows.append([int(cell) for cell in line.split()])
        elif line:
            rows = [*rows, []]  # a row that is none breaks its window
    whole = [(word, window) for word, window in zip(classes, windows, strict=True) if all(window)]
    broken += len(classes) - len(whole)
    if broken:
        message = f"{broken} windows have not {SAMPLES} whole rows and are left out"
        notes.add(Problem.CORRUPT, message, Where(file=str(path)), broken * SAMPLES)
    if not whole:
        raise UnreadableError("the file holds no whole window", where=str(path), expected="a class and 15 rows")
    return [word for word, _ in whole], np.array([window for _, window in whole], np.float64)
