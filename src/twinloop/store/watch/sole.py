"""One watch a source on a machine: two would do no harm, but everything twice."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from twinloop.core.errors import StoreError
from twinloop.store.staging import STAGING, try_lock
from twinloop.store.watch.log import source_id

if TYPE_CHECKING:
    from pathlib import Path

#: Whoever tidies up staging holds a lock for a moment.
_TRIES, _PAUSE_S = 5, 0.1


@contextmanager
def sole_watch(work: Path, source: str) -> Iterator[None]:
    """Hold a source until the block ends.

    Raises:
        StoreError: another process of this machine watches it for this store.
    """
    folder = work / STAGING
    folder.mkdir(parents=True, exist_ok=True)
    lock = folder / f"watch-{source_id(source)}.lock"
    descriptor = _hold(lock)
    if descriptor is None:
        raise StoreError("another process watches it for this store", where=source)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(descriptor)


def _hold(lock: Path) -> int | None:
    """A descriptor of the lock file, locked; None if another process has it."""
    for _ in range(_TRIES):
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if try_lock(descriptor) and os.path.samestat(lock.stat(), os.fstat(descriptor)):
                return descriptor
        except FileNotFoundError:  # tidied up since it was opened
            pass
        os.close(descriptor)
        time.sleep(_PAUSE_S)
    return None
