"""UDP datagrams out of captured packets: link layers, IPv4 and IPv6, fragments put together again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import Where
from twinloop.core.recording import Problem
from twinloop.formats.ros.gather import gather

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.formats.notes import Notes
    from twinloop.formats.ouster.capture import Records

#: Bytes before the network layer, and where in them its type stands (-1: the first nibble tells).
_LINKS = {
    1: (14, 12),
    113: (16, 14),
    276: (20, 0),
    0: (4, -1),
    101: (0, -1),
    12: (0, -1),
    14: (0, -1),
    228: (0, -1),
}
_VLAN = (0x8100, 0x88A8)
_UDP = 17
#: The longest header that is looked at: link, two VLAN tags, IPv4 with options, UDP.
_HEADERS = 20 + 8 + 60 + 8
#: Datagrams that wait for their fragments; more are given up.
_MOST_WAITING = 256


@dataclass(frozen=True, slots=True)
class Datagrams:
    """N datagrams in one buffer, in the order of their last byte's arrival.

    `buffer` (B,) uint8; `start`, `length` (N,) int64; `time_ns` (N,) int64; `source` (N,) uint64, the sender's
    address (of IPv6: its last eight bytes); `port` (N,) int64, where it was sent to.
    """

    buffer: NDArray[np.uint8]
    start: NDArray[np.int64]
    length: NDArray[np.int64]
    time_ns: NDArray[np.int64]
    source: NDArray[np.uint64]
    port: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.start)

    def take(self, rows: NDArray[np.int64]) -> Datagrams:
        """Some of them."""
        start, length, time = self.start[rows], self.length[rows], self.time_ns[rows]
        return Datagrams(self.buffer, start, length, time, self.source[rows], self.port[rows])


@dataclass(slots=True)
class _Waiting:
    """Fragments of one datagram: offset -> bytes; `total` once the last is there."""

    pieces: dict[int, bytes] = field(default_factory=dict)
    total: int | None = None
    held: int = 0


class Assembler:
    """Makes datagrams of captured packets; keeps fragments from one block of the capture to the next."""

    def __init__(self, path: Path, notes: Notes) -> None:
        self._path, self._notes = path, notes
        self._waiting: dict[tuple[int, int, int], _Waiting] = {}
        self.cut = 0
        self.given_up = 0

    def datagrams(self, records: Records) -> Datagrams:
        """The datagrams that the packets of a block complete."""
        padded = np.concatenate([records.buffer, np.zeros(_HEADERS, np.uint8)])
        ip, version, fits = _network(padded, records)
        head = gather(padded, np.where(fits, ip, 0), 60)
        v4, v6 = fits & (version == 4), fits & (version == 6)
        words = (head[:, 0] & 15).astype(np.int64) * 4
        header = np.where(v6, 40, words)
        udp = np.where(v6, head[:, 6], head[:, 9]) == _UDP
        flags = head[:, 6].astype(np.int64) << 8 | head[:, 7]
        fragment = v4 & udp & ((flags & 0x3FFF) != 0)
        body = ip + header
        total = np.where(
            v6,
            40 + (head[:, 4].astype(np.int64) << 8 | head[:, 5]),
            head[:, 2].astype(np.int64) << 8 | head[:, 3],
        )
        end = np.where(total >= header, ip + total, records.start + records.length)
        kept = records.start + records.length
        self._note_cut(records, fits & udp & (end > kept))
        good = (v4 | v6) & udp & ~fragment & (header >= 20) & (body + 8 <= end) & (end <= kept)
        source = np.where(v6, _words(head, 16), _words(head, 12) >> np.uint64(32))
        rows = np.flatnonzero(good)
        ports = gather(padded, np.where(good, body, 0), 8).astype(np.int64)
        port = ports[:, 2] << 8 | ports[:, 3]
        plain = Datagrams(
            records.buffer,
            (body + 8)[rows],
            (end - body - 8)[rows],
            records.time_ns[rows],
            source[rows],
            port[rows],
        )
        pieces = np.flatnonzero(fragment & (header >= 20) & (body < end) & (end <= kept))
        if not len(pieces):
            return plain
        return self._with_fragments(records, plain, rows, pieces, head, flags, body, end)

    def finish(self) -> None:
        """Note the datagrams of which fragments are missing, and the packets that the capture cut."""
        missing = self.given_up + len(self._waiting)
        if missing:
            message = f"{missing} datagrams lack fragments"
            self._notes.add(Problem.CORRUPT, message, Where(str(self._path)), missing)
        if self.cut:
            message = f"{self.cut} packets were cut by the capture"
            self._notes.add(Problem.CORRUPT, message, Where(str(self._path)), self.cut)

    def _note_cut(self, records: Records, cut: NDArray[np.bool_]) -> None:
        self.cut += int((cut & ~records.whole).sum())

    def _with_fragments(
        self,
        records: Records,
        plain: Datagrams,
        plain_rows: NDArray[np.int64],
        pieces: NDArray[np.int64],
        head: NDArray[np.uint8],
        flags: NDArray[np.int64],
        body: NDArray[np.int64],
        end: NDArray[np.int64],
    ) -> Datagrams:
        view = memoryview(records.buffer.data)
        joined: list[bytes] = []
        rows: list[int] = []
        keys = np.stack([_words(head, 12)[pieces], _words(head, 4)[pieces] >> np.uint64(48)], axis=1).tolist()
        spans = np.stack([flags[pieces], body[pieces], end[pieces], pieces], axis=1).tolist()
        for (addresses, number), (flag, start, stop, row) in zip(keys, spans, strict=True):
            key = (addresses, number, _UDP)
            whole = self._add(key, (flag & 0x1FFF) * 8, bytes(view[start:stop]), last=not flag & 0x2000)
            if whole is not None:
                joined.append(whole)
                rows.append(row)
        while len(self._waiting) > _MOST_WAITING:
            self._waiting.pop(next(iter(self._waiting)))
            self.given_up += 1
        if not joined:
            return plain
        length = np.array([len(one) for one in joined], np.int64)
        start = len(records.buffer) + np.cumsum(length) - length
        more = np.frombuffer(b"".join(joined), np.uint8)
        at = np.array(rows, np.int64)
        port = np.array([one[2] << 8 | one[3] for one in joined], np.int64)
        order = np.argsort(np.concatenate([plain_rows, at]), kind="stable")
        source = _words(head, 12)[at] >> np.uint64(32)
        return Datagrams(
            np.concatenate([records.buffer, more]),
            np.concatenate([plain.start, start + 8])[order],
            np.concatenate([plain.length, length - 8])[order],
            np.concatenate([plain.time_ns, records.time_ns[at]])[order],
            np.concatenate([plain.source, source])[order],
            np.concatenate([plain.port, port])[order],
        )

    def _add(self, key: tuple[int, int, int], offset: int, piece: bytes, *, last: bool) -> bytes | None:
        """Put a fragment to its others; the whole datagram once nothing is missing."""
        waiting = self._waiting.setdefault(key, _Waiting())
        if offset in waiting.pieces or offset + len(piece) > 65_535:  # the number is in use again
            self._waiting[key] = waiting = _Waiting()
            self.given_up += 1
        waiting.pieces[offset] = piece
        waiting.held += len(piece)
        if last:
            waiting.total = offset + len(piece)
        if waiting.total is None or waiting.held < waiting.total:
            return None
        del self._waiting[key]
        joined = b"".join(waiting.pieces[at] for at in sorted(waiting.pieces))
        at = 0
        for place in sorted(waiting.pieces):
            if place != at:
                self.given_up += 1
                return None
            at += len(waiting.pieces[place])
        return joined if len(joined) >= 8 else None


def _network(
    buffer: NDArray[np.uint8], records: Records
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Where the network layer begins (N,), its version (N,), and whether it lies in the packet (N,)."""
    at = records.start.copy()
    known = np.zeros(len(at), np.bool_)
    for link in np.unique(records.link).tolist():
        if link not in _LINKS:
            continue
        mine = records.link == link
        size, type_at = _LINKS[link]
        at[mine] += size
        known |= mine
        if type_at < 0:
            continue
        for _ in range(2):  # tags of virtual networks: four bytes each, the type after them
            kind = gather(buffer, np.minimum(at - size + type_at, len(buffer) - 2), 2).astype(np.int64)
            tagged = mine & np.isin(kind[:, 0] << 8 | kind[:, 1], _VLAN) & (link == 1)
            at[tagged] += 4
    fits = known & (at + 20 <= records.start + records.length)
    first = buffer[np.where(fits, at, 0)]
    version = (first >> 4).astype(np.int64)
    return at, version, fits & np.isin(version, (4, 6))


def _words(head: NDArray[np.uint8], at: int) -> NDArray[np.uint64]:
    """Eight bytes of each row as a big-endian number (N,)."""
    return np.ascontiguousarray(head[:, at : at + 8]).view(">u8").reshape(-1).astype(np.uint64)
