"""Frames: which packets make up one turn, what is missing of it, and whether packets are sound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import Where
from twinloop.core.recording import Problem
from twinloop.formats.ouster.cloud import Frame
from twinloop.formats.ouster.crc import crc64

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from twinloop.formats.notes import Notes
    from twinloop.formats.ouster.metadata import Sensor
    from twinloop.formats.ouster.packets import LidarPackets

#: What firmware without checksums writes in their place.
_NO_CRC = np.array([0, 0xDEADBEEF0000C0DE], np.uint64)


@dataclass(slots=True)
class Losses:
    """What a scan met: packets that are broken or late, turns and columns that are missing."""

    broken: int = 0
    late: int = 0
    frames: int = 0
    missing_frames: int = 0
    missing_columns: int = 0
    torn_frames: int = 0


class Framer:
    """Puts the packets of one sensor together to frames, from one block of the capture to the next."""

    def __init__(self, sensor: Sensor, *, verify: bool) -> None:
        self._sensor, self._verify = sensor, verify
        self._open: LidarPackets | None = None
        self._open_number: NDArray[np.int64] = np.empty(0, np.int64)
        self._last: int | None = None
        self._given: int | None = None
        self._expected = _window(sensor)
        self._torn: list[int] = []
        self.losses = Losses()

    def frames(self, packets: LidarPackets) -> Iterator[Frame]:
        """The frames that are whole once these packets are there: all but the newest."""
        packets = self._sound(packets)
        if not len(packets):
            return
        number = self._counted(packets)
        if self._open is not None:
            packets, number = self._open.joined(packets), np.concatenate([self._open_number, number])
        late = number <= self._given if self._given is not None else np.zeros(len(number), np.bool_)
        self.losses.late += int(late.sum())
        newest = int(number.max())
        yield from self._given_out(packets, number, ~late & (number < newest))
        left = np.flatnonzero(number == newest)
        self._open, self._open_number = packets.take(left), number[left]

    def finish(self) -> Iterator[Frame]:
        """The last frame, whole or not."""
        if self._open is not None:
            packets, number, self._open = self._open, self._open_number, None
            yield from self._given_out(packets, number, np.ones(len(number), np.bool_))

    def note(self, notes: Notes, path: str, stream: str) -> None:
        """Note what is missing; the first and last turn of a capture are hardly ever whole and do not count."""
        where, losses = Where(path, stream=stream), self.losses
        inner = self._torn[1:-1] if losses.frames > 1 else []
        if losses.broken:
            message = f"{losses.broken} lidar packets do not fit their checksum and were left out"
            notes.add(Problem.CORRUPT, message, where, losses.broken)
        if losses.late:
            message = f"{losses.late} lidar packets came after their turn was over and were left out"
            notes.add(Problem.COUNT, message, where)
        if losses.missing_frames:
            message = f"{losses.missing_frames} turns of the sensor are missing between those that are there"
            notes.add(Problem.COUNT, message, where, losses.missing_frames)
        if torn := [missing for missing in inner if missing]:
            message = f"{sum(torn)} columns are missing in {len(torn)} of {losses.frames} turns"
            notes.add(Problem.COUNT, message, where)

    def _sound(self, packets: LidarPackets) -> LidarPackets:
        if not self._verify or not packets.layout.has_crc or not len(packets):
            return packets
        stored = packets.crc
        wrong = ~np.isin(stored, _NO_CRC) & (crc64(packets.data[:, :-8]) != stored)
        if not wrong.any():
            return packets
        self.losses.broken += int(wrong.sum())
        return packets.take(np.flatnonzero(~wrong))

    def _counted(self, packets: LidarPackets) -> NDArray[np.int64]:
        """Frame numbers (N,) counted on over their wrapping: each step is the shortest way round."""
        sent = packets.frame
        turn = 1 << packets.layout.frame_bits
        first = int(sent[0]) if self._last is None else self._last
        steps = np.diff(sent, prepend=first % turn)
        steps = (steps + turn // 2) % turn - turn // 2
        number = first + np.cumsum(steps)
        self._last = int(number[-1])
        return np.asarray(number, np.int64)

    def _given_out(
        self, packets: LidarPackets, number: NDArray[np.int64], ready: NDArray[np.bool_]
    ) -> Iterator[Frame]:
        for one in np.unique(number[ready]).tolist():
            mine = packets.take(np.flatnonzero(ready & (number == one)))
            frame = self._frame(mine, one)
            if self._given is not None:
                self.losses.missing_frames += one - self._given - 1
            self._given = one
            if frame is not None:
                self.losses.frames += 1
                yield frame

    def _frame(self, packets: LidarPackets, number: int) -> Frame | None:
        """The columns of a turn; of a column that came twice the last counts."""
        measurement = packets.measurement.reshape(-1)
        rows = np.flatnonzero(packets.valid.reshape(-1) & (measurement < self._sensor.columns))
        columns, last = np.unique(measurement[rows][::-1], return_index=True)
        rows = rows[::-1][last]
        self._torn.append(int((~np.isin(self._expected, columns)).sum()))
        return Frame(number, packets, columns, rows) if len(rows) else None


def _window(sensor: Sensor) -> NDArray[np.int64]:
    """The columns that the sensor is set to send."""
    first, last = sensor.window
    if first <= last:
        return np.arange(first, last + 1)
    return np.concatenate([np.arange(first, sensor.columns), np.arange(last + 1)])
