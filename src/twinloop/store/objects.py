"""Objects by key: the one place where the store's files are made, read and listed.

Everything that the store holds goes through `Objects`, so that it can lie on a disk (`local_objects`) or in
an object store (`remote_objects`). Its heart is creation on condition of absence: of two writers of one key,
exactly one is told that it won.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Protocol
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

from twinloop.core.errors import StoreError

_NAME_BYTES = 200  # file systems end at 255 bytes a name; suffixes come on top


class MissingObjectError(StoreError):
    """A key of the store is not there."""

    def __init__(self, key: str, url: str) -> None:
        super().__init__(f"the store lacks {key}", where=url, fix="run `twinloop store fsck`")


class Objects(Protocol):
    """What the store needs of the place that it lies in. Keys are ``/``-separated and relative.

    Attributes:
        url: where it lies, for people.
        shared: whether other machines may write here at the same time, of whom no lock of this one tells.
    """

    url: str
    shared: bool

    def put(self, key: str, data: bytes) -> bool:
        """Create `key`, durably, if it does not exist. False: it exists and was left alone."""

    def put_file(self, key: str, path: Path, *, keep: bool = False) -> bool:
        """As `put`, with the content of a finished local file, which is moved; or copied, to `keep` it.

        Keys of files are such that two writers of one key have the same content: named by hash, or below a
        name of the writer's own.
        """

    def append(self, key: str, data: bytes) -> None:
        """Add whole lines at the end of `key`, durably, undivided by other writers.

        Where objects cannot grow, the lines become the next of ``<key without .jsonl>/<n>.jsonl``.
        """

    def get(self, key: str) -> bytes:
        """The bytes of `key`; MissingObjectError if it is not there."""

    def open(self, key: str) -> BinaryIO:
        """`key`, open for reading and seeking; StoreError if it is not there."""

    def digest(self, key: str) -> str:
        """SHA-256 of the bytes of `key`, as they lie there now; StoreError if they cannot be read."""

    def path(self, key: str, sha256: str | None = None) -> Path:
        """A local file with the bytes of `key`, for libraries that want one: fetched if it has to be.

        It stays until `release`. `sha256`: of the content, checked when it is fetched. Where nothing has to
        be fetched, the file of a key that is not there is named all the same.
        """

    def release(self, key: str) -> None:
        """The file that `path` gave is not needed any more."""

    def place(self, key: str) -> Path:
        """Where `path` would lay the bytes of `key`. Nothing is fetched."""

    def exists(self, key: str) -> bool:
        """Whether `key` is there."""

    def size(self, key: str) -> int:
        """Bytes of `key`; StoreError if it is not there."""

    def walk(self, prefix: str) -> Iterator[str]:
        """All keys below the folder `prefix`, in the same order every time."""

    def listing(self, prefix: str) -> Iterator[tuple[str, int]]:
        """All keys below the folder `prefix` with their sizes, in no particular order: the cheapest look."""

    def children(self, prefix: str) -> list[str]:
        """The names directly below the folder `prefix`, sorted."""

    def folders(self, prefix: str) -> dict[str, list[str]]:
        """Each folder directly below the folder `prefix`, with the names of the objects directly in it."""

    def modified(self, key: str) -> float:
        """When `key` was made or last added to, in seconds since 1970; StoreError if it is not there."""

    def overwrite(self, key: str, offset: int, data: bytes) -> None:
        """Put `data`, durably, in the place of as many bytes of `key` from `offset` on. For erasure alone."""

    def delete(self, key: str) -> None:
        """Take `key` away, and what is cached of it here; nothing happens if it is not there."""


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
