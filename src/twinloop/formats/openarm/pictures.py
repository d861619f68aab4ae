"""A camera's pictures of one episode: a folder of files named by their time, or a .tar of them."""

from __future__ import annotations

import re
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import Where
from twinloop.core.recording import Problem
from twinloop.core.stream import Payload

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.formats.notes import Notes

_TIMED = re.compile(r"(?:^|/)(\d{1,19})\.(jpe?g|png)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Pictures:
    """N pictures in order of their times `stamp_ns` (N,): each a file of its own, or bytes of `tar`."""

    stamp_ns: NDArray[np.int64]
    size: NDArray[np.int64]
    files: tuple[Path, ...] = ()
    tar: Path | None = None
    offset: NDArray[np.int64] | None = None

    def payload(self, rows: NDArray[np.int64], notes: Notes) -> tuple[Payload, NDArray[np.bool_]]:
        """The bytes of some pictures, and which of them could be read."""
        pieces = [self._read(row, notes) for row in rows.tolist()]
        lengths = np.array([len(piece) for piece in pieces], np.int64)
        joined = np.frombuffer(b"".join(pieces), np.uint8)
        held = lengths > 0
        return Payload(joined, (np.cumsum(lengths) - lengths)[held], lengths[held]), held

    def _read(self, row: int, notes: Notes) -> bytes:
        path = self.tar or self.files[row]
        try:
            with path.open("rb") as file:
                if self.offset is not None:
                    file.seek(int(self.offset[row]))
                data = file.read(int(self.size[row]))
        except OSError as error:
            notes.add(Problem.MISSING_FILE, f"cannot be read: {error.strerror}", Where(file=str(path)), 1)
            return b""
        if not data:
            notes.add(Problem.COUNT, "the picture is empty", Where(file=str(path), row=row), 1)
        return data


def pictures_of_folder(folder: Path) -> Pictures:
    """The pictures of a folder; links are passed over."""
    found = []
    for path in folder.iterdir():
        match = _TIMED.search(path.name)
        if match and path.is_file() and not path.is_symlink() and int(match[1]) < 2**63:
            found.append((int(match[1]), path))
    found.sort()
    sizes = [path.stat().st_size for _, path in found]
    return Pictures(
        np.array([t for t, _ in found], np.int64), np.array(sizes, np.int64), tuple(p for _, p in found)
    )


def pictures_of_tar(path: Path, notes: Notes) -> Pictures:
    """The pictures in a .tar that is not packed; what cannot be listed is noted."""
    size = path.stat().st_size
    found: list[tuple[int, int, int]] = []
    try:
        with tarfile.open(path, "r:") as archive:
            for member in archive:
                match = _TIMED.search(member.name)
                if not (match and member.isreg() and int(match[1]) < 2**63):
                    continue
                if member.offset_data + member.size > size:
                    notes.add(Problem.TRUNCATED, f"{member.name} runs past the end", Where(file=str(path)), 1)
                    continue
                found.append((int(match[1]), member.offset_data, member.size))
            end = archive.offset
        if not _ends_at(path, end):
            notes.add(
                Problem.TRUNCATED, "the archive stops before its end", Where(file=str(path), byte=end), None
            )
    except (tarfile.TarError, OSError, ValueError, EOFError) as error:
        notes.add(
            Problem.CORRUPT, f"the archive cannot be listed to its end: {error}", Where(file=str(path)), None
        )
    found.sort()
    columns = np.array(found, np.int64).reshape(-1, 3)
    return Pictures(columns[:, 0], columns[:, 2], tar=path, offset=columns[:, 1])


def _ends_at(path: Path, byte: int) -> bool:
    """Whether the block of zeros that ends an archive stands at `byte`."""
    with path.open("rb") as file:
        file.seek(byte)
        return file.read(tarfile.BLOCKSIZE) == bytes(tarfile.BLOCKSIZE)
