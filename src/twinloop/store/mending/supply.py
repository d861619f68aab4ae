"""Where whole bytes may come from: a mirror, a folder of originals, or where a raw file lay when taken in."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from twinloop.core.errors import TwinloopError, UsageError
from twinloop.store.blobs import blob_key, hash_file
from twinloop.store.disk import reporting_system_errors
from twinloop.store.places import is_there
from twinloop.store.store import Store
from twinloop.store.tombstones import erased_hashes
from twinloop.store.transfer import copy_object, move_aside

if TYPE_CHECKING:
    from collections.abc import Iterable


class Supply:
    """Whole bytes for one store.

    Args:
        store: that is mended. staging: a folder of its workspace.
        given: a mirror, or a folder (or file) of originals; None: only where raw files lay.

    Raises:
        UsageError: nothing is there.
    """

    def __init__(self, store: Store, staging: Path, given: str | None = None) -> None:
        self.store = store
        self.staging = staging
        self.mirror: Store | None = None
        self._originals: Path | None = None
        if given is not None:
            self._find(given)
        self._erased = erased_hashes(store.objects)

    def _find(self, given: str) -> None:
        try:
            self.mirror = Store.open(given)
        except TwinloopError as error:
            if "://" in given or not Path(given).exists():
                raise UsageError(
                    f"there is neither a store nor a file: {error.what}", where=given, expected="--from MIRROR"
                ) from error
            self._originals = Path(given)

    def replace(self, key: str, sha256: str) -> bool:
        """Bring the bytes of `key` from the mirror, the damaged ones moved aside. False: it lacks them."""
        if self.mirror is None or sha256 in self._erased or not self._mirror_has(key, sha256):
            return False
        move_aside(self.store.objects, key, self.staging)
        copy_object(self.mirror.objects, self.store.objects, key, self.staging, sha256=sha256)
        return True

    def document(self, key: str) -> bytes | None:
        """A small document as the mirror has it; None if it has none, or it was erased."""
        if self.mirror is None or not self.mirror.objects.exists(key):
            return None
        return self.mirror.objects.get(key)

    def blob(self, sha256: str, size: int | None, urls: Iterable[str]) -> str | None:
        """Bring a raw file from wherever it is whole; where that was, or None."""
        if sha256 in self._erased:
            return None
        if self.replace(blob_key(sha256), sha256):
            assert self.mirror
            return self.mirror.url
        for path in (*(Path(url) for url in urls if is_there(url)), *self._of_size(size)):
            try:
                if (size is None or path.stat().st_size == size) and hash_file(path) == sha256:
                    self._take(path, sha256)
                    return str(path)
            except (OSError, TwinloopError):
                continue
        return None

    def _take(self, path: Path, sha256: str) -> None:
        copy = self.staging / sha256
        with reporting_system_errors(self.staging):
            shutil.copyfile(path, copy)
        if hash_file(copy) != sha256:
            raise UsageError("the file changed while it was read", where=str(path))
        move_aside(self.store.objects, blob_key(sha256), self.staging)
        self.store.objects.put_file(blob_key(sha256), copy)

    def _of_size(self, size: int | None) -> list[Path]:
        """Originals that may be the ones: files of that size."""
        if self._originals is None:
            return []
        if self._originals.is_file():
            return [self._originals]
        paths = sorted(path for path in self._originals.rglob("*") if is_there(path))
        return [path for path in paths if size is None or path.stat().st_size == size]

    def _mirror_has(self, key: str, sha256: str) -> bool:
        assert self.mirror
        try:
            return self.mirror.objects.exists(key) and self.mirror.objects.digest(key) == sha256
        except TwinloopError:
            return False
