"""One chunk: from the file into memory, and where its messages are.

A chunk that is as its index says is decompressed straight into the buffer of its batch, and its messages
are found through its MessageIndex, all at once. Any other is read as a tape: record by record, as far as
it goes.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from twinloop.formats.mcap.records import (
    INDEX_FIELDS,
    LATER_FIELDS_BYTES,
    MESSAGE_FIELDS_BYTES,
    MESSAGE_HEADER,
    PREFIX,
    BadRecord,
    ChunkHeader,
    ChunkIndex,
    Opcode,
)
from twinloop.formats.mcap.tape import DecompressedTape, FileTape, MemoryTape
from twinloop.formats.mcap.walk import Damage, Found, Other, headers_at, walk

if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import IO

    from numpy.typing import NDArray

    from twinloop.formats.mcap.source import Source
    from twinloop.formats.mcap.tape import Tape

#: Uncompressed bytes that one stored byte can stand for at most: zstd stores a block of 128 KiB in no less
#: than 4 bytes (RFC 8878, 3.1.1.2), lz4 a run of 255 bytes in one (LZ4 block format, "match length").
_GREATEST_RATIO = {"": 1, "zstd": 1 << 15, "lz4": 255}


class Unexpected(Exception):
    """Why a chunk is not as its index says. `damaged`: its bytes are wrong, not only its index."""

    def __init__(self, why: str, *, damaged: bool) -> None:
        super().__init__(why)
        self.damaged = damaged


@dataclass(frozen=True, slots=True)
class Located:
    """Messages of a chunk: `positions` (N,) int64 of their records in its uncompressed bytes, their `headers`.

    `damage`: spans of those bytes that hold no record.
    """

    positions: NDArray[np.int64]
    headers: NDArray[np.void]
    damage: tuple[Damage, ...] = ()


@dataclass(frozen=True, slots=True)
class Loaded:
    """A chunk in memory: its MessageIndex records, and whether its bytes match their CRC."""

    index: bytes
    intact: bool


def read_chunk(source: Source, chunk: ChunkIndex, target: NDArray[np.uint8], *, verify: bool) -> Loaded:
    """Decompress a chunk into `target` (its uncompressed size,) uint8.

    Args:
        verify: compare the CRC-32 where the chunk has one.

    Raises:
        Unexpected: it is not what its index says, or does not decompress.
    """
    if chunk.compression == "":
        head = source.read(chunk.offset, PREFIX.size + ChunkHeader.LEAST)
        header = _checked_header(chunk, head)
        if source.read_into(target, chunk.offset + len(head)) < len(target):
            raise Unexpected("the file ends inside it", damaged=True)
        index = source.read(chunk.offset + chunk.length, chunk.index_length)
    else:
        raw = memoryview(source.read(chunk.offset, chunk.length + chunk.index_length))
        header = _checked_header(chunk, raw[: PREFIX.size + ChunkHeader.MOST])
        start = PREFIX.size + header.size
        _decompress(raw[start : start + header.stored], chunk.compression, target)
        index = bytes(raw[chunk.length :])
    return Loaded(index, not verify or not header.crc or zlib.crc32(target.data) == header.crc)


def _checked_header(chunk: ChunkIndex, head: bytes | memoryview) -> ChunkHeader:
    try:
        opcode, length = PREFIX.unpack_from(head)
        header = ChunkHeader.parse(head[PREFIX.size :])
    except Exception as error:
        raise Unexpected(f"its header does not parse ({error})", damaged=True) from None
    said = (Opcode.CHUNK, chunk.length - PREFIX.size, chunk.compression, chunk.stored, chunk.uncompressed_size)
    if (opcode, length, header.compression, header.stored, header.uncompressed_size) != said:
        raise Unexpected("its header is not what the index says", damaged=False)
    if not header.fits(length):
        raise Unexpected("its header contradicts itself", damaged=True)
    return header


def plausible_size(chunk: ChunkIndex) -> bool:
    """Whether its stored bytes can hold as many uncompressed bytes as it declares."""
    return chunk.uncompressed_size <= (chunk.stored + 1) * _GREATEST_RATIO.get(chunk.compression, 0)


def _decompress(data: memoryview, compression: str, target: NDArray[np.uint8]) -> None:
    try:
        if compression == "zstd":
            size = _zstd_into(data, target)
        elif compression == "lz4":
            size = _lz4_into(data, target)
        else:
            raise Unexpected(f"it is compressed with {compression!r}, which is not known here", damaged=True)
    except Unexpected:
        raise
    except Exception as error:  # ZstdError, RuntimeError of lz4: all say that it is broken
        raise Unexpected(f"it does not decompress: {error}", damaged=True) from error
    if size != len(target):
        raise Unexpected(f"it holds {size} bytes, not the {len(target)} that it declares", damaged=True)


def _zstd_into(data: memoryview, target: NDArray[np.uint8]) -> int:
    import zstandard

    # A decompressor of its own: one that is shared must not be used by two threads at once.
    frames = zstandard.ZstdDecompressor()
    reader = frames.stream_reader(cast("IO[bytes]", data), read_across_frames=True)
    view, done = target.data, 0
    while done < len(view) and (count := reader.readinto(view[done:])):
        done += count
    return done + len(reader.read(1))


def _lz4_into(data: memoryview, target: NDArray[np.uint8]) -> int:
    import lz4.frame

    frame = lz4.frame.LZ4FrameDecompressor()
    raw = frame.decompress(data, len(target) + 1)
    target[: len(raw)] = np.frombuffer(raw, np.uint8)[: len(target)]
    return len(raw)


@dataclass(frozen=True, slots=True)
class IndexEntries:
    """What MessageIndex records name: of each message its log time, place in the chunk, channel; (N,) each."""

    log_ns: NDArray[np.int64]
    offset: NDArray[np.int64]
    channel: NDArray[np.uint16]

    def __len__(self) -> int:
        return len(self.offset)


def index_entries(records: bytes) -> IndexEntries:
    """The entries of MessageIndex records that stand one after another.

    Raises:
        BadRecord: they are no such records.
    """
    tables: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    channels: list[int] = []
    counts: list[int] = []
    at = 0
    while at < len(records):
        if at + PREFIX.size + 6 > len(records):
            raise BadRecord("a message index that is cut off")
        opcode, length = PREFIX.unpack_from(records, at)
        channel, size = INDEX_FIELDS.unpack_from(records, at + PREFIX.size)
        after = at + PREFIX.size + length
        if (
            opcode != Opcode.MESSAGE_INDEX
            or not 0 <= length - size - 6 <= LATER_FIELDS_BYTES
            or size % 16
            or after > len(records)
        ):
            raise BadRecord("no message index where one should be")
        tables.append(np.frombuffer(records, "<i8", size // 8, at + PREFIX.size + 6))
        channels.append(channel)
        counts.append(size // 16)
        at = after
    entries = np.concatenate(tables).reshape(-1, 2)
    return IndexEntries(entries[:, 0], entries[:, 1], np.repeat(np.array(channels, np.uint16), counts))


def locate(buffer: NDArray[np.uint8], index: bytes) -> Located:
    """Find the messages of a chunk's uncompressed bytes (B,) uint8 through its MessageIndex records.

    Every entry is held against the record it points to, and every byte must belong to a record.

    Raises:
        Unexpected: the index does not fit the records.
    """
    try:
        entries = index_entries(index)
    except BadRecord as why:
        raise Unexpected(f"{why}", damaged=False) from None
    limit = len(buffer) - MESSAGE_HEADER.itemsize
    if not len(entries) or int(entries.offset.max()) > limit or int(entries.offset.min()) < 0:
        raise Unexpected("its message index points outside it", damaged=False)
    order = np.argsort(entries.offset, kind="stable")
    positions = entries.offset[order]
    headers = headers_at(buffer, positions)
    ends = positions + PREFIX.size + np.minimum(headers["length"], len(buffer)).astype(np.int64)
    honest = (
        (headers["opcode"] == Opcode.MESSAGE)
        & (headers["length"] >= MESSAGE_FIELDS_BYTES)
        & (headers["channel"] == entries.channel[order])
        & (headers["log_ns"] == entries.log_ns[order])
    )
    starts = np.append(positions, len(buffer))
    ends = np.concatenate([np.zeros(1, np.int64), ends])
    if not honest.all() or (ends > starts).any():
        raise Unexpected("its message index does not fit its messages", damaged=False)
    for hole in np.flatnonzero(ends < starts).tolist():
        _check_hole(buffer, int(ends[hole]), int(starts[hole]))
    return Located(positions, headers)


def locate_by_walking(buffer: NDArray[np.uint8], known: Collection[int]) -> Located:
    """Find the messages of a chunk's uncompressed bytes (B,) uint8 record by record, past damage too.

    `known`: channels that there are; after damage only their messages are believed.
    """
    positions, damage = [np.empty(0, np.int64)], []
    for item in walk(MemoryTape(buffer.data), 0, len(buffer), known=known):
        if isinstance(item, Found):
            positions.append(item.base + item.positions)
        elif isinstance(item, Damage):
            damage.append(item)
    found = np.concatenate(positions)
    return Located(found, headers_at(buffer, found), tuple(damage))


def _check_hole(buffer: NDArray[np.uint8], start: int, end: int) -> None:
    """Between messages there may be whole records of other types only."""
    tape = MemoryTape(buffer.data[start:end])
    if not all(isinstance(item, Other) for item in walk(tape, 0, end - start)):
        raise Unexpected("its message index leaves out messages", damaged=False)


def chunk_tape(source: Source, chunk: ChunkIndex) -> tuple[DecompressedTape, int]:
    """A tape of the chunk's uncompressed records, and how many bytes of them to expect at most.

    Raises:
        BadRecord: its compression is not known, or it declares more than its bytes can hold.
    """
    header = _own_header(source, chunk)
    start = chunk.offset + PREFIX.size + header.size
    stored = min(header.stored, source.size - start)
    if header.compression not in _GREATEST_RATIO:
        raise BadRecord(f"it is compressed with {header.compression!r}, which is not known here")
    if header.uncompressed_size > (header.stored + 1) * _GREATEST_RATIO[header.compression]:
        raise BadRecord(f"it declares {header.uncompressed_size} bytes in {header.stored} stored bytes")
    return DecompressedTape(source, start, stored, header.compression), header.uncompressed_size


def message_tape(source: Source, chunk: ChunkIndex) -> tuple[Tape, int]:
    """As `chunk_tape`, for reading a few messages: of a chunk that is not compressed, only their bytes.

    Raises:
        BadRecord: as `chunk_tape`.
    """
    if chunk.compression == "":
        header = _own_header(source, chunk)
        return FileTape(source, chunk.offset + PREFIX.size + header.size), header.stored
    return chunk_tape(source, chunk)


def _own_header(source: Source, chunk: ChunkIndex) -> ChunkHeader:
    """The chunk's own header where it makes sense, else what the index says of it."""
    head = source.read(chunk.offset, PREFIX.size + ChunkHeader.MOST)
    try:
        opcode, length = PREFIX.unpack_from(head)
        header = ChunkHeader.parse(head[PREFIX.size :])
        if opcode == Opcode.CHUNK and header.fits(length):
            return header
    except Exception:
        pass
    size = ChunkHeader.LEAST + len(chunk.compression)
    return ChunkHeader(
        chunk.start_ns, chunk.end_ns, chunk.uncompressed_size, 0, chunk.compression, chunk.stored, size
    )
