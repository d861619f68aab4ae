"""Torn lines of the journal: closed, kept, and put on record; statements that a mirror still has come back."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from twinloop.store.fsck.statements import torn_bytes
from twinloop.store.journal import encode_line
from twinloop.store.losses import Loss, admit, torn_known
from twinloop.store.mirror.copying import journal_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.store.mending.supply import Supply


def mend_journal(supply: Supply) -> Iterator[tuple[str, str]]:
    """(key, how) of each torn line, and of each file that statements came back to."""
    store = supply.store
    for key in store.journal.files():
        torn = store.journal.read(key).torn
        known = torn_known(store.objects) if torn else frozenset()
        for line in torn:
            digest = hashlib.sha256(torn_bytes(store.objects, line)).hexdigest()
            if (key, line.where.byte, digest) in known:
                continue
            what = f"a torn line of {line.size} bytes; what it said is lost"
            admit(store.objects, Loss(key, what, byte=line.where.byte, sha256=digest))
            yield key, f"the torn line at byte {line.where.byte} is on record; its bytes stay"
    if supply.mirror is None:
        return
    known_ids = {entry.id for entry in store.journal.entries()}
    for key in supply.mirror.journal.files():
        missing = [e for e in supply.mirror.journal.read(key).entries if e.id not in known_ids]
        if missing:
            store.objects.append(journal_file(key), b"".join(encode_line(entry) for entry in missing))
            yield key, f"{len(missing)} statements came back from {supply.mirror.url}"
