"""Objects in an object store (S3, or this process's memory), by way of obstore.

What the store rests on is S3's conditional put (``If-None-Match: *``): a key is created whole or not at all,
and by one writer. A put whose answer was lost is tried again, and then finds its own object there; each put
carries a token by which it knows that.
"""

from __future__ import annotations

import hashlib
import io
import secrets
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    PermissionDeniedError,
    UnauthenticatedError,
)

from twinloop.core.errors import StoreError, UnreachableError
from twinloop.store.disk import reporting_system_errors
from twinloop.store.objects import MissingObjectError
from twinloop.store.ranged_file import RangedFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from obstore.store import ObjectStore

    from twinloop.store.object_cache import ObjectCache

#: Bytes of one part of a large upload, or of one answer of a large download.
PART_BYTES = 8 << 20
_MOST_PARTS = 10_000  # S3's limit
_PARTS_AT_ONCE = 4
#: Attempts at a write, and the pause before the second; obstore itself repeats what is safe to repeat.
TRIES = 4
PAUSE_S = 0.25
_PAGE = 1000
_WRITER = "twinloop-writer"
_CLOSED_DOOR = (PermissionDeniedError, UnauthenticatedError)


class RemoteObjects:
    """Objects below a prefix of a bucket. Files are fetched into `cache` when they are wanted as files.

    An upload in parts cannot be made conditional here. It is used for keys of large files only, of which two
    writers never disagree (see `Objects.put_file`): at worst the same bytes are written twice.
    """

    shared = True

    def __init__(self, url: str, store: ObjectStore, cache: ObjectCache) -> None:
        self.url = url
        self._store = store
        self._cache = cache

    def put(self, key: str, data: bytes) -> bool:
        """Create `key` with these bytes unless it exists."""
        with self._writing(key):
            return self._create(key, data)

    def put_file(self, key: str, path: Path, *, keep: bool = False) -> bool:
        """Upload a finished local file to `key` unless that exists."""
        size = path.stat().st_size
        with self._writing(key):
            created = self._create(key, path) if size <= PART_BYTES else self._upload(key, path, size)
        if not keep:
            path.unlink()
        return created

    def _create(self, key: str, content: bytes | Path) -> bool:
        token = secrets.token_hex(16)
        for pause in _pauses():
            try:
                obstore.put(
                    self._store, key, content, mode="create", attributes={_WRITER: token}, use_multipart=False
                )
            except AlreadyExistsError:
                if (won := self._is_mine(key, token)) is not None:
                    return won
            except _CLOSED_DOOR:
                raise
            except BaseError:
                if pause is None:
                    raise
            else:
                return True
            time.sleep(pause or 0)
        raise StoreError(
            f"writers of {key} kept each other out", where=self.url, fix="run the same command again"
        )

    def _is_mine(self, key: str, token: str) -> bool | None:
        """Whether the object that is there is the one of this token; None: it is gone, or not yet there."""
        try:
            return obstore.get(self._store, key, options={"head": True}).attributes.get(_WRITER) == token
        except FileNotFoundError:
            return None

    def _upload(self, key: str, path: Path, size: int) -> bool:
        if self.exists(key):
            return False
        part = max(PART_BYTES, -(-size // _MOST_PARTS))
        self._insisting(
            lambda: obstore.put(self._store, key, path, chunk_size=part, max_concurrency=_PARTS_AT_ONCE)
        )
        return True

    def append(self, key: str, data: bytes) -> None:
        """Create the next object of the series of `key`."""
        folder = key.removesuffix(".jsonl")
        names = [name.removesuffix(".jsonl") for name in self.children(folder)]
        number = max((int(name) for name in names if name.isdecimal()), default=0) + 1
        while not self.put(f"{folder}/{number:08}.jsonl", data):
            number += 1

    def get(self, key: str) -> bytes:
        """The bytes of `key`."""
        with self._reading(key):
            return bytes(obstore.get(self._store, key).bytes())

    def open(self, key: str) -> BinaryIO:
        """`key`, read in parts as they are asked for."""
        content = self._whole_or_size(key)
        if isinstance(content, bytes):
            return io.BytesIO(content)
        file = RangedFile(content, lambda start, end: self._part(key, start, end))
        return cast("BinaryIO", io.BufferedReader(file, PART_BYTES))

    def _parts(self, key: str) -> Iterator[bytes]:
        content = self._whole_or_size(key)
        if isinstance(content, bytes):
            yield content
            return
        for start in range(0, content, PART_BYTES):
            yield self._part(key, start, min(start + PART_BYTES, content))

    def _whole_or_size(self, key: str) -> bytes | int:
        """All bytes of `key` if they are one part, else how many there are; one request."""
        with self._reading(key):
            answer = obstore.get(self._store, key)
            size = int(answer.meta["size"])
            return bytes(answer.bytes()) if size <= PART_BYTES else size

    def _part(self, key: str, start: int, end: int) -> bytes:
        with self._reading(key):
            return bytes(obstore.get_range(self._store, key, start=start, end=end))

    def digest(self, key: str) -> str:
        """SHA-256 of the bytes of `key`, which are read but not kept."""
        digest = hashlib.sha256()
        for part in self._parts(key):
            digest.update(part)
        return digest.hexdigest()

    def path(self, key: str, sha256: str | None = None) -> Path:
        """The file of `key` in the cache; fetched if it is not there yet."""

        def fetch(target: Path) -> None:
            digest = hashlib.sha256()
            with target.open("wb") as file:
                for part in self._parts(key):
                    digest.update(part)
                    with reporting_system_errors(target):
                        file.write(part)
            if sha256 and digest.hexdigest() != sha256:
                raise StoreError(
                    f"{key} is damaged: its SHA-256 is not the one on record",
                    where=self.url,
                    fix="run `twinloop store fsck`",
                )

        return self._cache.hold(key, fetch)

    def release(self, key: str) -> None:
        """Let the cache drop the file of `key` when it needs the room."""
        self._cache.release(key)

    def place(self, key: str) -> Path:
        """The file of `key` in the cache, or where it will be."""
        return self._cache.place(key)

    def exists(self, key: str) -> bool:
        """Whether `key` is there."""
        try:
            with self._asking(key):
                obstore.head(self._store, key)
        except FileNotFoundError:
            return False
        return True

    def size(self, key: str) -> int:
        """Bytes of `key`."""
        with self._reading(key):
            return int(obstore.head(self._store, key)["size"])

    def walk(self, prefix: str) -> Iterator[str]:
        """All keys below the folder `prefix`, sorted."""
        yield from sorted(key for key, _ in self.listing(prefix))

    def listing(self, prefix: str) -> Iterator[tuple[str, int]]:
        """All keys below the folder `prefix` with their sizes: one request for each thousand."""
        with self._asking(prefix):
            for page in obstore.list(self._store, prefix, chunk_size=_PAGE):
                for found in page:
                    yield found["path"], int(found["size"])

    def children(self, prefix: str) -> list[str]:
        """The names directly below the folder `prefix`, sorted."""
        with self._asking(prefix):
            found = obstore.list_with_delimiter(self._store, prefix)
        keys = [*found["common_prefixes"], *(meta["path"] for meta in found["objects"])]
        return sorted(key.rpartition("/")[2] for key in keys)

    def folders(self, prefix: str) -> dict[str, list[str]]:
        """Each folder directly below `prefix` with the names directly in it, from one listing of all below."""
        found: dict[str, list[str]] = {}
        for key, _ in self.listing(prefix):
            folder, slash, name = key[len(prefix) + 1 :].partition("/")
            if slash:
                names = found.setdefault(folder, [])
                if "/" not in name:
                    names.append(name)
        return found

    def modified(self, key: str) -> float:
        """When `key` was made, in seconds since 1970."""
        with self._reading(key):
            return obstore.head(self._store, key)["last_modified"].timestamp()

    def overwrite(self, key: str, offset: int, data: bytes) -> None:
        """Put `data` in the place of as many bytes of `key`, by writing all of it again."""
        whole = bytearray(self.get(key))
        whole[offset : offset + len(data)] = data
        with self._writing(key):
            self._insisting(lambda: obstore.put(self._store, key, bytes(whole), use_multipart=False))
        self._cache.discard(key)

    def delete(self, key: str) -> None:
        """Take `key` away, and its file from the cache."""
        with self._writing(key):
            self._insisting(lambda: obstore.delete(self._store, key))
        self._cache.discard(key)

    @staticmethod
    def _insisting(write: Callable[[], object]) -> None:
        """Do a write that may be done twice, again as long as it fails."""
        for pause in _pauses():
            try:
                write()
            except FileNotFoundError:
                return
            except _CLOSED_DOOR:
                raise
            except BaseError:
                if pause is None:
                    raise
                time.sleep(pause)
            else:
                return

    @contextmanager
    def _reading(self, key: str) -> Iterator[None]:
        try:
            with self._asking(key):
                yield
        except FileNotFoundError:
            raise MissingObjectError(key, self.url) from None

    @contextmanager
    def _writing(self, key: str) -> Iterator[None]:
        with self._asking(key, "; nothing was half-made"):
            yield

    @contextmanager
    def _asking(self, key: str, besides: str = "") -> Iterator[None]:
        """Turns what the object store answers, or that it does not, into an UnreachableError."""
        try:
            yield
        except BaseError as error:
            raise _refused(error, self.url, key, besides) from error


def _pauses() -> Iterator[float | None]:
    """Seconds to wait after each failed attempt; None after the last."""
    yield from (PAUSE_S * 2**number for number in range(TRIES - 1))
    yield None


def _refused(error: BaseError, url: str, key: str, besides: str) -> UnreachableError:
    said = " ".join(str(error).partition("Debug source:")[0].split())
    where = f"{url}/{key}"
    if isinstance(error, _CLOSED_DOOR):
        return UnreachableError(
            "the object store refuses access",
            where=where,
            expected="credentials in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (AWS_SESSION_TOKEN) that may "
            "list, read, write and delete here",
            fix="check them, and the bucket's policy",
        )
    if "NoSuchBucket" in said:
        return UnreachableError("there is no such bucket", where=where, fix="make it, or correct the URL")
    return UnreachableError(
        f"the object store does not answer as it should: {said[:300]}",
        where=where,
        fix=f"check the connection, AWS_ENDPOINT_URL and AWS_REGION, and run the same command again{besides}",
    )
