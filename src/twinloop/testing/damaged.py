"""Damage to any file, and files that are of no format: for the conformance suite."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

#: Files and folders that no reader may claim: name -> content; None is an empty folder.
DECOYS: dict[str, bytes | None] = {
    "empty": b"",
    "one_byte": b"\0",
    "zeros": bytes(8192),
    "noise": np.random.default_rng(0).bytes(8192),
    "prose.mcap": b"It was a dark and stormy night; the rain fell in torrents.\n" * 40,
    "prose.bag": b"#ROS is what this text is about.\n" * 40,
    "object.json": b'{"a": [1, 2, 3], "b": {"c": null}}\n',
    "picture.png": b"\x89PNG\r\n\x1a\n" + bytes(200),
    "archive.zip": b"PK\x03\x04" + bytes(200),
    "program": b"\x7fELF\x02\x01\x01" + bytes(200),
    "database.db3": b"SQLite format 3\0" + bytes(4080),
    "folder": None,
}


def write_decoy(name: str, path: Path) -> Path:
    """One of `DECOYS` on disk."""
    content = DECOYS[name]
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    return path


def truncate(path: Path, part: float) -> None:
    """Keep a part of a file; 1.0 takes off its last byte."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate(min(int(size * part), max(size - 1, 0)))


def flip_bits(path: Path, seed: int) -> None:
    """Flip one to six bits at random places of a file."""
    data = bytearray(path.read_bytes())
    if not data:
        return
    rng = np.random.default_rng(seed)
    for place in rng.integers(0, len(data), int(rng.integers(1, 7))):
        data[place] ^= 1 << int(rng.integers(0, 8))
    path.write_bytes(data)
