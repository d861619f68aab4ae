"""Damage to an MCAP file on disk, each known by where it is."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from twinloop.core.errors import UsageError
from twinloop.testing.faults import Planted

if TYPE_CHECKING:
    from pathlib import Path

    from mcap.records import ChunkIndex
    from mcap.summary import Summary

_MAGIC = 8
_RECORD_HEADER = 9  # opcode and length
_COUNTS = 46  # from a statistics record's start to its first pair of channel id and count
_FOOTER = _RECORD_HEADER + 20 + _MAGIC


@runtime_checkable
class Damage(Protocol):
    """A defect of the file."""

    def damage(self, path: Path) -> Planted:
        """Change the file in place and say what is wrong with it now."""


@dataclass(frozen=True, slots=True)
class CorruptChunk:
    """Bytes inside one chunk's data are flipped, so that its CRC (or its compression) does not hold.

    `chunk` counts chunks; negative from the end. Value: the messages in it. Times are log times.
    """

    chunk: int = 1

    def damage(self, path: Path) -> Planted:
        chunks = _summary(path).chunk_indexes
        try:
            chunk = chunks[self.chunk]
        except IndexError:
            raise UsageError(f"the file has {len(chunks)} chunks, none is number {self.chunk}") from None
        at = _chunk_data(chunk) + chunk.compressed_size // 2
        with path.open("r+b") as file:
            file.seek(at)
            data = file.read(4)
            file.seek(at)
            file.write(bytes(byte ^ 0xA5 for byte in data))
        return Planted(
            "CorruptChunk",
            start_ns=chunk.message_start_time,
            end_ns=chunk.message_end_time,
            value=float(_messages(path, chunk)),
            unit="1",
            byte=chunk.chunk_start_offset,
        )


@dataclass(frozen=True, slots=True)
class Truncated:
    """The file ends early, at `part` of its size, as after a crash. Value: bytes that are left."""

    part: float = 0.6

    def damage(self, path: Path) -> Planted:
        size = int(path.stat().st_size * self.part)
        with path.open("r+b") as file:
            file.truncate(size)
        return Planted("Truncated", value=float(size), unit="byte", byte=size)


@dataclass(frozen=True, slots=True)
class NoSummary:
    """The file ends right after its data: no summary, no footer. Value: bytes that are left."""

    def damage(self, path: Path) -> Planted:
        with path.open("r+b") as file:
            file.seek(-_FOOTER + _RECORD_HEADER, 2)
            start = struct.unpack("<Q", file.read(8))[0]
            file.truncate(start)
        return Planted("NoSummary", value=float(start), unit="byte", byte=start)


@dataclass(frozen=True, slots=True)
class LyingCounts:
    """The statistics record claims `extra` messages more on one topic than there are. Value: `extra`."""

    stream: str
    extra: int = 7

    def damage(self, path: Path) -> Planted:
        summary = _summary(path)
        channel = next((c for c in summary.channels.values() if c.topic == self.stream), None)
        if channel is None or summary.statistics is None:
            raise UsageError(f"no statistics of a topic {self.stream!r} to change", where=str(path))
        data = bytearray(path.read_bytes())
        statistics = _find_statistics(data)
        place = statistics + _RECORD_HEADER + _COUNTS
        while struct.unpack_from("<H", data, place)[0] != channel.id:
            place += 10
        true = summary.statistics.channel_message_counts[channel.id]
        struct.pack_into("<Q", data, place + 2, true + self.extra)
        struct.pack_into("<Q", data, statistics + _RECORD_HEADER, summary.statistics.message_count + self.extra)
        struct.pack_into("<I", data, len(data) - _MAGIC - 4, 0)  # a CRC of zero says: not computed
        path.write_bytes(data)
        return Planted("LyingCounts", self.stream, value=float(self.extra), unit="1", byte=statistics)


@dataclass(frozen=True, slots=True)
class FlippedBytes:
    """Some bytes anywhere in the file have a bit flipped. Value: how many; `byte` is the first."""

    count: int = 8
    seed: int = 0

    def damage(self, path: Path) -> Planted:
        rng = np.random.default_rng(self.seed)
        data = bytearray(path.read_bytes())
        places = np.sort(rng.choice(len(data), size=min(self.count, len(data)), replace=False))
        for place in places:
            data[place] ^= 1 << int(rng.integers(0, 8))
        path.write_bytes(data)
        return Planted("FlippedBytes", value=float(len(places)), unit="1", byte=int(places[0]))


def _summary(path: Path) -> Summary:
    from mcap.reader import make_reader

    with path.open("rb") as file:
        summary = make_reader(file).get_summary()
    if summary is None:
        raise UsageError("the file has no summary to find the place by", where=str(path))
    return summary


def _chunk_data(chunk: ChunkIndex) -> int:
    """Where the chunk's compressed records start: behind times, size, CRC, compression's name and length."""
    return chunk.chunk_start_offset + _RECORD_HEADER + 8 * 3 + 4 + 4 + len(chunk.compression) + 8


def _messages(path: Path, chunk: ChunkIndex) -> int:
    """How many messages the chunk's index records list."""
    total = 0
    with path.open("rb") as file:
        for offset in chunk.message_index_offsets.values():
            file.seek(offset + _RECORD_HEADER + 2)
            total += struct.unpack("<I", file.read(4))[0] // 16
    return total


def _find_statistics(data: bytearray) -> int:
    """Where the statistics record starts, by walking the summary section."""
    place = struct.unpack_from("<Q", data, len(data) - _FOOTER + _RECORD_HEADER)[0]
    while place < len(data) - _FOOTER:
        opcode, length = struct.unpack_from("<BQ", data, place)
        if opcode == 0x0B:
            return int(place)
        place += _RECORD_HEADER + length
    raise UsageError("the file has no statistics record")
