"""Numbered revisions of a document: creating the next number, if it is not there yet, is the commit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from twinloop.store.objects import Objects

_NUMBER = re.compile(r"(\d+)\.json")


def numbers_among(names: Iterable[str], prefix: str = "") -> list[int]:
    """The revisions among the names of a folder, ascending."""
    tails = (name[len(prefix) :] for name in names if name.startswith(prefix))
    return sorted(int(match[1]) for tail in tails if (match := _NUMBER.fullmatch(tail)))


class Revisions:
    """The revisions ``<folder>/<prefix><n>.json`` of one document, n = 1, 2, 3..."""

    def __init__(self, objects: Objects, folder: str, prefix: str = "") -> None:
        self._objects = objects
        self.folder = folder
        self.prefix = prefix

    def numbers(self) -> list[int]:
        """The revisions that are there, ascending."""
        return numbers_among(self._objects.children(self.folder), self.prefix)

    def latest(self) -> int:
        """The last revision's number; 0 if there is none."""
        return max(self.numbers(), default=0)

    def key(self, number: int) -> str:
        """Where revision `number` lies."""
        return f"{self.folder}/{self.prefix}{number}.json"

    def get(self, number: int) -> bytes:
        """The bytes of a revision; StoreError if it is not there."""
        return self._objects.get(self.key(number))

    def commit(self, number: int, data: bytes) -> bool:
        """Create revision `number`. False: another writer did, and this one must look again."""
        return self._objects.put(self.key(number), data)
