"""The four bytes before a CDR message: which byte order follows (OMG DDSI-RTPS 2.5, 10.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from twinloop.formats.ros.gather import gather

if TYPE_CHECKING:
    from numpy.typing import NDArray

HEADER_BYTES = 4
_BIG, _LITTLE = 0x0000, 0x0001
_OTHERS = {
    0x0002: "parameter lists (big endian)",
    0x0003: "parameter lists (little endian)",
    **dict.fromkeys(range(0x0006, 0x000C), "XCDR2"),
}


def endianness(
    buffer: NDArray[np.uint8],
    offset: NDArray[np.int64],
    length: NDArray[np.int64],
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], str]:
    """Which messages (N,) are plain CDR in little and in big endian, and what the first other one is."""
    long_enough = length >= HEADER_BYTES
    identifier = np.full(len(offset), -1)
    head = gather(buffer, offset[long_enough], 2).astype(np.int64)
    identifier[long_enough] = head[:, 0] << 8 | head[:, 1]
    little, big = identifier == _LITTLE, identifier == _BIG
    other = ~little & ~big
    if not other.any():
        return little, big, ""
    first = int(identifier[np.argmax(other)])
    if first < 0:
        return little, big, "it is shorter than the 4 bytes that begin every CDR message"
    what = _OTHERS.get(first, "no encapsulation of CDR")
    return little, big, f"its first bytes {first:#06x} mean {what}; expected plain CDR (0x0000 or 0x0001)"
