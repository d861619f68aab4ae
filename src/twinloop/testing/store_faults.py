"""Damage to a store in a folder, each known by its key and by what it takes to mend it.

`PLACES` are the kinds of files that a store has; a `StoreFault` plants one kind of damage in one of them, as a
disk, a crash or a person does it: behind the store's back.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import sqlalchemy as sa

from twinloop.core.errors import UnknownNameError, UsageError
from twinloop.store.catalog import tables

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

#: Kinds of files, and where they lie below the store's folder.
PLACES = {
    "table": "sessions/*/streams/*/*.parquet",
    "video": "sessions/*/media/*/*.m[kp][4v]",
    "pack": "sessions/*/*/*/*.zst",
    "image_stats": "sessions/*/image_stats/*/*",
    "report": "sessions/*/reports/*/*",
    "attached": "sessions/*/attachments/*/*",
    "blob": "blobs/*/*",
    "manifest": "sessions/*/manifest-*.json",
    "registry": "registry/*/*/*.json",
    "reason": "quarantine/*/*.json",
    "claim": "claims/*/*.json",
    "tombstone": "tombstones/*.json",
    "journal": "journal/*.jsonl",
}


class Mending(StrEnum):
    """What it takes to mend a fault."""

    RAW = "raw"  # the raw files of the store
    ORIGINAL = "original"  # the recording where it lay, or a mirror
    NOTHING = "nothing"  # the store does without it, or says what it was


_MENDING = {
    **dict.fromkeys(("table", "video", "pack", "image_stats", "report", "attached"), Mending.RAW),
    "blob": Mending.ORIGINAL,
}


@dataclass(frozen=True, slots=True)
class PlantedFault:
    """A fault as it lies in a store: `fsck` names this key. `mending`: what it takes."""

    key: str
    mending: Mending


@dataclass(frozen=True, slots=True)
class StoreFault:
    """One damage.

    Attributes:
        kind: ``flipped``, ``missing``, ``truncated``, ``emptied``, ``garbage``, ``zeroed``; for the journal
            ``torn_end`` and ``torn_middle`` as well.
        place: a key of `PLACES`. number: which of the files there, negative from the end.
    """

    kind: str
    place: str
    number: int = 0

    def plant(self, store: Path) -> PlantedFault:
        """Damage the store in the folder `store`.

        Raises:
            UnknownNameError: there is no such kind or place. UsageError: the store has no such file.
        """
        if self.place not in PLACES:
            raise UnknownNameError("place in a store", self.place, PLACES)
        if self.kind not in _KINDS:
            raise UnknownNameError("damage", self.kind, _KINDS)
        files = sorted(path for path in store.glob(PLACES[self.place]) if path.is_file())
        if not files:
            raise UsageError(f"the store has no {self.place}", where=str(store), expected=PLACES[self.place])
        victim = files[self.number]
        _KINDS[self.kind](victim)
        return PlantedFault(victim.relative_to(store).as_posix(), _MENDING.get(self.place, Mending.NOTHING))


def _flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x84
    path.write_bytes(data)


def _truncated(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3])


def _zeroed(path: Path) -> None:
    """The last third is NUL bytes, as a file system leaves it that grew a file and lost power."""
    data = path.read_bytes()
    kept = len(data) * 2 // 3
    path.write_bytes(data[:kept] + bytes(len(data) - kept))


def _torn_middle(path: Path) -> None:
    """The first of several lines lost its end; the next begins behind it."""
    first, _, rest = path.read_bytes().partition(b"\n")
    path.write_bytes(first[: len(first) // 2] + b"\n" + rest)


_KINDS: dict[str, Callable[[Path], object]] = {
    "flipped": _flipped,
    "missing": lambda path: path.unlink(),
    "truncated": _truncated,
    "emptied": lambda path: path.write_bytes(b""),
    "garbage": lambda path: path.write_bytes(b"\xff\xfe not what was here"),
    "zeroed": _zeroed,
    "torn_end": lambda path: path.write_bytes(path.read_bytes()[:-9]),
    "torn_middle": _torn_middle,
}


#: The column of each table that `change_catalog` changes.
_CHANGED = {
    "sessions": "task",
    "recordings": "format",
    "streams": "kind",
    "episodes": "instruction",
    "findings": "message",
    "journal": "by",
    "facts": "by",
}


def change_catalog(store: Path, table: str, how: str) -> None:
    """Change the rows of a table of the SQLite catalog beside a store.

    Args:
        table: its name. how: ``emptied``, or ``changed`` (one text of every row).

    Raises:
        UsageError: there is no such catalog, or no such way.
    """
    if not (store / "catalog.sqlite").is_file():
        raise UsageError("there is no catalog beside the store", where=str(store))
    target = tables.TABLES.tables[table]
    engine = sa.create_engine(f"sqlite:///{store / 'catalog.sqlite'}")
    with engine.begin() as connection:
        if how == "emptied":
            connection.execute(target.delete())
        elif how == "changed":
            connection.execute(target.update().values({_CHANGED[table]: "changed"}))
        else:
            raise UsageError(f"{how!r} is no change of rows", expected="emptied or changed")
    engine.dispose()
