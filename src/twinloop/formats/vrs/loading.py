"""The payloads of many records at once: long reads, headers held against the index, unpacked where needed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import Where
from twinloop.core.recording import Problem
from twinloop.formats.ros.gather import gather
from twinloop.formats.vrs.container import RECORD_HEADER, DamagedError
from twinloop.formats.vrs.unpack import unpack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from twinloop.formats.notes import Notes
    from twinloop.formats.vrs.container import VrsFile
    from twinloop.formats.vrs.index import Index

#: Records are read together up to this many bytes, over gaps of up to this many.
_RUN_BYTES, _GAP_BYTES = 8 << 20, 64 << 10
#: Unpacked payloads are handed on when they reach this many bytes.
_UNPACKED_BYTES = 24 << 20


@dataclass(frozen=True, slots=True)
class Payloads:
    """N payloads in one buffer: `rows` (N,) of the index, `start` and `end` (N,) int64 in `buffer` (B,) uint8.

    `version` (N,) is the format that each record says it has.
    """

    rows: NDArray[np.int64]
    buffer: NDArray[np.uint8]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    version: NDArray[np.int64]


def load_payloads(
    file: VrsFile,
    index: Index,
    rows: NDArray[np.int64],
    need: NDArray[np.int64],
    owner: NDArray[np.int64],
    notes: Notes,
) -> Iterator[tuple[int, Payloads]]:
    """The payloads of `rows` (N,), in the file's order, by owner: (owner, payloads) again and again.

    `need` (N,): how many bytes of each record are wanted; `owner` (N,): whose it is. Records whose header is
    not as the index says, or that do not unpack, are noted and left out.
    """
    offset = index.offset[rows]
    for part in _runs(offset, need):
        base = int(offset[part][0])
        size = int((offset[part] + need[part]).max()) - base
        buffer = np.frombuffer(file.read(base, size), np.uint8)
        at = offset[part] - base
        inside = at + need[part] <= len(buffer)
        mine, at, wanted, who = rows[part][inside], at[inside], need[part][inside], owner[part][inside]
        headers = gather(buffer, at, RECORD_HEADER.itemsize).view(RECORD_HEADER).reshape(-1)
        sound = _as_indexed(index, mine, headers)
        lost = len(rows[part]) - int(sound.sum())
        if lost:
            message = f"{lost} records are not where or what the index says"
            notes.add(Problem.CORRUPT, message, Where(str(file.path), byte=base), lost)
        for one in np.unique(who[sound]).tolist():
            chosen = sound & (who == one)
            run = _Run(buffer, at[chosen], wanted[chosen], mine[chosen], headers[chosen])
            if (run.headers["compression"] == 0).all():
                yield one, run.plain(file.record_header)
            else:
                yield from ((one, part) for part in _unpacked(file, index, run, notes))


@dataclass(frozen=True, slots=True)
class _Run:
    """Records of one owner in a buffer that was read in one go."""

    buffer: NDArray[np.uint8]
    at: NDArray[np.int64]
    size: NDArray[np.int64]
    rows: NDArray[np.int64]
    headers: NDArray[np.void]

    def plain(self, header: int) -> Payloads:
        version = self.headers["format_version"].astype(np.int64)
        return Payloads(self.rows, self.buffer, self.at + header, self.at + self.size, version)


def _runs(offset: NDArray[np.int64], need: NDArray[np.int64]) -> Iterator[slice]:
    """Records to be read together."""
    if not len(offset):
        return
    gap = np.concatenate([[True], offset[1:] - (offset + need)[:-1] > _GAP_BYTES])
    first = offset[gap][np.cumsum(gap) - 1]
    section = (offset - first) // _RUN_BYTES
    cut = gap | np.concatenate([[True], section[1:] != section[:-1]])
    edges = np.concatenate([np.flatnonzero(cut), [len(offset)]]).tolist()
    yield from (slice(a, b) for a, b in pairwise(edges))


def _as_indexed(index: Index, rows: NDArray[np.int64], headers: NDArray[np.void]) -> NDArray[np.bool_]:
    entries = index.entries[rows]
    same = np.ones(len(rows), np.bool_)
    for name in ("size", "type", "instance", "record_type"):
        same &= entries[name] == headers[name]
    return same


def _unpacked(file: VrsFile, index: Index, run: _Run, notes: Notes) -> Iterator[Payloads]:
    """Records of which some are compressed, in their order."""
    pieces: list[bytes] = []
    kept: list[int] = []
    total = 0
    for number, row in enumerate(run.rows.tolist()):
        place, whole = int(index.offset[row]), int(index.entries["size"][row])
        payload = file.read(place + file.record_header, whole - file.record_header)
        header = run.headers[number]
        if int(header["compression"]):
            try:
                payload = unpack(payload, int(header["uncompressed_size"]), int(header["compression"]))
            except DamagedError as error:
                where = Where(str(file.path), byte=place)
                notes.add(Problem.CORRUPT, f"a compressed record is lost: {error.what}", where, 1)
                continue
        pieces.append(payload)
        kept.append(number)
        total += len(payload)
        if total >= _UNPACKED_BYTES:
            yield _joined(run, pieces, kept)
            pieces, kept, total = [], [], 0
    if pieces:
        yield _joined(run, pieces, kept)


def _joined(run: _Run, pieces: list[bytes], kept: list[int]) -> Payloads:
    end = np.cumsum([len(piece) for piece in pieces], dtype=np.int64)
    start = np.concatenate([[0], end[:-1]])
    buffer = np.frombuffer(b"".join(pieces), np.uint8)
    return Payloads(run.rows[kept], buffer, start, end, run.headers["format_version"][kept].astype(np.int64))
