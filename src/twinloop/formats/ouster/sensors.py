"""Whose packets a capture holds: metadata files beside it, matched by what the packets themselves say."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import UnreadableError
from twinloop.formats.ouster.capture import read_capture
from twinloop.formats.ouster.datagrams import Assembler
from twinloop.formats.ouster.metadata import Sensor, read_metadata
from twinloop.formats.ouster.packets import LidarPackets
from twinloop.formats.ouster.zones import ZONE_SIZE

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.formats.notes import Notes
    from twinloop.formats.ouster.datagrams import Datagrams

#: Bytes of the capture by which its sensors are told; metadata files that are looked at.
SAMPLE_BYTES, _MOST_FILES = 4 << 20, 200
#: Packets of other makes, by their port and size.
_OTHERS = {
    (2368, 1206): "Velodyne",
    (2368, 1248): "Velodyne",
    (2368, 1212): "Velodyne (VLI)",
    (8308, 512): "Velodyne",
}
_NAME_SCORE, _INIT_SCORE, _SERIAL_SCORE = 1, 4, 2


@dataclass(slots=True)
class Traffic:
    """What the first part of a capture holds: packets by (port, size), by (port, size, sender), and samples."""

    counts: Counter[tuple[int, int]] = field(default_factory=Counter)
    samples: dict[tuple[int, int, int], Datagrams] = field(default_factory=dict)

    def add(self, datagrams: Datagrams) -> None:
        """Count datagrams; keep one of each kind and sender."""
        keys = np.stack([datagrams.port, datagrams.length, datagrams.source.astype(np.int64)], axis=1)
        found, first, count = np.unique(keys, axis=0, return_index=True, return_counts=True)
        for (port, size, source), row, many in zip(found.tolist(), first.tolist(), count.tolist(), strict=True):
            self.counts[port, size] += many
            if (port, size, source) not in self.samples:
                one = datagrams.take(np.array([row]))
                start, length = int(one.start[0]), int(one.length[0])
                kept = one.buffer[start : start + length].copy()
                self.samples[port, size, source] = type(one)(
                    kept, np.zeros(1, np.int64), one.length, one.time_ns, one.source, one.port
                )


@dataclass(frozen=True, slots=True)
class Member:
    """A sensor of the capture and how its packets are told from others'.

    `sources`: senders of its packets; empty: any. `identity`: serial number and initialization id in its
    lidar packets; None: they carry none.
    """

    sensor: Sensor
    sources: frozenset[int]
    identity: tuple[int, int] | None

    def lidar(self, datagrams: Datagrams) -> NDArray[np.int64]:
        """Which datagrams are its lidar packets."""
        layout = self.sensor.lidar
        if layout is None:
            return np.empty(0, np.int64)
        return self._of(datagrams, layout.size, self.sensor.ports[0])

    def imu(self, datagrams: Datagrams) -> NDArray[np.int64]:
        """Which datagrams are its IMU packets."""
        size = self.sensor.imu_size
        return self._of(datagrams, size, self.sensor.ports[1]) if size else np.empty(0, np.int64)

    def zones(self, datagrams: Datagrams) -> NDArray[np.int64]:
        """Which datagrams are its zone packets."""
        port = self.sensor.ports[2]
        return self._of(datagrams, ZONE_SIZE, port) if port else np.empty(0, np.int64)

    def _of(self, datagrams: Datagrams, size: int, port: int | None) -> NDArray[np.int64]:
        mine = datagrams.length == size
        if port is not None:
            mine &= datagrams.port == port
        if self.sources:
            mine &= np.isin(datagrams.source, np.array(sorted(self.sources), np.uint64))
        return np.flatnonzero(mine)


def find_members(path: Path, traffic: Traffic) -> list[Member]:
    """The sensors whose packets the capture holds, by the metadata files beside it.

    Raises:
        UnreadableError: no file beside it describes them; the message says what the packets look like.
    """
    files = _metadata_beside(path)
    scored = [(_score(path, sensor, traffic), sensor) for sensor in files]
    scored.sort(key=lambda pair: -pair[0])
    members: list[Member] = []
    taken: set[tuple[int, int, int]] = set()
    for score, sensor in scored:
        mine = [key for key in _lidar_kinds(sensor, traffic) if key not in taken]
        if not mine or score <= 0 or any(_same(sensor, other.sensor) for other in members):
            continue
        taken |= set(mine)
        members.append(Member(sensor, frozenset(), _identity(sensor)))
    if not members:
        members = _without_lidar(path, files, traffic)
    if not members:
        raise UnreadableError(
            _looks(traffic, files),
            where=str(path),
            expected="the sensor's metadata, a JSON file in the same folder, and packets that it describes",
            fix="save it with `ouster-cli source SENSOR metadata > NAME.json` beside the capture",
        )
    if len(members) > 1:
        senders = [frozenset(source for *_, source in _lidar_kinds(m.sensor, traffic)) for m in members]
        members = [Member(m.sensor, own, m.identity) for m, own in zip(members, _apart(senders), strict=True)]
    return members


def sample_traffic(path: Path, notes: Notes, most_bytes: int) -> Traffic:
    """What the first `most_bytes` of a capture hold."""
    traffic, assembler = Traffic(), Assembler(path, notes)
    for records in read_capture(path, notes, most_bytes):
        datagrams = assembler.datagrams(records)
        if len(datagrams):
            traffic.add(datagrams)
    return traffic


def _metadata_beside(path: Path) -> list[Sensor]:
    try:
        files = sorted(file for file in path.parent.iterdir() if file.suffix == ".json" and file.is_file())
    except OSError:
        return []
    files.sort(key=lambda file: -_shared(file.stem, path.stem))
    found = (read_metadata(file) for file in files[:_MOST_FILES])
    return [sensor for sensor in found if sensor is not None]


def _shared(a: str, b: str) -> int:
    """How many letters two names begin with alike."""
    return next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _lidar_kinds(sensor: Sensor, traffic: Traffic) -> list[tuple[int, int, int]]:
    """The kinds of packets that can be this sensor's lidar packets, by size, port and what they carry."""
    layout, found = sensor.lidar, []
    if layout is None:
        return []
    for (port, size, source), sample in traffic.samples.items():
        if size != layout.size or sensor.ports[0] not in (None, port):
            continue
        identity = tuple(LidarPackets.of(layout, sample).identity[0].tolist())
        if layout.legacy or not sensor.serial.isdigit() or identity[0] == int(sensor.serial):
            found.append((port, size, source))
    return found


