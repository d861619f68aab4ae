"""Where work in progress lies, and the locks that tell a live process's work from a dead one's.

The lock is the kernel's (flock): it goes with its process, however that ends. A staging folder without a
holder is a leftover of a killed process and is removed by whoever comes next.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STAGING = "staging"


def try_lock(descriptor: int) -> bool:
    """Take the exclusive lock of an open file if nobody holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def workspace(root: Path, name: str) -> Iterator[Path]:
    """An empty folder that is this process's alone until the block ends; it and its content go then.

    Waits while another live process has the workspace of the same name.
    """
    staging = root / STAGING
    staging.mkdir(exist_ok=True)
    lock = staging / f"{name}.lock"
    descriptor = _hold(lock)
    folder = staging / name
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(exist_ok=True)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.unlink(missing_ok=True)
        os.close(descriptor)


def _hold(lock: Path) -> int:
    """A descriptor of the lock file, locked. A holder removes the file, so the name is checked again."""
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(lock.stat(), os.fstat(descriptor)):
                return descriptor
        os.close(descriptor)


def leftovers(root: Path) -> list[Path]:
    """What dead processes left in staging: temporary files and workspaces that nobody holds."""
    staging = root / STAGING
    found = []
    for path in sorted(staging.iterdir()) if staging.is_dir() else []:
        lock = path if path.is_file() else path.with_name(f"{path.name}.lock")
        if path.suffix == ".lock" and path.with_suffix("").is_dir():
            continue  # its folder stands for both
        try:
            descriptor = os.open(lock, os.O_RDWR)
        except FileNotFoundError:
            if path.is_dir():
                found.append(path)
            continue
        except OSError:
            continue  # another user's, or on a disk that is read only: not for this process to judge
        if try_lock(descriptor):
            found.append(path)
        os.close(descriptor)
    return found


def clean(root: Path) -> list[Path]:
    """Remove what dead processes left in staging; give what was removed. Live processes' work stays."""
    removed = []
    for path in leftovers(root):
        with suppress(PermissionError):
            if path.is_file():
                path.unlink(missing_ok=True)
            else:
                with workspace(root, path.name):
                    pass
            removed.append(path)
    return removed
