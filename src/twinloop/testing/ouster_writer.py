"""Captures of Ouster sensors made on purpose: packets of any profile, any link layer, fragments, damage."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from twinloop.formats.ouster.crc import crc64
from twinloop.formats.ouster.metadata import Sensor, read_metadata
from twinloop.formats.ouster.profiles import PacketLayout

SERIAL, INIT_ID = 122_247_000_785, 390_073
LIDAR_PORT, IMU_PORT = 7502, 7503
#: Sensor time and capture time of the first column.
START_NS, CAPTURE_NS = 5_000_000_000, 1_700_000_000_000_000_000


@dataclass(frozen=True, slots=True)
class Datagram:
    """One UDP datagram: when it is captured, where it goes and comes from."""

    time_ns: int
    port: int
    data: bytes
    source: int = 0xC0A80001


def write_metadata(
    path: Path, profile: str = "RNG19_RFL8_SIG16_NIR16", pixels: int = 16, columns: int = 64, **about: object
) -> Sensor:
    """Write a sensor's metadata; `about` replaces parts of it by name, e.g. ``sensor_info={...}``."""
    altitude = np.linspace(20, -20, pixels).round(3).tolist()
    azimuth = np.tile([4.2, 1.4, -1.4, -4.2], pixels // 4 + 1)[:pixels].tolist()
    document: dict[str, object] = {
        "sensor_info": {"prod_line": "OS-1-16", "prod_sn": str(SERIAL), "initialization_id": INIT_ID},
        "beam_intrinsics": {
            "beam_altitude_angles": altitude,
            "beam_azimuth_angles": azimuth,
            "lidar_origin_to_beam_origin_mm": 15.806,
            "beam_to_lidar_transform": [1, 0, 0, 15.806, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1],
        },
        "lidar_data_format": {
            "columns_per_frame": columns,
            "columns_per_packet": 16,
            "pixels_per_column": pixels,
            "column_window": [0, columns - 1],
            "udp_profile_lidar": profile,
            "udp_profile_imu": "LEGACY",
        },
        "lidar_intrinsics": {
            "lidar_to_sensor_transform": [-1, 0, 0, 0, 0, -1, 0, 0, 0, 0, 1, 38.195, 0, 0, 0, 1]
        },
        "imu_intrinsics": {
            "imu_to_sensor_transform": [1, 0, 0, 6.253, 0, 1, 0, -11.775, 0, 0, 1, 7.645, 0, 0, 0, 1]
        },
        "config_params": {
            "udp_port_lidar": LIDAR_PORT,
            "udp_port_imu": IMU_PORT,
            "lidar_mode": f"{columns}x10",
            "timestamp_mode": "TIME_FROM_INTERNAL_OSC",
        },
    }
    for name, value in about.items():
        known = document.get(name)
        document[name] = known | value if isinstance(known, dict) and isinstance(value, dict) else value
    path.write_text(json.dumps(document))
    sensor = read_metadata(path)
    assert sensor is not None
    return sensor


def ranges_mm(layout: PacketLayout, columns: int, frame: int) -> NDArray[np.uint32]:
    """Made-up ranges (W, H) mm, multiples of 8 as the low data rate keeps them; every seventh has no return."""
    column, ring = np.meshgrid(np.arange(columns), np.arange(layout.pixels), indexing="ij")
    values = 8 * (500 + 3 * column + 5 * ring + 7 * frame)
    return np.where((column + ring) % 7 == 0, 0, values).astype(np.uint32)


def lidar_packets(sensor: Sensor, frames: int, first_frame: int = 1000) -> NDArray[np.uint8]:
    """Packets (N, size) of some turns at 10 Hz, with checksums where the profile has them."""
    layout = sensor.lidar
    assert layout is not None
    per_frame = sensor.columns // layout.columns
    made = np.zeros((frames * per_frame, layout.size), np.uint8)
    columns = np.zeros((frames, sensor.columns, layout.column), np.uint8)
    column_ns = 100_000_000 // sensor.columns
    number = np.arange(sensor.columns)
    for k in range(frames):
        turn = columns[k]
        _put(turn, 0, (START_NS + k * 100_000_000 + number * column_ns).astype("<u8"))
        _put(turn, 8, number.astype("<u2"))
        frame = (first_frame + k) % (1 << layout.frame_bits)
        if layout.legacy:
            _put(turn, 10, np.full(sensor.columns, frame, "<u2"))
            _put(turn, layout.column - 4, np.full(sensor.columns, 0xFFFFFFFF, "<u4"))
        else:
            _put(turn, 10, np.ones(sensor.columns, "<u2"))
            _head(made[k * per_frame : (k + 1) * per_frame], layout, sensor, frame)
        _pixels(turn, layout, sensor.columns, k)
    made[:, layout.header : layout.header + layout.columns * layout.column] = columns.reshape(len(made), -1)
    if layout.has_crc:
        _put(made, layout.size - 8, crc64(made[:, :-8]).astype("<u8"))
    return made


def imu_packet(stamp_ns: int) -> bytes:
    """A packet of old firmware: 1 g up, 90 degrees a second about z."""
    return struct.pack("<QQQ6f", stamp_ns - 5, stamp_ns, stamp_ns + 10, 0, 0, 1, 0, 0, 90)


def recording(sensor: Sensor, frames: int, first_frame: int = 1000) -> Iterator[Datagram]:
    """Some turns of a sensor as it sends them: lidar packets, and an IMU packet with every fourth."""
    packets = lidar_packets(sensor, frames, first_frame)
    step = frames * 100_000_000 // len(packets)
    for k, packet in enumerate(packets):
        time = CAPTURE_NS + k * step
        yield Datagram(time, LIDAR_PORT, packet.tobytes())
        if k % 4 == 0 and sensor.imu_size == 48:
            yield Datagram(time + 1000, IMU_PORT, imu_packet(START_NS + k * step))


def write_pcap(
    path: Path,
    datagrams: Iterable[Datagram],
    *,
    link: int = 1,
    fragment: int = 0,
    vlan: bool = False,
    nanoseconds: bool = False,
    big_endian: bool = False,
) -> Path:
    """Write a pcap. `link`: 1 Ethernet, 113 Linux cooked, 101 raw; `fragment`: bytes of IP payload a packet."""
    order, magic = (">" if big_endian else "<"), 0xA1B23C4D if nanoseconds else 0xA1B2C3D4
    tick = 1 if nanoseconds else 1000
    with path.open("wb") as file:
        file.write(struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 262_144, link))
        for number, datagram in enumerate(datagrams):
            seconds, rest = divmod(datagram.time_ns, 1_000_000_000)
            for packet in _packets(datagram, number, link, fragment, vlan):
                head = (seconds, rest // tick, len(packet), len(packet))
                file.write(struct.pack(f"{order}IIII", *head) + packet)
    return path


def write_pcapng(path: Path, datagrams: Iterable[Datagram]) -> Path:
    """Write a pcapng with one Ethernet interface that counts nanoseconds."""
    with path.open("wb") as file:
        file.write(_block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)))
        file.write(_block(1, struct.pack("<HHI", 1, 0, 0) + struct.pack("<HHB3x", 9, 1, 9) + bytes(4)))
        for number, datagram in enumerate(datagrams):
            for packet in _packets(datagram, number, 1, 0, False):
                time = (datagram.time_ns >> 32, datagram.time_ns & 0xFFFFFFFF)
                padded = packet + bytes(-len(packet) % 4)
                file.write(_block(6, struct.pack("<IIIII", 0, *time, len(packet), len(packet)) + padded))
    return path


