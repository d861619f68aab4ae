"""Whether a destination is a copy of a source, at an earlier time or in part; what differs if it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from twinloop.core.errors import StoreError
from twinloop.store.fsck.history import taken_manifests
from twinloop.store.fsck.sessions import is_manifest
from twinloop.store.losses import lost_documents
from twinloop.store.manifest import SESSIONS
from twinloop.store.registry import FOLDER as REGISTRY
from twinloop.store.tombstones import erased_hashes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.store.store import Store

_SHOWN = 5


def refuse_diverged(source: Store, target: Store) -> None:
    """Raise StoreError if the target holds revisions that the source holds differently, or not at all."""
    found = list(differences(source, target))
    if found:
        shown = "; ".join(found[:_SHOWN]) + (f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else "")
        raise StoreError(
            f"the destination is no copy of this store: {shown}",
            where=target.url,
            expected="each revision there the same here",
            fix="mirror to another place; if this store has lost revisions: "
            f"twinloop store fsck --repair --from {target.url} --store {source.url}",
        )


def differences(source: Store, target: Store) -> Iterator[str]:
    """What the target has of sessions and registry that is not what the source has."""
    erased = erased_hashes(source.objects) | erased_hashes(target.objects)
    accounted = lost_documents(source.objects) | taken_manifests(source)
    for folder in (SESSIONS, REGISTRY):
        ours = {key for key, _ in source.objects.listing(folder) if _is_revision(key)}
        for key, _ in sorted(target.objects.listing(folder)):
            if not _is_revision(key) or key.split("/")[1] in erased or key in accounted:
                continue
            if key not in ours:
                if folder == SESSIONS:
                    yield f"{key} is not in {source.url}"
            elif (mine := source.objects.get(key)) != (theirs := target.objects.get(key)):
                yield f"{key} differs in {', '.join(_fields(mine, theirs)) or 'its bytes'}"


def _is_revision(key: str) -> bool:
    return key.endswith(".json") and (key.startswith(REGISTRY) or is_manifest(key))


def _fields(mine: bytes, theirs: bytes) -> list[str]:
    """The names of the fields in which two documents differ."""
    try:
        one, other = msgspec.json.decode(mine), msgspec.json.decode(theirs)
    except msgspec.MsgspecError:
        return []
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return []
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
