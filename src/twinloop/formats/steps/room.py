"""Memory that is used again for the bulk bytes of one batch after the other."""

from __future__ import annotations

#: A room that grows gets a part more, because what comes next is often a little longer.
_SPARE = 8


class Room:
    """Memory for one record or run of pictures, used again for the next: fresh pages cost more than reading."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def of(self, length: int) -> memoryview:
        """Memory of `length` bytes; what an earlier call gave is overwritten."""
        if len(self._bytes) < length:
            self._bytes = bytearray(length + length // _SPARE)
        return memoryview(self._bytes)[:length]
