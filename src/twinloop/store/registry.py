"""The registry: facts that people state of robots, rigs, tasks, operators, sites and consents; versioned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from twinloop.core.errors import StoreError, TwinloopError, UnknownNameError, UsageError
from twinloop.store.objects import encode_name
from twinloop.store.revisions import Revisions, numbers_among
from twinloop.store.sealed import seal, unseal
from twinloop.store.writer import now, writer_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from twinloop.store.objects import Objects

FOLDER = "registry"
NOUNS = ("robots", "rigs", "tasks", "operators", "sites", "consents")


@dataclass(frozen=True, slots=True)
class Fact:
    """One revision of one registry entry: `data` is what was stated."""

    noun: str
    id: str
    revision: int
    at: str
    by: str
    data: dict[str, object]


class RegistryOfFacts:
    """Everything under ``registry/``."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def _revisions(self, noun: str, id: str) -> Revisions:
        if noun not in NOUNS:
            raise UnknownNameError("part of the registry", noun, NOUNS)
        if not id.strip():
            raise UsageError(f"an entry of {noun} needs a name")
        return Revisions(self._objects, f"{FOLDER}/{noun}/{encode_name(id)}")

    def state(self, noun: str, id: str, data: Mapping[str, object]) -> Fact:
        """State facts of `id`; the next revision. Earlier ones stay."""
        revisions = self._revisions(noun, id)
        while True:
            fact = Fact(noun, id, revisions.latest() + 1, now(), writer_name(), dict(data))
            if revisions.commit(fact.revision, _encode(fact)):
                return fact

    def ensure(self, noun: str, id: str) -> bool:
        """Make a first, empty entry if there is none. True: it is new."""
        revisions = self._revisions(noun, id)
        if revisions.latest():
            return False
        return revisions.commit(1, _encode(Fact(noun, id, 1, now(), writer_name(), {})))

    def get(self, noun: str, id: str, revision: int | None = None) -> Fact:
        """What was stated of `id`, last or at a revision.

        Raises:
            UnknownNameError: there is no such entry; near matches are named.
        """
        revisions = self._revisions(noun, id)
        number = revision or revisions.latest()
        if number not in revisions.numbers():
            raise UnknownNameError(noun[:-1], id, (fact.id for fact in self.all(noun)))
        return _decode(revisions.get(number), revisions.key(number))

    def all(self, noun: str, damaged: list[TwinloopError] | None = None) -> list[Fact]:
        """The last revision of every entry of `noun`.

        Raises:
            StoreError: one is damaged; with a list `damaged`, it goes there and the others are given.
        """
        found = []
        for (of, name), number in sorted(self.latest_revisions(noun).items()):
            try:
                found.append(self.read(of, name, number))
            except TwinloopError as error:
                if damaged is None:
                    raise
                damaged.append(error)
        return found

    def latest_revisions(self, noun: str = "") -> dict[tuple[str, str], int]:
        """The number of the last revision of every entry (of `noun`), by noun and folder, in one look."""
        found: dict[tuple[str, str], int] = {}
        for key, _ in self._objects.listing(f"{FOLDER}/{noun}".rstrip("/")):
            parts = key.split("/")
            if len(parts) == 4 and parts[1] in NOUNS and (numbers := numbers_among(parts[3:])):
                entry = parts[1], parts[2]
                found[entry] = max(numbers[0], found.get(entry, 0))
        return found

    def read(self, noun: str, name: str, number: int) -> Fact:
        """A revision of the entry in the folder `name`.

        Raises:
            StoreError: it is not there, or damaged.
        """
        key = Revisions(self._objects, f"{FOLDER}/{noun}/{name}").key(number)
        return _decode(self._objects.get(key), key)


def _encode(fact: Fact) -> bytes:
    return seal(fact)


def _decode(data: bytes, key: str) -> Fact:
    try:
        return unseal(data, Fact)
    except msgspec.MsgspecError as error:
        raise StoreError(f"a registry entry is damaged: {error}", where=key) from None
