"""The metadata of a sensor: a JSON object as the sensor or Ouster's tools write it, flat or in sections."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.formats.ouster.profiles import LEGACY, PacketLayout, packet_layout

if TYPE_CHECKING:
    from pathlib import Path

#: A metadata file is not larger than this; a frame has no more rows and columns than these.
_MOST_BYTES, _MOST_PIXELS, _MOST_COLUMNS = 4 << 20, 1024, 8192
_MODE = re.compile(r"(\d+)x(\d+)")
_IDENTITY = (1.0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1)


@dataclass(frozen=True, slots=True)
class Sensor:
    """What a capture's packets of one sensor mean.

    Attributes:
        file: where it was read from. name: of the sensor: product line and serial number.
        lidar: layout of its lidar packets (None: they are switched off, or of a profile that is not known).
        columns: measurements a turn. window: first and last column that is sent (it may run over the end).
        altitude, azimuth: (H,) deg of the beams. beam_to_lidar: (16,) row-major, mm.
        lidar_to_sensor, imu_to_sensor: (16,) row-major, mm.
        ports: of lidar, imu, zones; None: not stated. imu_count: measurements an IMU packet; 0: legacy packets.
    """

    file: Path
    product: str
    serial: str
    init_id: int | None
    profile: str
    lidar: PacketLayout | None
    columns: int
    rate_hz: float | None
    window: tuple[int, int]
    altitude: tuple[float, ...]
    azimuth: tuple[float, ...]
    beam_to_lidar: tuple[float, ...] | None
    lidar_to_sensor: tuple[float, ...] | None
    imu_to_sensor: tuple[float, ...] | None
    ports: tuple[int | None, int | None, int | None]
    imu_profile: str
    imu_count: int
    timestamp_mode: str
    flat: dict[str, str]

    @property
    def name(self) -> str:
        return f"{self.product or 'OS'}-{self.serial}" if self.serial else self.product or self.file.stem

    @property
    def imu_size(self) -> int:
        """Bytes of an IMU packet; 0: none is sent."""
        if self.imu_profile == "OFF":
            return 0
        return 32 + 100 + 36 * self.imu_count + 32 if self.imu_count else 48


def read_metadata(path: Path) -> Sensor | None:
    """The sensor that a JSON file describes; None: it is no such file."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            return None
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    try:
        return _sensor(path, document)
    except (ValueError, TypeError, KeyError, OverflowError):
        return None


def _sensor(path: Path, document: dict) -> Sensor | None:
    beams = document.get("beam_intrinsics", document)
    altitude, azimuth = _numbers(beams.get("beam_altitude_angles")), _numbers(beams.get("beam_azimuth_angles"))
    if not altitude or len(altitude) != len(azimuth) or len(altitude) > _MOST_PIXELS:
        return None
    config = document.get("config_params", document)
    shape = document.get("lidar_data_format") or document.get("data_format") or {}
    about = document.get("sensor_info", document)
    mode = _MODE.match(str(config.get("lidar_mode", "")))
    columns = int(shape.get("columns_per_frame") or (mode[1] if mode else 0))
    packed = int(shape.get("columns_per_packet") or config.get("columns_per_packet") or 16)
    pixels = int(shape.get("pixels_per_column") or len(altitude))
    if not 0 < columns <= _MOST_COLUMNS or not 0 < packed <= columns or pixels != len(altitude):
        return None
    profile = str(shape.get("udp_profile_lidar") or config.get("udp_profile_lidar") or LEGACY)
    imu_profile = str(shape.get("udp_profile_imu") or config.get("udp_profile_imu") or LEGACY)
    header = str(shape.get("header_type") or config.get("header_type") or "STANDARD")
    window = _numbers(shape.get("column_window")) or (0.0, columns - 1.0)
    imu_count = (
        int(shape.get("imu_measurements_per_packet") or 8) if imu_profile == "ACCEL32_GYRO32_NMEA" else 0
    )
    init = about.get("initialization_id")
    return Sensor(
        file=path,
        product=str(about.get("prod_line") or ""),
        serial=str(about.get("prod_sn") or ""),
        init_id=int(init) if init is not None else None,
        profile=profile,
        lidar=packet_layout(profile, packed, pixels, header),
        columns=columns,
        rate_hz=float(mode[2]) if mode else None,
        window=(int(window[0]) % columns, int(window[1]) % columns),
        altitude=altitude,
        azimuth=azimuth,
        beam_to_lidar=_beam_to_lidar(beams),
        lidar_to_sensor=_transform(document.get("lidar_intrinsics", document).get("lidar_to_sensor_transform")),
        imu_to_sensor=_transform(document.get("imu_intrinsics", document).get("imu_to_sensor_transform")),
        ports=(_port(config, "lidar"), _port(config, "imu"), _port(config, "zm")),
        imu_profile=imu_profile,
        imu_count=min(max(imu_count, 0), 1024),
        timestamp_mode=str(config.get("timestamp_mode") or ""),
        flat=_flat(document),
    )


def _beam_to_lidar(beams: Mapping[str, object]) -> tuple[float, ...] | None:
    """Beam origins in the lidar's frame; older metadata state their distance from the axis alone."""
    stated = _transform(beams.get("beam_to_lidar_transform"))
    if stated is not None:
        return stated
    away = beams.get("lidar_origin_to_beam_origin_mm")
    if not isinstance(away, int | float) or not math.isfinite(away):
        return None
    return (*_IDENTITY[:3], float(away), *_IDENTITY[4:])


def _transform(value: object) -> tuple[float, ...] | None:
    numbers = _numbers(value)
    return numbers if len(numbers) == 16 else None


def _numbers(value: object) -> tuple[float, ...]:
    if not isinstance(value, list) or len(value) > _MOST_PIXELS:
        return ()
    numbers = tuple(float(one) for one in value)
    return numbers if all(map(math.isfinite, numbers)) else ()


def _port(config: Mapping[str, object], name: str) -> int | None:
    value = config.get(f"udp_port_{name}")
    return value if isinstance(value, int) and 0 < value < 65_536 else None


def _flat(document: Mapping[str, object], prefix: str = "") -> dict[str, str]:
    """Every plain value under its joined name; lists are left to the calibration."""
    found: dict[str, str] = {}
    for key, value in document.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{prefix}{key}/")
        elif not isinstance(value, list) and value not in ("", None):
            found[f"{prefix}{key}"] = str(value)
    return found
