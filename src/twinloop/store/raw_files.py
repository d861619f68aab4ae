"""The raw files of a recording: hashed, watched for changes while they are read, kept."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from twinloop.core.errors import UnreadableError, UsageError
from twinloop.store.blobs import ChangedError, SourceFile, file_state, hash_file, keep_blob, recording_hash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from twinloop.engine.progress import Meter
    from twinloop.store.objects import Objects

_State = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class RawFiles:
    """The files of one recording as they were when hashed.

    Attributes:
        hash: what the recording is known by. files: in the order of their names.
    """

    hash: str
    files: tuple[SourceFile, ...]
    _states: tuple[_State, ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    def check_unchanged(self) -> None:
        """Raise ChangedError if a file was written to, or replaced, since it was hashed."""
        for file, state in zip(self.files, self._states, strict=True):
            if file_state(Path(file.url)) != state:
                raise ChangedError(Path(file.url))

    def keep(self, objects: Objects) -> None:
        """Copy all files into the store's blobs."""
        for file in self.files:
            keep_blob(objects, Path(file.url), file.sha256)

    def referenced(self) -> RawFiles:
        """The same, with no copy in the store."""
        return replace(self, files=tuple(replace(file, copied=False) for file in self.files))

    def place(self, path: str) -> str | None:
        """Where the store finds the raw file at `path`; None if it is none of these."""
        wanted = str(Path(path).absolute())
        return next((file.place for file in self.files if file.url == wanted), None)


def hash_files(path: Path, files: Sequence[Path], meter: Meter) -> RawFiles:
    """Hash the files of the recording at `path`.

    Raises:
        UnreadableError: a file may not be read.
        UsageError: a name is not UTF-8, so that no manifest can hold it.
    """
    paths = sorted({file.absolute() for file in files or [path]})
    for file in paths:
        if any("\ud800" <= sign <= "\udfff" for sign in str(file)):
            raise UsageError("the name of a file is not UTF-8", where=ascii(str(file)), fix="rename it")
    root = path.absolute() if path.is_dir() else paths[0].parent
    if any(not file.is_relative_to(root) for file in paths):
        root = Path(os.path.commonpath([file.parent for file in paths]))
    try:
        states = tuple(file_state(file) for file in paths)
    except OSError as error:
        raise UnreadableError(f"the system refuses to read it: {error.strerror}", where=str(path)) from error
    total = max(sum(size for size, _, _ in states), 1)
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        meter.at(done / total)

    sources = tuple(
        SourceFile(
            name=file.relative_to(root).as_posix(),
            sha256=hash_file(file, advance),
            size=size,
            url=str(file),
        )
        for file, (size, _, _) in zip(paths, states, strict=True)
    )
    raw = RawFiles(recording_hash(sources), sources, states)
    raw.check_unchanged()
    return raw