def _block(kind: int, body: bytes) -> bytes:
    size = 12 + len(body)
    return struct.pack("<II", kind, size) + body + struct.pack("<I", size)


def _packets(datagram: Datagram, number: int, link: int, fragment: int, vlan: bool) -> Iterator[bytes]:
    """The datagram in IPv4 packets, in fragments where it is longer than `fragment`."""
    udp = struct.pack(">HHHH", datagram.port, datagram.port, 8 + len(datagram.data), 0) + datagram.data
    size = (fragment or len(udp)) // 8 * 8 or 8
    step = size if fragment else max(len(udp), 1)
    before = {1: bytes(12) + (b"\x81\x00\x00\x05" if vlan else b"") + b"\x08\x00", 113: bytes(14) + b"\x08\x00"}
    for at in range(0, len(udp), step):
        part = udp[at : at + step]
        more = 0x2000 if at + step < len(udp) else 0
        head = (
            0x45,
            0,
            20 + len(part),
            number % 65_536,
            more | at // 8,
            64,
            17,
            0,
            datagram.source,
            0x7F000001,
        )
        yield before.get(link, b"") + struct.pack(">BBHHHBBHII", *head) + part


def _head(packets: NDArray[np.uint8], layout: PacketLayout, sensor: Sensor, frame: int) -> None:
    serial, init = int(sensor.serial), sensor.init_id or 0
    head = bytearray(32)
    if layout.fusa:
        head[0:1], head[1:4], head[4:8] = b"\1", init.to_bytes(3, "little"), frame.to_bytes(4, "little")
        head[11:16] = serial.to_bytes(5, "little")
    else:
        head[0:2], head[2:4] = b"\1\0", frame.to_bytes(2, "little")
        head[4:7], head[7:12] = init.to_bytes(3, "little"), serial.to_bytes(5, "little")
    packets[:, :32] = np.frombuffer(bytes(head), np.uint8)


def _pixels(turn: NDArray[np.uint8], layout: PacketLayout, columns: int, frame: int) -> None:
    ranges = ranges_mm(layout, columns, frame)
    some = ranges > 0
    values: Mapping[str, NDArray[np.uint32]] = {
        "range": ranges,
        "range2": np.where(some, ranges + 80, 0).astype(np.uint32),
        "reflectivity": (ranges // 8 % 200).astype(np.uint32),
        "signal": (ranges // 8 % 5000).astype(np.uint32),
        "near_ir": np.full_like(ranges, 160),
    }
    words = np.zeros((columns, layout.pixels, layout.pixel_size // 4), "<u4")
    for name, bits in layout.fields.items():
        if name in values:
            word, shift = divmod(bits.first, 32)
            words[:, :, word] |= (values[name] >> np.uint32(bits.up)) << np.uint32(shift)
    start = layout.column_header
    turn[:, start : start + layout.pixels * layout.pixel_size] = words.view(np.uint8).reshape(columns, -1)


def _put(rows: NDArray[np.uint8], at: int, values: NDArray[np.generic]) -> None:
    size = values.dtype.itemsize
    rows[:, at : at + size] = np.ascontiguousarray(values).view(np.uint8).reshape(-1, size)
