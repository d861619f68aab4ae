"""What an MCAP file holds and where: told by its summary, or found by walking its records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from twinloop.formats.mcap.records import (
        AttachmentIndex,
        Channel,
        ChunkIndex,
        Header,
        MetadataIndex,
        Schema,
    )


@dataclass(frozen=True, slots=True)
class Region:
    """Bytes [offset, end) of the file whose Message records stand outside any chunk."""

    offset: int
    end: int


@dataclass(slots=True)
class Tally:
    """What is known of one channel's messages. `first`, `last`: bytes of Message records outside chunks."""

    count: int | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    bytes: int | None = None
    first: int | None = None
    last: int | None = None

    def add(self, log_ns: NDArray[np.int64], at: NDArray[np.int64] | None = None) -> None:
        """Further messages: their log times (N,), and the bytes `at` (N,) of those outside chunks."""
        self.widen(int(log_ns.min()), int(log_ns.max()))
        self.count = (self.count or 0) + len(log_ns)
        if at is not None:
            self.first = int(at[0]) if self.first is None else self.first
            self.last = int(at[-1])

    def widen(self, first_ns: int, last_ns: int) -> None:
        """Take a span of log times in."""
        self.start_ns = first_ns if self.start_ns is None else min(self.start_ns, first_ns)
        self.end_ns = last_ns if self.end_ns is None else max(self.end_ns, last_ns)


@dataclass(slots=True)
class Contents:
    """Everything but the messages.

    Attributes:
        chunks, regions: in the file's order; together they hold every message.
        tallies: channel id -> what the index tells of its messages.
        counted: whether the tallies' counts are all channels' (a channel without one has no messages).
        declared: whether those counts are the writer's own, so that the data may be held against them.
    """

    header: Header
    schemas: dict[int, Schema] = field(default_factory=dict)
    channels: dict[int, Channel] = field(default_factory=dict)
    chunks: list[ChunkIndex] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)
    attachments: list[AttachmentIndex] = field(default_factory=list)
    metadata: list[MetadataIndex] = field(default_factory=list)
    tallies: dict[int, Tally] = field(default_factory=dict)
    counted: bool = False
    declared: bool = False

    def tally(self, channel: int) -> Tally:
        """The tally of a channel, made when it is not there yet."""
        return self.tallies.setdefault(channel, Tally())

    def parts(self) -> list[ChunkIndex | Region]:
        """Chunks and regions in the file's order."""
        return sorted([*self.chunks, *self.regions], key=lambda part: part.offset)
