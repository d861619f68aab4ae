"""Objects as files below a folder: keys are relative paths."""

from __future__ import annotations

import hashlib
import os
import secrets
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from twinloop.core.errors import StoreError
from twinloop.store.disk import copy_file, make_folders, reporting_system_errors, sync_file, sync_folder
from twinloop.store.objects import MissingObjectError
from twinloop.store.staging import STAGING, try_lock

if TYPE_CHECKING:
    from collections.abc import Iterator

_TRIES = 20
_CHUNK = 4 << 20


class LocalObjects:
    """Objects as files below a folder. Names appear by hard link, so a file is whole or not there."""

    shared = False

    def __init__(self, root: Path) -> None:
        self.root = root
        self.url = str(root)

    def put(self, key: str, data: bytes) -> bool:
        """Create `key` with these bytes unless it exists."""
        if self.exists(key):
            return False
        for _ in range(_TRIES):
            with suppress(FileNotFoundError):  # a cleaner took the temporary file for a dead one's
                return self._put_once(key, data)
        raise StoreError("the store's folder went away", where=str(self.root))

    def _put_once(self, key: str, data: bytes) -> bool:
        with self._temporary() as (path, descriptor):
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            os.fsync(descriptor)
            return self._link(path, key)

    @contextmanager
    def _temporary(self) -> Iterator[tuple[Path, int]]:
        """A new file and its descriptor; it goes, and would with this process."""
        path = self.root / STAGING / f"tmp-{secrets.token_hex(8)}"
        with reporting_system_errors(self.root):
            path.parent.mkdir(exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            try:
                try_lock(descriptor)
                yield path, descriptor
            finally:
                path.unlink(missing_ok=True)
                os.close(descriptor)

    def put_file(self, key: str, path: Path, *, keep: bool = False) -> bool:
        """Move or copy a finished file to `key` unless that exists. To be moved, it lies on the same disk."""
        if keep:
            with self._temporary() as (copy, _):
                copy_file(path, copy, path.stat().st_size)
                sync_file(copy)
                return self._link(copy, key)
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
        with self.open(key) as file, self._reading(key):
            return file.read()

    def open(self, key: str) -> BinaryIO:
        """`key`, open for reading and seeking."""
        with self._reading(key):
            return self.path(key).open("rb")

    @contextmanager
    def _reading(self, key: str) -> Iterator[None]:
        try:
            yield
        except (FileNotFoundError, NotADirectoryError):
            raise MissingObjectError(key, self.url) from None
        except OSError as error:
            raise StoreError(f"the store cannot read {key}: {error.strerror}", where=self.url) from error

    def digest(self, key: str) -> str:
        """SHA-256 of the bytes of `key`."""
        digest = hashlib.sha256()
        with self.open(key) as file, self._reading(key):
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
        return digest.hexdigest()

    def path(self, key: str, sha256: str | None = None) -> Path:  # noqa: ARG002
        """The file that holds `key`, or would."""
        return self.root / key

    def release(self, key: str) -> None:
        """Nothing was fetched."""

    def place(self, key: str) -> Path:
        """The file that holds `key`, or would."""
        return self.root / key

    def exists(self, key: str) -> bool:
        """Whether `key` is there."""
        return self.path(key).is_file()

    def size(self, key: str) -> int:
        """Bytes of `key`."""
        with self._reading(key):
            return self.path(key).stat().st_size

    def walk(self, prefix: str) -> Iterator[str]:
        """All keys below the folder `prefix`, in the same order every time."""
        top = self.root / prefix
        for folder, folders, files in os.walk(top):
            folders.sort()
            for name in sorted(files):
                yield str(Path(folder, name).relative_to(self.root))

    def listing(self, prefix: str) -> Iterator[tuple[str, int]]:
        """All keys below the folder `prefix` with their sizes. A file that goes meanwhile is passed over."""
        for key in self.walk(prefix):
            with suppress(FileNotFoundError):
                yield key, self.path(key).stat().st_size

    def children(self, prefix: str) -> list[str]:
        """The names directly below the folder `prefix`, sorted; none below a file."""
        try:
            return sorted(entry.name for entry in os.scandir(self.root / prefix))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def folders(self, prefix: str) -> dict[str, list[str]]:
        """Each folder directly below the folder `prefix`, with the names directly in it."""
        return {name: names for name in self.children(prefix) if (names := self.children(f"{prefix}/{name}"))}

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

    def modified(self, key: str) -> float:
        """When the bytes of `key` were last written, in seconds since 1970."""
        with self._reading(key):
            return self.path(key).stat().st_mtime

    def overwrite(self, key: str, offset: int, data: bytes) -> None:
        """Put `data` in the place of as many bytes of `key`. Appending goes on behind it, undisturbed."""
        import fcntl

        with self._reading(key), self.path(key).open("r+b", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(offset)
            view = memoryview(data)
            while view:
                view = view[file.write(view) :]
            os.fsync(file)

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
