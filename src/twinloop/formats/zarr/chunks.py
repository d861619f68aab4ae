"""How many chunks of each array are there, by the names of files, before Zarr allocates by declared shapes."""

from __future__ import annotations

import math
import os
import stat
import zipfile
from dataclasses import dataclass
from pathlib import Path

#: What zipfile raises on damage.
ZIP_ERRORS = (OSError, zipfile.BadZipFile, ValueError, NotImplementedError)
_METADATA = frozenset({".zarray", ".zattrs", ".zgroup", ".zmetadata", "zarr.json"})
#: Deflate makes at most this many bytes of one.
_MOST_RATIO = 1032
_MOST_ENTRY, _MOST_CHUNK = 1 << 30, 1 << 30
#: Arrays of less may well be fill values alone, which Zarr does not write.
_SMALL = 64 << 20
#: The groups of arrays that are looked at: the layout's, and of exports of ours those that have steps.
OWN, OWN_FEATURES = "twinloop", "twinloop/features"
GROUPS = ("data", "meta", OWN_FEATURES, OWN)
ROW_NS = f"{OWN}/row_ns"
#: The names by which the layout is known, in a folder and in a .zip.
ENDS = ("meta/episode_ends/.zarray", "meta/episode_ends/zarr.json")


@dataclass(frozen=True, slots=True)
class Stored:
    """The chunks of an array: how many files or entries, and their bytes. `refused`: why it is not read."""

    chunks: int = 0
    bytes: int = 0
    refused: str = ""


def zip_prefix(path: Path) -> str | None:
    """Where in a .zip the layout begins; None: it is not there."""
    try:
        with zipfile.ZipFile(path) as archive:
            found = next((name for name in archive.namelist() if name.endswith(ENDS)), None)
    except ZIP_ERRORS:
        return None
    if found is None:
        return None
    prefix = found.removesuffix(ENDS[0]).removesuffix(ENDS[1])
    return prefix if not prefix or prefix.endswith("/") else None


def stored_in_zip(path: Path, prefix: str) -> dict[str, Stored]:
    """The arrays of a .zip that are looked at.

    Raises:
        one of `ZIP_ERRORS`: it does not open.
    """
    found: dict[str, Stored] = {}
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            parts = entry.filename.removeprefix(prefix).split("/")
            key = _array_of(parts)
            if not entry.filename.startswith(prefix) or key is None or entry.is_dir():
                continue
            known = found.get(key, Stored())
            too_large = entry.file_size > min(_MOST_ENTRY, 64 + entry.compress_size * _MOST_RATIO)
            refused = f"its entry {entry.filename} is larger than it can be" if too_large else known.refused
            counted = parts[-1] not in _METADATA
            found[key] = Stored(known.chunks + counted, known.bytes + entry.compress_size * counted, refused)
    return found


def stored_in_folder(root: Path) -> dict[str, Stored]:
    """The arrays of a folder that are looked at."""
    found: dict[str, Stored] = {}
    for group in GROUPS:
        links = (root / part for part in (group, group.split("/")[0]))
        if not (root / group).is_dir() or any(link.is_symlink() for link in links):
            continue
        for entry in sorted(os.scandir(root / group), key=lambda e: e.name):
            key = f"{group}/{entry.name}"
            if _array_of([*key.split("/"), ""]) != key:
                continue
            if entry.is_symlink():
                found[key] = Stored(refused="it is a link")
            elif entry.is_dir():
                found[key] = _of_folder(Path(entry.path))
    return found


def _array_of(parts: list[str]) -> str | None:
    """The array to which the file of a path belongs; None: to none that is looked at."""
    for group in GROUPS:
        depth = group.count("/") + 2
        if "/".join(parts[: depth - 1]) == group and len(parts) > depth:
            key = "/".join(parts[:depth])
            return None if group == OWN and key != ROW_NS else key
    return None


def _of_folder(array: Path) -> Stored:
    chunks = size = 0
    for folder, folders, names in os.walk(array):
        for name in folders:
            if Path(folder, name).is_symlink():
                return Stored(refused=f"its folder {name} is a link")
        for name in names:
            status = os.lstat(os.path.join(folder, name))  # noqa: PTH118  (hundreds of thousands of files)
            if not stat.S_ISREG(status.st_mode):
                return Stored(refused=f"its file {name} is a link")
            if name not in _METADATA:
                chunks, size = chunks + 1, size + status.st_size
    return Stored(chunks, size)


def wrong_size(shape: tuple[int, ...], chunk: tuple[int, ...], itemsize: int, stored: Stored) -> str:
    """What a declared shape wants and the chunks that are there cannot be; empty: it fits."""
    wanted = math.prod(-(-n // max(1, c)) for n, c in zip(shape, chunk, strict=True))
    if wanted > 64 * (stored.chunks + 1) and math.prod(shape) * itemsize > _SMALL:
        return f"{stored.chunks} of its {wanted} chunks are there"
    size = math.prod(chunk) * itemsize
    if size > _SMALL and size > min(_MOST_CHUNK, stored.bytes * _MOST_RATIO):
        return f"its chunks of {size} bytes are more than its files can hold"
    return ""
