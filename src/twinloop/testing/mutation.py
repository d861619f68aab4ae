"""Damaged versions of a recording's files, as radio links, disks and cut power make them: seeded, endless."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Mutation = Callable[[bytearray, np.random.Generator], None]


def mutate(data: bytes, seed: int) -> bytes:
    """`data` with one to four damages; the same seed gives the same damage."""
    rng = np.random.default_rng(seed)
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        if changed:
            _MUTATIONS[int(rng.integers(len(_MUTATIONS)))](changed, rng)
    return bytes(changed)


def mutated_copy(sample: Path, target: Path, seed: int) -> Path:
    """A copy of a recording (a file, or a folder) with one of its files damaged, or gone.

    `target`: a folder that is not there yet. What lies beside a single file comes along. The files that are
    sound are hard links, where that can be.
    """
    root = sample if sample.is_dir() else sample.parent
    shutil.copytree(root, target, copy_function=_link)
    rng = np.random.default_rng(seed)
    files = sorted(path for path in target.rglob("*") if path.is_file())
    weights = np.array([path.stat().st_size + 200 for path in files], float)
    victim = files[int(rng.choice(len(files), p=weights / weights.sum()))]
    data = victim.read_bytes()
    victim.unlink()
    if not (sample.is_dir() and len(files) > 1 and rng.random() < 0.05):
        victim.write_bytes(mutate(data, seed))
    return target if sample.is_dir() else target / sample.name


def _link(source: str, target: str) -> str:
    """Give a file a second name; a copy of it where the system gives none."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
    return target


def _flip_bits(data: bytearray, rng: np.random.Generator) -> None:
    for place in rng.integers(0, len(data), int(rng.integers(1, 9))):
        data[place] ^= 1 << int(rng.integers(0, 8))


def _noise(data: bytearray, rng: np.random.Generator) -> None:
    start, size = _run(data, rng, 64)
    data[start : start + size] = rng.bytes(size)


def _zeros(data: bytearray, rng: np.random.Generator) -> None:
    start, size = _run(data, rng, 4096)
    data[start : start + size] = bytes(size)


def _huge(data: bytearray, rng: np.random.Generator) -> None:
    """A length, count or offset that is far too large, in either byte order."""
    width = int(rng.choice([2, 4, 8]))
    start = int(rng.integers(0, max(len(data) - width, 1)))
    value = int(
        rng.choice([2**7, 2**15, 2**16 - 1, 2**24, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**64 - 1])
    )
    order = "little" if rng.random() < 0.5 else "big"
    data[start : start + width] = (value % 2 ** (8 * width)).to_bytes(width, order)  # type: ignore[arg-type]


def _small_change(data: bytearray, rng: np.random.Generator) -> None:
    place = int(rng.integers(0, len(data)))
    data[place] = (data[place] + int(rng.choice([-1, 1]))) % 256


def _cut(data: bytearray, rng: np.random.Generator) -> None:
    del data[int(rng.integers(0, len(data))) :]


def _remove(data: bytearray, rng: np.random.Generator) -> None:
    start, size = _run(data, rng, 512)
    del data[start : start + size]


def _insert(data: bytearray, rng: np.random.Generator) -> None:
    start = int(rng.integers(0, len(data)))
    data[start:start] = rng.bytes(int(rng.integers(1, 64)))


def _repeat(data: bytearray, rng: np.random.Generator) -> None:
    start, size = _run(data, rng, 2048)
    data[start:start] = data[start : start + size]


def _move(data: bytearray, rng: np.random.Generator) -> None:
    start, size = _run(data, rng, 1024)
    other = int(rng.integers(0, len(data)))
    data[other : other + size] = data[start : start + size]


def _digits(data: bytearray, rng: np.random.Generator) -> None:
    """Another number where a text has one: headers and JSON are full of sizes."""
    places = [place for place, byte in enumerate(data[:65536]) if 48 <= byte <= 57]
    if not places:
        _noise(data, rng)
        return
    place = places[int(rng.integers(len(places)))]
    data[place : place + 1] = [b"9999999999", b"-1", b"NaN", b"1e308", b"0", b""][int(rng.integers(6))]


def _run(data: bytearray, rng: np.random.Generator, longest: int) -> tuple[int, int]:
    start = int(rng.integers(0, len(data)))
    return start, int(rng.integers(1, longest))


_MUTATIONS: tuple[Mutation, ...] = (
    _flip_bits,
    _flip_bits,
    _noise,
    _zeros,
    _huge,
    _huge,
    _small_change,
    _cut,
    _remove,
    _insert,
    _repeat,
    _move,
    _digits,
)
