"""Which pictures of a folder belong to one stream."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.core.clock import Clock, Epoch
from twinloop.core.kinds import StampSource
from twinloop.formats.file_times import FileTimes
from twinloop.formats.notes import some
from twinloop.formats.picture_header import is_picture
from twinloop.formats.time_column import epoch_of, to_ns

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SUFFIXES = frozenset({".png", ".jpg", ".jpeg"})
#: Files of other formats that make a folder something else than a folder of pictures.
_OTHERS = frozenset({".mcap", ".bag", ".db3", ".vrs", ".h5", ".hdf5", ".parquet", ".pcap", ".feather"})
_HEAD = 8
#: Entries of a folder looked at, and pictures whose bytes are.
_MOST, _LOOKED_AT = 100_000, 8
_NUMBERED = re.compile(r"(.*?)(\d{1,12})(\D*)")
#: Names that are times since 1970, and their units.
_TIMES = ((re.compile(r"\d{10}\.\d{1,9}"), "s"), (re.compile(r"\d{16}"), "us"), (re.compile(r"\d{19}"), "ns"))
#: More single pictures than this are one stream without an order but that of their names.
_MOST_SINGLE = 16


@dataclass(frozen=True, slots=True)
class Group:
    """The pictures of one stream, in order. `missing`: numbers that the run leaves out, as words."""

    name: str
    files: list[Path]
    times: FileTimes
    missing: str = ""


def pictures_of(folder: Path) -> list[Path]:
    """The pictures of a folder of nothing much else, sorted; empty where it is something else."""
    pictures: list[Path] = []
    others = 0
    try:
        for number, path in enumerate(folder.iterdir()):
            if path.name.startswith("."):
                continue
            suffix = path.suffix.lower()
            if suffix in _OTHERS or number >= _MOST or path.is_dir():
                return []
            if suffix in SUFFIXES:
                pictures.append(path)
            else:
                others += 1
        pictures.sort()
        if len(pictures) < max(2, others) or not any(_is_picture(path) for path in pictures[:_LOOKED_AT]):
            return []
    except OSError:
        return []
    return pictures


def groups_of(pictures: Iterable[Path]) -> list[Group]:
    """The streams of a folder's pictures, by name."""
    pictures = list(pictures)
    for pattern, unit in _TIMES:
        if all(pattern.fullmatch(path.stem) for path in pictures):
            timed = _timed(pictures, unit)
            if timed is not None:
                return [timed]
    runs: dict[str, list[tuple[int, Path]]] = {}
    single: list[Path] = []
    for path in pictures:
        match = _NUMBERED.fullmatch(path.stem)
        if match:
            name = re.sub(r"[\s_.-]+", "_", match[1].rstrip(" _.-") + match[3]).strip("_") or "images"
            runs.setdefault(name, []).append((int(match[2]), path))
        else:
            single.append(path)
    groups = [_numbered(name, run) for name, run in sorted(runs.items())]
    if len(single) > _MOST_SINGLE:
        name = "images" if "images" not in runs else "other images"
        return [*groups, Group(name, single, FileTimes())]
    taken = {*runs}
    stems = [path.stem for path in single]
    names = [path.name if path.stem in taken or stems.count(path.stem) > 1 else path.stem for path in single]
    return groups + [Group(name, [path], FileTimes()) for name, path in zip(names, single, strict=True)]


def _numbered(name: str, run: list[tuple[int, Path]]) -> Group:
    run.sort()
    numbers = np.array([number for number, _ in run], np.int64)
    steps = np.diff(numbers)
    missing = ""
    if len(steps) and steps.max() > 1 and np.median(steps) == 1:
        gaps = np.flatnonzero(steps > 1)[:100]
        left_out = [n for gap in gaps for n in range(int(numbers[gap]) + 1, int(numbers[gap + 1]))[:1000]]
        missing = some(left_out)
    return Group(name, [path for _, path in run], FileTimes(None, numbers), missing)


def _timed(pictures: list[Path], unit: str) -> Group | None:
    stamps, valid = to_ns(pa.array([path.stem for path in pictures], pa.string()), unit)
    if not len(stamps) or not valid.all() or any(epoch_of(int(t)) is not Epoch.UNIX for t in stamps[[0, -1]]):
        return None
    order = np.argsort(stamps, kind="stable")
    times = FileTimes(stamps[order], None, StampSource.DRIVER, Clock(Epoch.UNIX))
    return Group("images", [pictures[row] for row in order], times)


def _is_picture(path: Path) -> bool:
    with path.open("rb") as file:
        return is_picture(file.read(_HEAD))
