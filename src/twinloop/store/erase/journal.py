"""Words about erased episodes, blanked in the journal where they stand (docs/adr: erasure in the journal).

That something was said, of which episode, when and by whom, stays, and so does an outcome; free text goes. A
line keeps its length, so that nothing else in the file moves and appending goes on undisturbed.
"""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from twinloop.store.erase.order import Redaction
from twinloop.store.fsck.statements import torn_bytes
from twinloop.store.journal import decode_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from twinloop.store.journal import Entry
    from twinloop.store.objects import Objects
    from twinloop.store.store import Store

_STAYS = frozenset({"outcome"})


def redactions(store: Store, episodes: Collection[str]) -> Iterator[Redaction]:
    """The lines that must be written over."""
    wanted = frozenset(episodes)
    for key in store.journal.files():
        offset = 0
        with store.objects.open(key) as file:
            for line in file:
                entry = decode_line(line)
                if entry and entry.target in wanted and _says_something(entry):
                    yield Redaction(key, offset, _blanked(entry, len(line)))
                offset += len(line)
        for torn in store.journal.read(key).torn:
            data = torn_bytes(store.objects, torn)
            if any(id.encode() in data for id in wanted):
                yield Redaction(key, torn.where.byte or 0, " " * len(data))


def redact(objects: Objects, redaction: Redaction) -> None:
    """Write a line over."""
    objects.overwrite(redaction.key, redaction.offset, redaction.line.encode())


def _says_something(entry: Entry) -> bool:
    return any(value and name not in _STAYS for name, value in entry.data.items())


def _blanked(entry: Entry, length: int) -> str:
    """The line without free text, filled with spaces to its length."""
    blank = {name: "" if isinstance(value, str) else None for name, value in entry.data.items()}
    data = {name: entry.data[name] if name in _STAYS else blank[name] for name in entry.data}
    body = msgspec.json.encode(replace(entry, data=data))[:-1]
    tail = len(b',"check":"00000000"}\n')
    if len(body) + tail > length:
        body = msgspec.json.encode(replace(entry, data={}))[:-1]
    body = body.ljust(length - tail)
    return (body + b',"check":"%08x"}\n' % zlib.crc32(body)).decode()
