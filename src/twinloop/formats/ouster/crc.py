"""CRC-64 of many packets at once (ECMA-182, bits reversed, as in xz): what the sensor puts at a packet's end.

Packets are cut into chunks of one length; all chunks of all packets are run through the table side by side,
then each packet's chunks are put together: a register that is moved over a chunk of zeros is, per byte of it,
one look-up.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_POLYNOMIAL = 0xC96C5795D7870F42
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
#: Bytes a chunk.
_CHUNK = 128


def crc64(packets: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """The checksums (N,) of packets (N, B) uint8."""
    count, size = packets.shape
    chunks, rest = divmod(size, _CHUNK)
    register = np.full(count, _ALL)
    if chunks:
        bulk = packets[:, : chunks * _CHUNK].reshape(count * chunks, _CHUNK)
        words = np.ascontiguousarray(bulk).view("<u8")
        parts = np.zeros(len(bulk), np.uint64)
        for k in range(_CHUNK // 8):
            parts = _moved(parts ^ words[:, k], _eight())
        by_packet = parts.reshape(count, chunks)
        for k in range(chunks):
            register = _moved(register, _over_chunk()) ^ by_packet[:, k]
    table = _table()
    for k in range(size - rest, size):
        register = table[(register ^ packets[:, k]) & np.uint64(255)] ^ (register >> np.uint64(8))
    return register ^ _ALL


def _moved(register: NDArray[np.uint64], tables: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Registers (N,) after the bytes that `tables` (8, 256) stand for."""
    octets = register.view(np.uint8).reshape(-1, 8)
    moved = tables[0][octets[:, 0]]
    for k in range(1, 8):
        moved ^= tables[k][octets[:, k]]
    return moved


@cache
def _table() -> NDArray[np.uint64]:
    """A register of one byte after eight bits."""
    values = np.arange(256, dtype=np.uint64)
    for _ in range(8):
        values = (values >> np.uint64(1)) ^ np.where(
            values & np.uint64(1), np.uint64(_POLYNOMIAL), np.uint64(0)
        )
    return values


@cache
def _eight() -> NDArray[np.uint64]:
    """(8, 256): each byte of a register moved over eight bytes, the first of them itself."""
    return _over(8)


@cache
def _over_chunk() -> NDArray[np.uint64]:
    return _over(_CHUNK)


def _over(size: int) -> NDArray[np.uint64]:
    """(8, 256): each byte of a register, moved over `size` bytes of zeros."""
    table = _table()
    moved = np.arange(256, dtype=np.uint64)[None, :] << (np.arange(8, dtype=np.uint64) * np.uint64(8))[:, None]
    for _ in range(size):
        moved = table[moved & np.uint64(255)] ^ (moved >> np.uint64(8))
    return moved
