"""Sending a recording to an inbox, part by part.

A part is created whole or not at all, under the hash of its file and its place in it; whoever sends the same
file again goes on after the parts that are there. The envelope (`parcel.lay_down`) follows when all parts are
there and the files are still what they were.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.store.blobs import ChangedError
from twinloop.store.inbox.parcel import part_key, parts_of, reach

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from twinloop.store.inbox.parcel import Parcel
    from twinloop.store.objects import Objects

#: Parts are of at most this size: what a lost link costs at most.
MOST_PART_BYTES = 8 << 20
LEAST_PART_BYTES = 64 << 10


def part_bytes(limit: float | None) -> int:
    """Size of a part under a bandwidth limit [bytes/s]: about a second's worth."""
    if limit is None:
        return MOST_PART_BYTES
    return max(LEAST_PART_BYTES, min(MOST_PART_BYTES, int(limit)))


def send_parts(
    objects: Objects, parcel: Parcel, paths: Mapping[str, Path], size: int = MOST_PART_BYTES
) -> Iterator[tuple[int, int]]:
    """Lay down a parcel's parts; gives, once a part is there, its bytes and how many are left after it.

    The caller may break off after any part.

    Args:
        paths: the local file of each SHA-256 in the parcel. size: of a part.

    Raises:
        ChangedError: a file is shorter than when it was hashed.
        StoreError: the inbox cannot be reached or written.
    """
    left = sum(file.size for file in parcel.files)
    for file in parcel.files:
        at = min(reach(parts_of(objects, file.sha256)), file.size)
        left -= at
        if at == file.size:
            continue
        with paths[file.sha256].open("rb") as source:
            source.seek(at)
            while at < file.size:
                data = source.read(min(size, file.size - at))
                if not data:
                    raise ChangedError(paths[file.sha256])
                objects.put(part_key(file.sha256, at, len(data)), data)
                at += len(data)
                left -= len(data)
                yield len(data), left
