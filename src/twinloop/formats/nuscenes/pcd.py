"""Sweeps of radars: PCD files of version 0.7 with binary points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import UnreadableError
from twinloop.core.recording import Problem

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.core.errors import Where
    from twinloop.formats.notes import Notes

_HEAD = 8192
_MOST_BYTES = 256 << 20
_KINDS = {"F": "f", "I": "i", "U": "u"}
_SIZES = {"F": (4, 8), "I": (1, 2, 4), "U": (1, 2, 4)}


def load_pcd(file: Path, notes: Notes, where: Where) -> NDArray[np.void]:
    """The points (P,) of a file.

    Raises:
        UnreadableError: the header does not parse, or the points are not plain binary ones.
    """
    size = file.stat().st_size
    with file.open("rb") as opened:
        head = opened.read(_HEAD)
    end = head.find(b"\n", head.find(b"\nDATA ") + 1)
    lines = head[: max(end, 0)].decode("ascii", "replace").splitlines()
    said = {words[0]: words[1:] for line in lines if (words := line.split()) and not line.startswith("#")}
    if said.get("DATA") != ["binary"]:
        raise UnreadableError("it is no PCD file with binary points", where=str(file), expected="DATA binary")
    dtype = _dtype(said, file)
    declared = int(said["POINTS"][0]) if said.get("POINTS", [""])[0].isdecimal() else 0
    held = min(declared, (min(size, _MOST_BYTES) - end - 1) // dtype.itemsize)
    if held < declared:
        notes.add(Problem.TRUNCATED, f"{declared} points are declared, {held} are there", where, None)
    return np.fromfile(file, dtype, held, offset=end + 1)


def _dtype(said: dict[str, list[str]], file: Path) -> np.dtype[np.void]:
    names, sizes, types = said.get("FIELDS", []), said.get("SIZE", []), said.get("TYPE", [])
    counts = said.get("COUNT", ["1"] * len(names))
    sound = names and len(names) == len(sizes) == len(types) == len(counts) == len(set(names))
    if not sound or set(counts) != {"1"}:
        raise UnreadableError("the fields of the PCD file do not fit together", where=str(file))
    fields = []
    for name, width, kind in zip(names, sizes, types, strict=True):
        if kind not in _KINDS or not width.isdecimal() or int(width) not in _SIZES[kind]:
            raise UnreadableError(f"a field of the PCD file has type {kind}{width}", where=str(file))
        fields.append((name, f"<{_KINDS[kind]}{width}"))
    return np.dtype(fields)
