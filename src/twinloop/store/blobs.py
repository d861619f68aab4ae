"""Raw source files, kept verbatim under their SHA-256 and never rewritten."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.core.errors import TwinloopError, UnreadableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from twinloop.store.objects import Objects

_CHUNK = 4 << 20


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of a recording as it was taken in.

    Attributes:
        name: path relative to the recording's folder (the file's name for a single file).
        sha256, size: of its content.
        url: where it lay; the only place of the bytes when raw files are kept by reference.
        copied: whether the store holds a copy in its blobs.
    """

    name: str
    sha256: str
    size: int
    url: str
    copied: bool = True

    @property
    def place(self) -> str:
        """A key of the store, or the absolute path of a referenced file."""
        return blob_key(self.sha256) if self.copied else self.url


def blob_key(sha256: str) -> str:
    """Where a raw file lies in the store."""
    return f"blobs/{sha256[:2]}/{sha256}"


def hash_file(path: Path, progress: Callable[[int], None] | None = None) -> str:
    """SHA-256 of a file, as 64 hex digits; `progress` gets the bytes of each step.

    Raises:
        UnreadableError: the system refuses to read it.
    """
    digest = hashlib.sha256()
    buffer = memoryview(bytearray(_CHUNK))
    try:
        with path.open("rb", buffering=0) as file:
            while count := file.readinto(buffer):
                digest.update(buffer[:count])
                if progress:
                    progress(count)
    except OSError as error:
        raise UnreadableError(
            f"the system refuses to read it: {error.strerror}", where=str(path), fix="check the permissions"
        ) from error
    return digest.hexdigest()


def recording_hash(files: Sequence[SourceFile]) -> str:
    """The hash that a recording is known by.

    A single file: its own SHA-256, whatever its name. Several: SHA-256 over the sorted lines
    ``<sha256>  <name>``, as `sha256sum` prints them.
    """
    if len(files) == 1:
        return files[0].sha256
    lines = sorted(f"{file.sha256}  {file.name}\n" for file in files)
    return hashlib.sha256("".join(lines).encode(errors="surrogateescape")).hexdigest()


def keep_blob(objects: Objects, source: Path, sha256: str) -> None:
    """Copy a file whose hash is known into the store, unless it is there.

    Raises:
        ChangedError: the source is being written to.
        StoreError: the store cannot be written.
    """
    key = blob_key(sha256)
    if objects.exists(key):
        return
    before = file_state(source)
    created = objects.put_file(key, source, keep=True)
    if file_state(source) != before:
        if created:
            objects.delete(key)
        raise ChangedError(source)


def file_state(file: Path) -> tuple[int, int, int]:
    """What changes when a file is written to or replaced: size, time of the last write, inode."""
    stat = file.stat()
    return stat.st_size, stat.st_mtime_ns, stat.st_ino


class ChangedError(TwinloopError):
    """A raw file was written to while it was taken in."""

    exit_code = 3

    def __init__(self, file: Path) -> None:
        super().__init__(
            "the file changed while it was taken in",
            where=str(file),
            fix="wait until its recorder is done with it and run the same command again",
        )
