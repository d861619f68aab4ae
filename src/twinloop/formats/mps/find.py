"""Where results lie: the folders that Aria's tools make, and known tables in them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Folders of results beside a recording.
_FOLDERS = re.compile(r"mps|eye_?gaze.*|slam|trajectory|hand_tracking|personalized.*|general.*")
#: Deeper folders, and more files than this, are not looked at.
_DEPTH, _MOST = 3, 1000
_SKELETON_HEAD = 4096


@dataclass(frozen=True, slots=True)
class Found:
    """One file, and the name of what it holds: a stream's, or a prefix of metadata."""

    path: Path
    name: str


def find_beside(file: Path) -> list[Found]:
    """The files that belong to a VRS file: in ``mps_<name>_vrs``; where it is alone, in folders of results
    and directly beside it too."""
    return _distinct(_beside(file))


def _beside(file: Path) -> list[Found]:
    folder = file.parent
    own = folder / f"mps_{file.stem}_vrs"
    if own.is_dir():
        return _results(own)
    others = [name for name in _names(folder) if name.lower().endswith(".vrs") and name != file.name]
    if others:
        return []
    found: list[Found] = []
    for name in _names(folder):
        path = folder / name
        if path.is_dir() and _FOLDERS.fullmatch(name):
            found += _results(path, "" if name == "mps" else name)
    truth = any(_is_table(folder / name, ("object_uid",)) for name in _names(folder) if name.endswith(".csv"))
    for path in (folder / name for name in _names(folder)):
        if not path.is_file():
            continue
        if is_known(path) or (truth and path.suffix == ".csv"):
            found.append(Found(path, f"truth/{_stem(path)}" if truth else _stem(path)))
        elif path.name == "metadata.json":
            found.append(Found(path, "metadata"))
        elif truth and path.suffix == ".json":
            found.append(Found(path, f"truth/{path.stem}"))
    return found


def find_in(path: Path) -> list[Found]:
    """The files of a folder of results, or one table."""
    return _distinct(_results(path)) if path.is_dir() else [Found(path, f"mps/{_stem(path)}")]


def holds_results(folder: Path) -> bool:
    """Whether a folder holds a known table, directly or in the folders that Aria's tools make; and no VRS."""
    names = _names(folder)
    if any(name.lower().endswith(".vrs") for name in names):
        return False
    inside = [name for name in names if _FOLDERS.fullmatch(name) and (folder / name).is_dir()]
    looked = [
        *(folder / name for name in names),
        *(folder / d / name for d in inside for name in _names(folder / d)),
    ]
    return any(path.is_file() and is_known(path) for path in looked)


def is_known(path: Path) -> bool:
    """Whether a file of a folder is a known table."""
    if path.name.endswith(".jsonl"):
        return _starts_calibration(path)
    return path.name.endswith((".csv", ".csv.gz")) and is_table(path)


def is_table(path: Path) -> bool:
    """Whether a file is a known table, by its header alone."""
    from twinloop.formats.mps.layouts import layout_of
    from twinloop.formats.mps.rows import header_of, table_head
    from twinloop.formats.mps.scene import BOXES, OBJECTS

    columns = header_of(table_head(path))
    return layout_of(columns) is not None or set(OBJECTS) <= set(columns) or set(BOXES) <= set(columns)


def is_skeleton(path: Path) -> bool:
    """Whether a JSON file holds frames of joints or markers."""
    head = _head(path, _SKELETON_HEAD)
    return b'"frames"' in head and (b'"markers"' in head or b'"joints"' in head)


def _results(folder: Path, below: str = "") -> list[Found]:
    found = []
    for path in _walk(folder, 0):
        if is_known(path) or path.name.endswith((".csv", ".csv.gz")):
            found.append(Found(path, f"mps/{_stem(path)}"))
        elif path.suffix == ".json" and path.name in ("summary.json", "metadata.json"):
            parts = [part for part in (below, *path.relative_to(folder).with_suffix("").parts) if part]
            found.append(Found(path, "/".join(["mps", *parts])))
    return found


def _distinct(found: list[Found]) -> list[Found]:
    """The same, with the folder in the names that several files would share."""
    names = Counter(one.name for one in found)
    return [
        one if names[one.name] == 1 else Found(one.path, f"{one.name}/{one.path.parent.name}") for one in found
    ]


def _walk(folder: Path, depth: int) -> Iterator[Path]:
    for name in _names(folder):
        path = folder / name
        if path.is_dir() and not path.is_symlink():
            if depth < _DEPTH:
                yield from _walk(path, depth + 1)
        elif path.is_file():
            yield path


def _names(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())[:_MOST]
    except OSError:
        return []


def _stem(path: Path) -> str:
    return re.sub(r"\.(csv|csv\.gz|jsonl|json)$", "", path.name)


def _head(path: Path, size: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError:
        return b""


def _starts_calibration(path: Path) -> bool:
    head = _head(path, _SKELETON_HEAD)
    return head.startswith(b"{") and b'"tracking_timestamp_us"' in head and b"Calibrations" in head


def _is_table(path: Path, columns: tuple[str, ...]) -> bool:
    from twinloop.formats.mps.rows import header_of

    return set(columns) <= set(header_of(_head(path, 1 << 16)))
