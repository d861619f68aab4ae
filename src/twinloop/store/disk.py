"""Writing to this machine's disk: durable names and bytes, and what the system's refusals mean."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from twinloop.core.errors import StoreError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def reporting_system_errors(root: Path) -> Iterator[None]:
    """Turns the system's refusals (disk full, no permission, no hard links) into a StoreError."""
    try:
        yield
    except (FileNotFoundError, UnreachableError):
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


_NO_KERNEL_COPY = {errno.EXDEV, errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EBADF}

#: Refusals that only a write can meet.
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def lacks_room(error: BaseException) -> bool:
    """Whether a full disk, or a quota, is behind an error."""
    cause: BaseException | None = error
    while cause and not (isinstance(cause, OSError) and cause.errno in NO_ROOM):
        cause = cause.__cause__
    return cause is not None


_FIXES = {
    errno.ENOSPC: "free some space and run the same command again; nothing was half-made",
    errno.EDQUOT: "raise the quota and run the same command again; nothing was half-made",
    errno.EFBIG: "raise the limit on file sizes and run the same command again; nothing was half-made",
    errno.EACCES: "check the permissions of the store's folder",
    errno.EROFS: "the store lies on a file system that is mounted read-only",
    errno.EPERM: "the store's file system must allow hard links",
    errno.ENOTSUP: "the store's file system must allow hard links",
}


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


def copy_file(source: Path, target: Path, size: int) -> None:
    """Copy `size` bytes, fewer if there are fewer; by the kernel, with shared extents where it has them."""
    with source.open("rb", buffering=0) as reader, target.open("wb", buffering=0) as writer:
        done = 0
        try:
            while done < size:
                count = os.copy_file_range(reader.fileno(), writer.fileno(), min(size - done, 1 << 30))
                if not count:
                    return
                done += count
        except OSError as error:
            if error.errno not in _NO_KERNEL_COPY or done:
                raise
            while done < size:
                count = os.sendfile(writer.fileno(), reader.fileno(), done, min(size - done, 1 << 30))
                if not count:
                    return
                done += count
