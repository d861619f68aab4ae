"""Tar files that roll over by size. The same files give the same bytes: headers hold no time and no owner."""

from __future__ import annotations

import io
import tarfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_BLOCK = 512


class Shards:
    """Writes ``shard-000000.tar``, ``shard-000001.tar``... below `root`.

    Attributes:
        samples: how many each has.
    """

    def __init__(self, root: Path, shard_mb: float) -> None:
        self._root = root
        self._most_bytes = shard_mb * 1e6
        self._tar: tarfile.TarFile | None = None
        self.samples: list[int] = []

    def add(self, key: str, files: Mapping[str, bytes | Path]) -> None:
        """Add a sample: its files ``<key>.<extension>``, which stay together in one tar."""
        sizes = {
            extension: len(held) if isinstance(held, bytes) else held.stat().st_size
            for extension, held in files.items()
        }
        size = sum(_BLOCK + -(-size // _BLOCK) * _BLOCK for size in sizes.values())
        tar = self._tar
        if tar is None or (tar.offset + size > self._most_bytes and self.samples[-1]):
            tar = self._next()
        for extension, held in files.items():
            entry = tarfile.TarInfo(f"{key}.{extension}")
            entry.size = sizes[extension]
            entry.mode = 0o644
            with io.BytesIO(held) if isinstance(held, bytes) else held.open("rb") as data:
                tar.addfile(entry, data)
        self.samples[-1] += 1

    def close(self) -> None:
        """Finish the tar that is open."""
        if self._tar is not None:
            self._tar.close()
            self._tar = None

    def _next(self) -> tarfile.TarFile:
        self.close()
        path = self._root / f"shard-{len(self.samples):06d}.tar"
        self._tar = tarfile.open(path, "w", format=tarfile.USTAR_FORMAT)  # noqa: SIM115  (closed by `close`)
        self.samples.append(0)
        return self._tar
