"""Damaged and missing blobs, brought from wherever they are whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.errors import TwinloopError
from twinloop.store.blobs import blob_key
from twinloop.store.transfer import move_aside

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from twinloop.store.blobs import SourceFile
    from twinloop.store.fsck.trouble import Trouble
    from twinloop.store.mending.supply import Supply
    from twinloop.store.store import Store


def mend_raw(supply: Supply, damage: Sequence[Trouble]) -> Iterator[tuple[str, str]]:
    """(key, how) of each blob that is whole again.

    Damaged bytes stay in use while nothing better is known: most of a recording can be read with a flipped
    bit. Those that nothing names are moved aside.
    """
    keys = {trouble.key for trouble in damage if trouble.key.startswith("blobs/")}
    if not keys:
        return
    known = known_files(supply.store)
    for key in sorted(keys):
        sha256 = key.rpartition("/")[2]
        files = known.get(sha256, [])
        size = files[0].size if files else None
        if where := supply.blob(sha256, size, (file.url for file in files)):
            yield key, f"restored from {where}"
        elif not files and (aside := move_aside(supply.store.objects, blob_key(sha256), supply.staging)):
            yield key, f"nothing knows it; moved aside to {aside}"


def known_files(store: Store) -> dict[str, list[SourceFile]]:
    """Raw files by SHA-256, as manifests and quarantine name them."""
    known: dict[str, list[SourceFile]] = {}
    for session in store.manifests.sessions():
        for number in store.manifests.revisions(session).numbers():
            try:
                manifest = store.manifests.get(session, number)
            except TwinloopError:
                continue
            for entry in manifest.recordings:
                for file in entry.files:
                    known.setdefault(file.sha256, []).append(file)
    for reason in store.quarantine.all():
        for file in reason.files:
            known.setdefault(file.sha256, []).append(file)
    return known
