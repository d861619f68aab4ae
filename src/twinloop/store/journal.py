"""The journal: what people say of episodes and sessions, one durable line an entry, never changed.

`journal/<host>.jsonl` (in an object store, where nothing grows, `journal/<host>/<n>.jsonl`) holds JSON objects
of the fields of `Entry`, each closed by a checksum of the bytes before it, so that a line torn by a crash is
told from one that was written. An entry is taken back by
another entry of kind ``undo``; nothing is ever removed.
"""

from __future__ import annotations

import os
import socket
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from twinloop.core.errors import Where
from twinloop.core.ids import is_ulid, new_ulid, ulid_after
from twinloop.store.objects import encode_name
from twinloop.store.writer import now, writer_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from twinloop.store.objects import Objects

FOLDER = "journal"
UNDO = "undo"
#: How much of a file's end is looked at for the last entry.
_END_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class Entry:
    """One statement.

    Attributes:
        id: ULID; entries apply in the order of their ids. at: ISO 8601, UTC. by: who, ``user@host``.
        kind: what is said, e.g. ``episode``, ``undo``. target: of what (an episode's id; for ``undo`` the
            id of a command or an entry).
        data: the statement's content. command: shared by all entries of one command.
    """

    id: str
    at: str
    by: str
    kind: str
    target: str
    data: Mapping[str, object] = field(default_factory=dict)
    command: str = ""


@dataclass(frozen=True, slots=True)
class TornLine:
    """Bytes in a journal that are not a whole entry."""

    where: Where
    size: int


@dataclass(frozen=True, slots=True)
class Part:
    """Some of a journal file: whole entries, torn lines, and the byte where reading goes on later."""

    entries: tuple[Entry, ...]
    torn: tuple[TornLine, ...]
    end: int


class Journal:
    """The journal of a store: all hosts' files read as one, this host's written."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def _last_id(self) -> str:
        """The greatest id at the ends of all hosts' files; a clock that was wrong gave it, perhaps."""
        ends = {key.rpartition("/")[0] if key.count("/") > 1 else key: key for key in self.files()}
        found = (entry.id for key in ends.values() for entry in self._end_of(key) if is_ulid(entry.id))
        return max(found, default="")

    def _end_of(self, key: str) -> Iterable[Entry]:
        with self._objects.open(key) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _END_BYTES))
            lines = file.read().splitlines(keepends=True)
        return (entry for line in lines if (entry := decode_line(line)))

    def append(self, kind: str, targets: Iterable[str], data: Mapping[str, object]) -> tuple[Entry, ...]:
        """Say the same of each target, as one command, durable when this returns.

        The entries come after all that is there, whatever the clock says.
        """
        command, id = new_ulid(), self._last_id()
        entries = []
        for target in targets:
            id = ulid_after(id)
            entries.append(Entry(id, now(), writer_name(), kind, target, dict(data), command))
        if entries:
            lines = b"".join(encode_line(entry) for entry in entries)
            self._objects.append(f"{FOLDER}/{encode_name(socket.gethostname())}.jsonl", lines)
        return tuple(entries)

    def files(self) -> list[str]:
        """The keys of all journal files."""
        return sorted(self.sizes())

    def sizes(self) -> dict[str, int]:
        """The bytes of each journal file, by key."""
        return {key: size for key, size in self._objects.listing(FOLDER) if key.endswith(".jsonl")}

    def entries(self) -> list[Entry]:
        """All whole entries of all files, in the order in which they apply."""
        found = (entry for key in self.files() for entry in self.read(key).entries)
        return sorted(found, key=lambda entry: entry.id)

    def read(self, key: str, offset: int = 0) -> Part:
        """What stands in one file from byte `offset` on."""
        entries, torn = [], []
        with self._objects.open(key) as file:
            file.seek(offset)
            for line in file:
                if not line.endswith(b"\n"):
                    torn.append(TornLine(Where(file=key, byte=offset), len(line)))
                    break
                if entry := decode_line(line):
                    entries.append(entry)
                elif line.strip():
                    torn.append(TornLine(Where(file=key, byte=offset), len(line)))
                offset += len(line)
        return Part(tuple(entries), tuple(torn), offset)


def encode_line(entry: Entry) -> bytes:
    """An entry as one line, its checksum (CRC-32 of what stands before it) last."""
    body = msgspec.json.encode(entry)[:-1]
    return body + b',"check":"%08x"}\n' % zlib.crc32(body)


_CHECK_BYTES = len(b',"check":"00000000"}\n')


def decode_line(line: bytes) -> Entry | None:
    """The entry of a line, or None if the line is not whole."""
    body = line[:-_CHECK_BYTES]
    if line[-_CHECK_BYTES:] != b',"check":"%08x"}\n' % zlib.crc32(body):
        return None
    try:
        return msgspec.json.decode(body + b"}", type=Entry)
    except msgspec.MsgspecError:
        return None


def effective(entries: Iterable[Entry]) -> list[Entry]:
    """The entries that hold: neither taken back nor themselves an ``undo``. An undo can be undone."""
    entries = list(entries)
    undos: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.kind == UNDO:
            undos.setdefault(entry.target, []).append(entry)

    def holds(entry: Entry) -> bool:
        against = undos.get(entry.id, []) + undos.get(entry.command, [])
        return not any(undo is not entry and holds(undo) for undo in against)

    return [entry for entry in entries if entry.kind != UNDO and holds(entry)]
