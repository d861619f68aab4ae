"""Files of an object store that were fetched to this machine, kept until their room is needed.

Objects never change, so a file that is here is right. Which files processes hold is written in one file a
process, under a lock that goes with it; what nobody holds goes, least recently used first, when all
together are larger than the limit.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from collections import Counter
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from twinloop.core.errors import UsageError
from twinloop.store.disk import reporting_system_errors
from twinloop.store.staging import STAGING, try_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

#: Environment variable that sets the limit, and the limit where it does not.
LIMIT = "TWINLOOP_CACHE_BYTES"
_LIMIT_BYTES = 20_000_000_000


class ObjectCache:
    """The cache below `work`, this machine's folder of one store; `limit` in bytes."""

    def __init__(self, work: Path, limit: int | None = None) -> None:
        self.work = work
        self.limit = limit_from_environment() if limit is None else limit
        self._folder = work / "objects"
        self._held: Counter[str] = Counter()
        self._process = 0
        self._holder = -1
        self._total: int | None = None

    def place(self, key: str) -> Path:
        """Where the file of `key` is, or will be."""
        return self._folder / key

    def hold(self, key: str, fetch: Callable[[Path], None]) -> Path:
        """The file of `key`, kept until `release`; `fetch` writes it to a path if it is not here.

        Raises:
            StoreError: the disk is full, or whatever `fetch` raises; then nothing is kept.
        """
        path = self.place(key)
        with reporting_system_errors(self.work):
            with self._locked(fcntl.LOCK_SH):
                self._held[key] += 1
                self._write_held()
            with suppress(FileNotFoundError):
                os.utime(path)
                return path
            try:
                self._fetch(path, fetch)
            except BaseException:
                self.release(key)
                raise
            self._make_room(path.stat().st_size)
        return path

    def _fetch(self, path: Path, fetch: Callable[[Path], None]) -> None:
        temporary = self.work / STAGING / f"tmp-{secrets.token_hex(8)}"
        temporary.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            try_lock(descriptor)
            fetch(temporary)
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
            os.close(descriptor)

    def release(self, key: str) -> None:
        """Whoever called `hold` is done with the file."""
        if not self._held[key]:
            return
        self._held[key] -= 1
        if not self._held[key]:
            del self._held[key]
            with self._locked(fcntl.LOCK_SH):
                self._write_held()

    def discard(self, key: str) -> None:
        """Remove the file of `key`."""
        self.place(key).unlink(missing_ok=True)

    def _write_held(self) -> None:
        """Write down what this process holds, in a file that is locked as long as it lives."""
        if self._process != os.getpid():  # a fork has its parent's descriptor; it gets its own
            holders = self.work / "holders"
            holders.mkdir(parents=True, exist_ok=True)
            self._holder = os.open(
                holders / f"{os.getpid()}-{secrets.token_hex(4)}", os.O_RDWR | os.O_CREAT, 0o666
            )
            try_lock(self._holder)
            self._process = os.getpid()
        os.ftruncate(self._holder, 0)
        os.pwrite(self._holder, "\n".join(self._held).encode(), 0)

    @contextmanager
    def _locked(self, mode: int) -> Iterator[None]:
        """Shared: to hold files. Exclusive: to remove what nobody holds."""
        self.work.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.work / "cache.lock", os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, mode)
            yield
        finally:
            os.close(descriptor)

    def _make_room(self, added: int) -> None:
        """Remove what was used longest ago and nobody holds, if all together is too large."""
        self._total = sum(size for _, size, _ in self._files()) if self._total is None else self._total + added
        if self._total <= self.limit:
            return
        with self._locked(fcntl.LOCK_EX):
            held = self._held_by_all()
            files = sorted(self._files())
            self._total = sum(size for _, size, _ in files)
            for _, size, path in files:
                if self._total <= self.limit:
                    break
                if path.relative_to(self._folder).as_posix() not in held:
                    path.unlink(missing_ok=True)
                    self._total -= size

    def _files(self) -> Iterator[tuple[float, int, Path]]:
        """(last use, bytes, path) of all files."""
        for folder, _, names in os.walk(self._folder):
            for name in names:
                path = self._folder.joinpath(folder, name)
                with suppress(FileNotFoundError):
                    stat = path.stat()
                    yield stat.st_mtime, stat.st_size, path

    def _held_by_all(self) -> set[str]:
        """The keys that living processes hold; what dead ones wrote down is removed."""
        held = set(self._held)
        for path in (self.work / "holders").iterdir():
            descriptor = os.open(path, os.O_RDWR)
            if try_lock(descriptor):
                path.unlink()
            else:
                held.update(path.read_text().split("\n"))
            os.close(descriptor)
        return held


def limit_from_environment() -> int:
    """The limit that TWINLOOP_CACHE_BYTES sets.

    Raises:
        UsageError: it is no number.
    """
    text = os.environ.get(LIMIT, "")
    if not text:
        return _LIMIT_BYTES
    if not text.isdecimal():
        raise UsageError(f"{LIMIT} is {text!r}", expected="a number of bytes, as 20000000000")
    return int(text)