def _score(path: Path, sensor: Sensor, traffic: Traffic) -> float:
    """How well a metadata file fits: the packets' own identity before the files' names."""
    kinds = _lidar_kinds(sensor, traffic)
    if not kinds or sensor.lidar is None:
        return 0.0
    near = _shared(path.stem, sensor.file.stem) / max(len(path.stem), len(sensor.file.stem))
    if sensor.lidar.legacy:
        return _NAME_SCORE * near if near > 0.25 else 0.0
    sample = traffic.samples[kinds[0]]
    _, init = LidarPackets.of(sensor.lidar, sample).identity[0].tolist()
    return _SERIAL_SCORE + (_INIT_SCORE if init == sensor.init_id else 0) + _NAME_SCORE * near


def _without_lidar(path: Path, files: list[Sensor], traffic: Traffic) -> list[Member]:
    """For captures of motion alone, and empty ones: the metadata file with the capture's name."""
    named = [s for s in files if s.file.stem.startswith(path.stem) or path.stem.startswith(s.file.stem)]
    if not named or (traffic.counts and not any(_fits_imu(s, traffic) for s in named)):
        return []
    chosen = next((s for s in named if _fits_imu(s, traffic)), named[0])
    return [Member(chosen, frozenset(), None)]


def _fits_imu(sensor: Sensor, traffic: Traffic) -> bool:
    return any(size == sensor.imu_size and sensor.ports[1] in (None, port) for port, size in traffic.counts)


def _same(a: Sensor, b: Sensor) -> bool:
    """Whether two files describe one sensor."""
    if a.serial and b.serial:
        return a.serial == b.serial
    return a.lidar == b.lidar and a.ports[0] == b.ports[0]


def _identity(sensor: Sensor) -> tuple[int, int] | None:
    if sensor.lidar is None or sensor.lidar.legacy or not sensor.serial.isdigit():
        return None
    return int(sensor.serial), sensor.init_id or 0


def _apart(senders: list[frozenset[int]]) -> list[frozenset[int]]:
    """Senders that only one of the sensors has; where they share one, none tells them apart."""
    counts = Counter(source for own in senders for source in own)
    return [frozenset(source for source in own if counts[source] == 1) for own in senders]


def _looks(traffic: Traffic, files: list[Sensor]) -> str:
    """What is wrong with a capture without a sensor that is described."""
    for key, make in _OTHERS.items():
        if key in traffic.counts:
            return f"its packets are of another make than Ouster: {make}, {key[1]} bytes to port {key[0]}"
    if not traffic.counts:
        return "the capture holds no UDP packet, and no metadata file has its name"
    kinds = ", ".join(
        f"{n} of {size} bytes to port {port}" for (port, size), n in traffic.counts.most_common(4)
    )
    described = f"{len(files)} metadata files lie beside it" if files else "no metadata file lies beside it"
    return f"no metadata describes the capture's packets ({kinds}); {described}"
