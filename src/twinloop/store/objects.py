"""Objects by key: the one place where the store's files are made, read and listed.

Everything that the store holds goes through `Objects`, so that it can lie on a disk or in an object store.
Its heart is creation on condition of absence: of two writers of one key, exactly one is told that it won.
"""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol
from urllib.parse import quote

from twinloop.core.errors import StoreError
from twinloop.store.staging import STAGING, try_lock

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME_BYTES = 200  # file systems end at 255 bytes a name; suffixes come on top
_TRIES = 20


class Objects(Protocol):
    """What the store needs of the place that it lies in. Keys are ``/``-separated and relative."""

    def put(self, key: str, data: bytes) -> bool:
        """Create `key`, durably, if it does not exist. False: it exists and was left alone."""

    def put_file(self, key: str, path: Path) -> bool:
        """As `put`, with the content of a finished local file, which is moved."""

    def get(self, key: str) -> bytes:
        """The bytes of `key`; StoreError if it is not there."""

    def open(self, key: str) -> BinaryIO:
        """`key`, open for reading and seeking."""

    def path(self, key: str) -> Path:
        """A local file with the bytes of `key`, for libraries that want one."""

    def exists(self, key: str) -> bool:
        """Whether `key` is there."""

    def size(self, key: str) -> int:
        """Bytes of `key`."""

    def walk(self, prefix: str) -> Iterator[str]:
        """All keys below the folder `prefix`, in the same order every time."""

    def children(self, prefix: str) -> list[str]:
        """The names directly below the folder `prefix`, sorted."""

    def append(self, key: str, data: bytes) -> None:
        """Add whole lines at the end of `key`, durably, undivided by other writers."""

    def delete(self, key: str) -> None:
        """Take `key` away; nothing happens if it is not there."""


class LocalObjects:
    """Objects as files below a folder. Names appear by hard link, so a file is whole or not there."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, key: str, data: bytes) -> bool:
        """Create `key` with these bytes unless it exists."""
        if self.exists(key):
            return False
        for _ in range(_TRIES):
            with suppress(FileNotFoundError):  # a cleaner took the temporary file for a dead one's
                return self._put_once(key, data)
        raise StoreError("the store's folder went away", where=str(self.root))

    def _put_once(self, key: str, data: bytes) -> bool:
        temporary = self.root / STAGING / f"tmp-{secrets.token_hex(8)}"
        with reporting_system_errors(self.root):
            temporary.parent.mkdir(exist_ok=True)
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            try:
                try_lock(descriptor)
                view = memoryview(data)
                while view:
                    view = view[os.write(descriptor, view) :]
                os.fsync(descriptor)
                return self._link(temporary, key)
            finally:
                temporary.unlink(missing_ok=True)
                os.close(descriptor)

    def put_file(self, key: str, path: Path) -> bool:
        """Move a finished file on the same file system to `key` unless that exists."""
        with reporting_system_errors(self.root):
            sync_file(path)
            created = self._link(path, key)
            path.unlink()
            return created

    def _link(self, source: Path, key: str) -> bool:
        target = self.root / key
        make_folders(target.parent)
        try:
            os.link(source, target)
        except FileExistsError:
            return False
        except FileNotFoundError:  # a concurrent `delete` took the folder that it had emptied
            make_folders(target.parent)
            os.link(source, target)
        sync_folder(target.parent)
        return True

    def get(self, key: str) -> bytes:
        """The bytes of `key`."""
        with self.open(key) as file:
            return file.read()

    def open(self, key: str) -> BinaryIO:
        """`key`, open for reading and seeking."""
        try:
            return self.path(key).open("rb")
        except FileNotFoundError:
            raise StoreError(
                f"the store lacks {key}", where=str(self.root), fix="run `twinloop store fsck`"
            ) from None
        except OSError as error:
            raise StoreError(f"the store cannot read {key}: {error.strerror}", where=str(self.root)) from error

    def path(self, key: str) -> Path:
        """The file that holds `key`."""
        return self.root / key

    def exists(self, key: str) -> bool:
        """Whether `key` is there."""
        return self.path(key).is_file()

    def size(self, key: str) -> int:
        """Bytes of `key`."""
        return self.path(key).stat().st_size

    def walk(self, prefix: str) -> Iterator[str]:
        """All keys below the folder `prefix`, in the same order every time."""
        top = self.root / prefix
        for folder, folders, files in os.walk(top):
            folders.sort()
            for name in sorted(files):
                yield str(Path(folder, name).relative_to(self.root))

    def children(self, prefix: str) -> list[str]:
        """The names directly below the folder `prefix`, sorted; none below a file."""
        try:
            return sorted(entry.name for entry in os.scandir(self.root / prefix))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def append(self, key: str, data: bytes) -> None:
        """Add whole lines at the end of `key`. A line that a crash tore is closed first, never joined."""
        import fcntl

        target = self.root / key
        with reporting_system_errors(self.root):
            make_folders(target.parent)
            descriptor = os.open(target, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                size = os.fstat(descriptor).st_size
                if size and os.pread(descriptor, 1, size - 1) != b"\n":
                    data = b"\n" + data
                try:
                    view = memoryview(data)
                    while view:
                        view = view[os.write(descriptor, view) :]
                    os.fsync(descriptor)
                except OSError:
                    os.ftruncate(descriptor, size)  # half a line on a full disk is not worth keeping
                    raise
            finally:
                os.close(descriptor)
            if not size:
                sync_folder(target.parent)

    def delete(self, key: str) -> None:
        """Take `key` away, and folders that it leaves empty."""
        target = self.path(key)
        target.unlink(missing_ok=True)
        for folder in target.parents:
            if folder == self.root:
                break
            try:
                folder.rmdir()
            except OSError:
                break


@contextmanager
def reporting_system_errors(root: Path) -> Iterator[None]:
    """Turns the system's refusals (disk full, no permission, no hard links) into a StoreError."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise write_refused(error, root) from error


def write_refused(error: OSError, root: Path) -> StoreError:
    """What to tell of a write below `root` that the system refused."""
    return StoreError(
        f"the store could not be written: {os.strerror(error.errno) if error.errno else error}",
        where=error.filename if isinstance(error.filename, str) else str(root),
        fix=_FIXES.get(error.errno or 0, "check the disk and run the same command again"),
    )


#: Refusals that only a write can meet.
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})

_FIXES = {
    errno.ENOSPC: "free some space and run the same command again; nothing was half-made",
    errno.EDQUOT: "raise the quota and run the same command again; nothing was half-made",
    errno.EFBIG: "raise the limit on file sizes and run the same command again; nothing was half-made",
    errno.EACCES: "check the permissions of the store's folder",
    errno.EROFS: "the store lies on a file system that is mounted read-only",
    errno.EPERM: "the store's file system must allow hard links",
    errno.ENOTSUP: "the store's file system must allow hard links",
}


def encode_name(name: str) -> str:
    """A stream's or file's name as one file name: percent-encoded, long ones shortened with a hash."""
    encoded = quote(name, safe=" ()+,;=@[]{}~") or "%00"
    if encoded.startswith("."):
        encoded = "%2E" + encoded[1:]
    if len(encoded) > _NAME_BYTES:
        import hashlib

        digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:16]
        encoded = f"{encoded[: _NAME_BYTES - 17].rstrip('%')}~{digest}"
    return encoded


def make_folders(folder: Path) -> None:
    """Make a folder and its parents, each durable in its own parent."""
    if folder.is_dir():
        return
    make_folders(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def sync_file(path: Path) -> None:
    """Wait until a file's bytes are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Wait until a folder's names are on the disk."""
    sync_file(folder)
