"""Finished artefacts on their way from staging to their names in the store."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from twinloop.core.errors import StoreError, UnreachableError
from twinloop.core.ids import new_ulid
from twinloop.store.manifest import SESSIONS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from twinloop.store.manifest import Artefact, Manifests
    from twinloop.store.objects import Objects

_TAG_DIGITS = 8


def choose_tag(objects: Objects, session: str, hash: str) -> str:
    """The name of a recording's folders in its session: its hash's first digits, numbered if that is taken.

    Where another machine may take in the same recording at the same time, a name that nobody else has.
    """
    tag = hash[:_TAG_DIGITS]
    if objects.shared:
        return f"{tag}-{new_ulid().lower()}"
    taken = {name for _, name in _tags(objects, session)}
    number = 1
    while (tag if number == 1 else f"{tag}-{number}") in taken:
        number += 1
    return tag if number == 1 else f"{tag}-{number}"


def _tags(objects: Objects, session: str) -> list[tuple[str, str]]:
    """(kind's folder, recording's folder in it) of all that lies in a session."""
    return [
        (f"{SESSIONS}/{session}/{kind}", name)
        for kind in objects.children(f"{SESSIONS}/{session}")
        if not kind.endswith(".json")
        for name in objects.children(f"{SESSIONS}/{session}/{kind}")
    ]


def publish(objects: Objects, staging: Path, artefacts: Iterable[Artefact]) -> None:
    """Move staged artefacts to their keys. Nothing points to them before the manifest does."""
    for artefact in artefacts:
        if not objects.put_file(artefact.key, staging / artefact.key):
            raise StoreError(
                f"another process wrote {artefact.key} at the same time", fix="run the same command again"
            )


def withdraw(objects: Objects, artefacts: Iterable[Artefact]) -> None:
    """Take published artefacts back, which no manifest names or ever will. What cannot be is left over."""
    with suppress(StoreError, UnreachableError):
        for artefact in artefacts:
            objects.delete(artefact.key)


def remove_orphans(objects: Objects, manifests: Manifests, session: str, hash: str) -> list[str]:
    """Remove artefacts of this recording that a killed attempt left and no manifest ever named.

    For the holder of the recording's workspace only. Where other machines write too, that says nothing of
    them: all is left, for `twinloop store gc` to judge by its age.
    """
    if objects.shared:
        return []
    tag = hash[:_TAG_DIGITS]
    found = [
        key
        for folder, name in _tags(objects, session)
        if name == tag or name.startswith(f"{tag}-")
        for key in objects.walk(f"{folder}/{name}")
    ]
    if not found:
        return []
    named = named_keys(manifests, session)
    orphans = [key for key in found if key not in named]
    for key in orphans:
        objects.delete(key)
    return orphans


def named_keys(manifests: Manifests, session: str) -> set[str]:
    """The artefacts that any revision of a session's manifest names."""
    return {
        artefact.key
        for number in manifests.revisions(session).numbers()
        for artefact in manifests.get(session, number).artefacts()
    }
