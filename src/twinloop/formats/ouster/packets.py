"""Lidar packets as arrays: headers, columns, and the fields of pixels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.formats.ros.gather import gather

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from twinloop.formats.ouster.datagrams import Datagrams
    from twinloop.formats.ouster.profiles import PacketLayout


@dataclass(frozen=True, slots=True)
class LidarPackets:
    """N packets of one layout: `data` (N, size) uint8 and `time_ns` (N,) int64, when each was captured."""

    layout: PacketLayout
    data: NDArray[np.uint8]
    time_ns: NDArray[np.int64]

    @classmethod
    def of(cls, layout: PacketLayout, datagrams: Datagrams) -> LidarPackets:
        """The datagrams, all of the layout's size, as packets."""
        return cls(layout, gather(datagrams.buffer, datagrams.start, layout.size), datagrams.time_ns)

    def __len__(self) -> int:
        return len(self.data)

    def take(self, rows: NDArray[np.int64] | slice) -> LidarPackets:
        """Some of them."""
        return LidarPackets(self.layout, self.data[rows], self.time_ns[rows])

    def joined(self, other: LidarPackets) -> LidarPackets:
        """These and then those."""
        time = np.concatenate([self.time_ns, other.time_ns])
        return LidarPackets(self.layout, np.concatenate([self.data, other.data]), time)

    @property
    def frame(self) -> NDArray[np.int64]:
        """The number of the frame (N,), as sent: it begins anew after `layout.frame_bits` bits."""
        if self.layout.legacy:
            return self._header(10, 2)
        return self._header(4, 4) if self.layout.fusa else self._header(2, 2)

    @property
    def identity(self) -> NDArray[np.int64]:
        """Serial number and initialization id (N, 2) that packets carry; zeros in the legacy profile."""
        if self.layout.legacy:
            return np.zeros((len(self), 2), np.int64)
        init, serial = (1, 11) if self.layout.fusa else (4, 7)
        return np.stack([self._header(serial, 5), self._header(init, 3)], axis=1)

    @property
    def crc(self) -> NDArray[np.uint64]:
        """The checksum (N,) at each packet's end."""
        return np.ascontiguousarray(self.data[:, -8:]).view("<u8")[:, 0]

    @property
    def column_time_ns(self) -> NDArray[np.int64]:
        """The sensor's time of each column (N, C)."""
        return self._column(0, 8).astype(np.int64)

    @property
    def measurement(self) -> NDArray[np.int64]:
        """The number of each column in the turn (N, C)."""
        return self._column(8, 2).astype(np.int64)

    @property
    def valid(self) -> NDArray[np.bool_]:
        """Whether each column was measured (N, C): the lowest bit of its status."""
        at = self.layout.column - 4 if self.layout.legacy else 10
        return (self._column(at, 2) & 1).astype(np.bool_)

    @property
    def pixels(self) -> NDArray[np.uint8]:
        """The bytes of all pixels (N, C, H, B), a view."""
        layout = self.layout
        columns = self._columns()[
            :, :, layout.column_header : layout.column_header + layout.pixels * layout.pixel_size
        ]
        shape = (len(self), layout.columns, layout.pixels, layout.pixel_size)
        return np.lib.stride_tricks.as_strided(
            columns, shape, (self.data.strides[0], layout.column, layout.pixel_size, 1), writeable=False
        )

    def _columns(self) -> NDArray[np.uint8]:
        layout = self.layout
        body = self.data[:, layout.header : layout.header + layout.columns * layout.column]
        return body.reshape(len(self), layout.columns, layout.column)

    def _column(self, at: int, size: int) -> NDArray[np.unsignedinteger]:
        part = np.ascontiguousarray(self._columns()[:, :, at : at + size])
        return part.view(f"<u{size}")[:, :, 0]

    def _header(self, at: int, size: int) -> NDArray[np.int64]:
        part = np.zeros((len(self), 8), np.uint8)
        part[:, :size] = self.data[:, at : at + size]
        return part.view("<i8")[:, 0]
