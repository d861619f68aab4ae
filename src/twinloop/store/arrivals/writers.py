"""Files that some process holds open for writing, where the kernel tells (Linux, ``/proc``)."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")


def open_for_writing(below: Path) -> set[Path]:
    """The files below a folder that a process we may look into has open for writing; empty without /proc."""
    root = os.path.realpath(below) + os.sep
    found = set()
    for process in _PROC.iterdir() if _PROC.is_dir() else ():
        if not process.name.isdigit():
            continue
        with suppress(OSError):
            for descriptor in os.scandir(process / "fd"):
                with suppress(OSError):
                    target = str(Path(descriptor.path).readlink())
                    if target.startswith(root) and _writes(process, descriptor.name):
                        found.add(Path(target))
    return found


def _writes(process: Path, descriptor: str) -> bool:
    """Whether a descriptor is open for writing (proc(5): `flags` in fdinfo is octal)."""
    for line in (process / "fdinfo" / descriptor).read_text().splitlines():
        if line.startswith("flags:"):
            return bool(int(line.split()[1], 8) & (os.O_WRONLY | os.O_RDWR))
    return False
