"""The watch's own journal: what arrived from a source and what became of it, one durable line each.

``watch/<hash of the source>.jsonl`` (a folder of that name where objects cannot grow) holds entries as the
store's journal does. Whoever watches the source next reads it and goes on. Losing its last lines loses
nothing but time: taking the same content in again makes no second recording.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from twinloop.core.ids import new_ulid
from twinloop.store.journal import Entry, Journal, encode_line
from twinloop.store.writer import now, writer_name

if TYPE_CHECKING:
    from twinloop.store.objects import Objects

FOLDER = "watch"


class Said(StrEnum):
    """What a line says of something that arrived."""

    SOURCE = "source"  # the first line: where the source is
    ARRIVED = "arrived"  # it is complete, or will never be
    TAKEN = "taken"  # a process works on it
    STORED = "stored"
    PRESENT = "present"  # the store had its content already
    QUARANTINED = "quarantined"
    REFUSED = "refused"  # its content was erased
    FAILED = "failed"  # for now: it is tried again
    DIED = "died"  # the process that worked on it did
    GIVEN_UP = "given_up"  # it can neither be taken in nor kept


FINAL = frozenset({Said.STORED, Said.PRESENT, Said.QUARANTINED, Said.REFUSED, Said.GIVEN_UP})


@dataclass(frozen=True, slots=True)
class Known:
    """The last that is known of a name.

    Attributes:
        state: of its files when that was said. deaths: processes that died of this state.
    """

    state: str
    said: Said
    deaths: int = 0


class WatchLog:
    """The journal of one source."""

    def __init__(self, objects: Objects, source: str) -> None:
        self.source = source
        self.key = log_key(source)
        self.known: dict[str, Known] = {}
        self._objects = objects
        self._unwritten: list[Entry] = []
        seen = False
        for entry in read_log(objects, self.key):
            seen = True
            self._learn(entry)
        if not seen:
            self.say(Said.SOURCE, source, "")

    def say(self, said: Said, name: str, state: str, data: Mapping[str, object] | None = None) -> None:
        """Note something; `flush` makes it durable."""
        entry = Entry(new_ulid(), now(), writer_name(), said.value, name, {"state": state, **(data or {})})
        self._learn(entry)
        self._unwritten.append(entry)

    def flush(self) -> None:
        """Write what was noted.

        Raises:
            StoreError: the store cannot be written; what was noted waits for the next time.
        """
        if self._unwritten:
            self._objects.append(self.key, b"".join(map(encode_line, self._unwritten)))
            self._unwritten = []

    def is_done(self, name: str, state: str) -> bool:
        """Whether nothing is left to do for what has this name and state."""
        known = self.known.get(name)
        return known is not None and known.state == state and known.said in FINAL

    def has_arrived(self, name: str, state: str) -> bool:
        """Whether this name and state were noted before."""
        known = self.known.get(name)
        return known is not None and known.state == state

    def _learn(self, entry: Entry) -> None:
        try:
            said = Said(entry.kind)
        except ValueError:  # of a later version
            return
        if said is Said.SOURCE:
            return
        state = str(entry.data.get("state", ""))
        known = self.known.get(entry.target)
        if known is None or known.state != state:
            known = Known(state, said)
        self.known[entry.target] = Known(state, said, known.deaths + (said is Said.DIED))


def log_key(source: str) -> str:
    """Where the journal of a source lies."""
    return f"{FOLDER}/{source_id(source)}.jsonl"


def source_id(source: str) -> str:
    """16 hex digits that stand for a source."""
    return hashlib.sha256(source.encode(errors="surrogateescape")).hexdigest()[:16]


def read_log(objects: Objects, key: str) -> Iterator[Entry]:
    """All entries of one source, in the order in which they were written."""
    return _entries(objects, [found for found in _files(objects) if _is_of(found, key)])


def all_entries(objects: Objects) -> Iterator[Entry]:
    """All entries of all sources; those of one source are in order."""
    return _entries(objects, _files(objects))


def _files(objects: Objects) -> list[str]:
    return sorted(key for key, _ in objects.listing(FOLDER) if key.endswith(".jsonl"))


def _is_of(file: str, key: str) -> bool:
    return file == key or file.startswith(key.removesuffix(".jsonl") + "/")


def _entries(objects: Objects, files: list[str]) -> Iterator[Entry]:
    journal = Journal(objects)
    for key in files:
        yield from journal.read(key).entries
