"""The index: where every record lies, of which stream, of which kind, at which time.

The index lists records in the file's order with their sizes; places follow from the sizes. Where it is
missing or damaged, the records' own headers are walked from the first on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import Where
from twinloop.core.recording import Problem
from twinloop.formats.vrs.container import RECORD_HEADER, DamagedError, StreamId
from twinloop.formats.vrs.unpack import unpack_zstd

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from twinloop.formats.notes import Notes
    from twinloop.formats.vrs.container import Description, VrsFile

ENTRY = np.dtype(
    [("timestamp", "<f8"), ("size", "<u4"), ("record_type", "u1"), ("type", "<i4"), ("instance", "<u2")]
)
_STREAM = np.dtype([("type", "<i4"), ("instance", "<u2")])
_CLASSIC, _SPLIT = 2, 3
#: Bytes read at once while headers are walked.
_WALK_BYTES = 1 << 20


@dataclass(frozen=True)
class Index:
    """N records in the file's order.

    Attributes:
        entries: (N,) of `ENTRY`. offset: (N,) int64, where each record begins.
        declared: the streams that the index names, with or without records.
        complete: False where records were found by walking the file.
    """

    entries: NDArray[np.void]
    offset: NDArray[np.int64]
    declared: tuple[StreamId, ...]
    complete: bool

    def rows(self, stream: StreamId, record_type: int) -> NDArray[np.int64]:
        """The numbers of a stream's records of one kind, in the file's order."""
        return self._groups.get((stream, record_type), np.empty(0, np.int64))

    @property
    def met(self) -> tuple[StreamId, ...]:
        """The streams that records are of."""
        return tuple(dict.fromkeys(stream for stream, _ in self._groups))

    @cached_property
    def _groups(self) -> dict[tuple[StreamId, int], NDArray[np.int64]]:
        e = self.entries
        key = e["type"].astype(np.int64) << 24 | e["instance"].astype(np.int64) << 8 | e["record_type"]
        order = np.argsort(key, kind="stable")
        edges = np.flatnonzero(np.diff(key[order])) + 1
        groups = (rows for rows in np.split(order, edges) if len(rows))
        return {(_stream_of(e[rows[0]]), int(e["record_type"][rows[0]])): rows for rows in groups}


def _stream_of(entry: np.void) -> StreamId:
    return StreamId(int(entry["type"]), int(entry["instance"]))


def read_index(file: VrsFile, description: Description, notes: Notes) -> Index:
    """The index of a file; where it cannot be used, a note says why and the file is walked."""
    first = file.first_at or (file.description_at + description.size if description.size else 0)
    if not file.header_size <= first <= file.size:
        first = file.header_size
    try:
        entries, declared = _read_entries(file)
    except DamagedError as error:
        found = _walk(file, first, notes)
        lost = 0 if len(found.entries) else None
        notes.add(
            Problem.INDEX, f"{error.what}; its records were looked for one by one", _where(file, error), lost
        )
        return found
    ends = first + np.cumsum(entries["size"].astype(np.int64))
    inside = ends <= file.size
    if (entries["size"] < file.record_header).any():
        message = "the index lists records shorter than a header; the records were looked for one by one"
        notes.add(Problem.INDEX, message, Where(str(file.path), byte=file.index_at))
        return _walk(file, first, notes)
    lost = int(len(ends) - inside.sum())
    if lost:
        message = f"the index lists {len(ends)} records, the file ends after {len(ends) - lost}"
        notes.add(Problem.TRUNCATED, message, Where(str(file.path), byte=file.size), lost)
    entries, ends = entries[inside], ends[inside]
    return Index(entries, ends - entries["size"], declared, True)


def _read_entries(file: VrsFile) -> tuple[NDArray[np.void], tuple[StreamId, ...]]:
    if not file.index_at:
        raise DamagedError("the file has no index", fix="the recorder may have been stopped")
    header = file.record_at(file.index_at)
    version, size = int(header["format_version"]), int(header["size"])
    if version not in (_CLASSIC, _SPLIT):
        raise DamagedError(f"the index is of version {version}")
    payload = file.read(file.index_at + file.record_header, size - file.record_header)
    if len(payload) < size - file.record_header and version == _CLASSIC:
        raise DamagedError(f"the index declares {size} bytes, the file ends before")
    packed = int(header["uncompressed_size"]) > 0
    if version == _SPLIT:
        raise DamagedError("the index is one of a recording that is split over several files")
    streams, at = _counted(payload, 0, _STREAM)
    declared = tuple(
        StreamId(int(t), int(i)) for t, i in zip(streams["type"], streams["instance"], strict=True)
    )
    if not packed:
        return _counted(payload, at, ENTRY)[0], declared
    count = _count(payload, at)
    data = unpack_zstd(payload[at + 4 :], count * ENTRY.itemsize, trailing=True)
    return np.frombuffer(data, ENTRY), declared


def _count(payload: bytes, at: int) -> int:
    if len(payload) < at + 4:
        raise DamagedError("the index ends in a count")
    return int.from_bytes(payload[at : at + 4], "little")


def _counted(payload: bytes, at: int, dtype: np.dtype[np.void]) -> tuple[NDArray[np.void], int]:
    count = _count(payload, at)
    end = at + 4 + count * dtype.itemsize
    if end > len(payload):
        raise DamagedError(f"the index declares {count} entries, more than it has bytes for")
    return np.frombuffer(payload, dtype, count, at + 4), end


def _walk(file: VrsFile, first: int, notes: Notes) -> Index:
    """Records by their own headers, from `first` to the first that is none."""
    found: list[tuple[int, np.void]] = []
    at, block, block_at = first, b"", first
    while at + file.record_header <= file.size:
        if at < block_at or at + RECORD_HEADER.itemsize > block_at + len(block):
            block, block_at = file.read(at, _WALK_BYTES), at
        header = np.frombuffer(block, RECORD_HEADER, 1, at - block_at)[0]
        size = int(header["size"])
        if size < file.record_header or int(header["record_type"]) > 4 or int(header["compression"]) > 2:
            message = "what follows is no record; the rest of the file was not read"
            notes.add(Problem.CORRUPT, message, Where(str(file.path), byte=at), None)
            break
        if at + size > file.size:
            message = f"the last record declares {size} bytes, {file.size - at} are there"
            notes.add(Problem.TRUNCATED, message, Where(str(file.path), byte=at), 1)
            break
        if 0 < int(header["type"]) < 65534:  # the container's own records are of types 1 and 2, without data
            found.append((at, header))
        at += size
    headers = np.array([header for _, header in found], RECORD_HEADER)
    entries = np.zeros(len(found), ENTRY)
    for name in ENTRY.names or ():
        entries[name] = headers[name]
    own = entries["record_type"] > 0
    offset = np.array([place for place, _ in found], np.int64)
    return Index(entries[own], offset[own], (), False)


def _where(file: VrsFile, error: DamagedError) -> Where:
    return error.where if isinstance(error.where, Where) else Where(str(file.path), byte=file.index_at)
