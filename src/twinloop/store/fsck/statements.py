"""What people and earlier commands said: journal, registry, quarantine, claims."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from twinloop.core.errors import TwinloopError
from twinloop.store.claims import FOLDER as CLAIMS
from twinloop.store.claims import Claim
from twinloop.store.edits import EPISODE
from twinloop.store.erase.order import orders
from twinloop.store.fsck.trouble import FROM_MIRROR, MEND, Harm, Trouble
from twinloop.store.losses import torn_known
from twinloop.store.quarantine import FOLDER as QUARANTINE
from twinloop.store.quarantine import Reason
from twinloop.store.registry import FOLDER as REGISTRY
from twinloop.store.registry import NOUNS, Fact
from twinloop.store.revisions import Revisions
from twinloop.store.sealed import unseal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.store.fsck.trouble import Examination
    from twinloop.store.journal import TornLine
    from twinloop.store.objects import Objects


def statements(examination: Examination) -> Iterator[Trouble]:
    """All that is wrong with them."""
    yield from _journal(examination)
    yield from _registry(examination)
    yield from _quarantine(examination)
    for key in examination.store.objects.walk(CLAIMS):
        if key.endswith(".json") and (what := unreadable(examination.store.objects, key, Claim)):
            yield Trouble(Harm.DAMAGE, key, what, f"{MEND}; a damaged claim binds nobody")


def unreadable(objects: Objects, key: str, type: type) -> str | None:
    """Why a document cannot be read as what it must be; None if it can."""
    try:
        unseal(objects.get(key), type)
    except msgspec.MsgspecError as error:
        return f"it does not parse: {error}"
    except TwinloopError as error:
        return error.what
    return None


def _journal(examination: Examination) -> Iterator[Trouble]:
    store = examination.store
    known = torn_known(store.objects)
    erased = _erased_episodes(store.objects)
    for key in store.journal.files():
        part = store.journal.read(key)
        torn = [(line, torn_bytes(store.objects, line)) for line in part.torn]
        if torn:
            whole = _lines(store.objects, key)
            for line, data in torn:
                digest = hashlib.sha256(data).hexdigest()
                if (key, line.where.byte, digest) in known or _made_again(data, whole):
                    continue
                yield Trouble(
                    Harm.DAMAGE,
                    key,
                    f"a torn line of {line.size} bytes at byte {line.where.byte}",
                    f"{MEND}; the other lines hold (see `twinloop episode ls`)",
                )
        strange = {e.target for e in part.entries if e.kind == EPISODE} - examination.episodes - erased
        if strange and not examination.unread:
            yield Trouble(
                Harm.DAMAGE,
                key,
                f"it speaks of {len(strange)} episodes that no manifest names, {min(strange)} first",
                f"a session is gone: {FROM_MIRROR}",
            )


def torn_bytes(objects: Objects, line: TornLine) -> bytes:
    """The bytes of a torn line, without the line break that may close it by now."""
    with objects.open(str(line.where.file)) as file:
        file.seek(line.where.byte or 0)
        return file.read(line.size).rstrip(b"\n")


def _lines(objects: Objects, key: str) -> list[bytes]:
    with objects.open(key) as file:
        return [line.rstrip(b"\n") for line in file if line.endswith(b"\n")]


def _made_again(torn: bytes, lines: list[bytes]) -> bool:
    """Whether a torn line is the beginning of one that was written whole afterwards: nothing is lost then."""
    return any(len(line) > len(torn) and line.startswith(torn) for line in lines)


def _erased_episodes(objects: Objects) -> set[str]:
    try:
        return {episode for order in orders(objects) for episode in order.episodes}
    except TwinloopError:
        return set()  # `erasures` tells


def _registry(examination: Examination) -> Iterator[Trouble]:
    objects = examination.store.objects
    for noun in NOUNS:
        for name in objects.children(f"{REGISTRY}/{noun}"):
            revisions = Revisions(objects, f"{REGISTRY}/{noun}/{name}")
            numbers = revisions.numbers()
            for number in range(1, max(numbers, default=0) + 1):
                key = revisions.key(number)
                if number not in numbers:
                    if key not in examination.lost:
                        yield Trouble(Harm.DAMAGE, key, "this revision of the entry is missing", FROM_MIRROR)
                elif what := unreadable(objects, key, Fact):
                    yield Trouble(
                        Harm.DAMAGE,
                        key,
                        what,
                        f"{FROM_MIRROR}; without a mirror, what was before it holds then",
                    )


def _quarantine(examination: Examination) -> Iterator[Trouble]:
    objects = examination.store.objects
    for id in objects.children(QUARANTINE):
        if id == "damaged":
            continue
        for name in objects.children(f"{QUARANTINE}/{id}"):
            key = f"{QUARANTINE}/{id}/{name}"
            if not name.endswith(".json") or not objects.exists(key):
                continue
            if what := unreadable(objects, key, Reason):
                examination.unread = True
                yield Trouble(Harm.DAMAGE, key, what, MEND)
                continue
            reason = unseal(objects.get(key), Reason)
            examination.wanted |= {file.sha256 for file in reason.files}
            if reason.hash:
                examination.wanted.add(reason.hash)
