"""What Project Aria's streams are called and what their fields mean.

Names are those of projectaria_tools' device models; meanings are its data layouts': `capture_timestamp_ns` is
on the device's clock (of pictures: the middle of the exposure), `arrival_timestamp_ns` on the host's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from twinloop.formats.vrs.container import StreamId, Tags

_BOTH = {
    "214-1": "camera-rgb",
    "1203-1": "mag0",
    "247-1": "baro0",
    "231-1": "mic",
    "281-1": "gps",
    "281-2": "gps-app",
    "282-1": "wps",
    "283-1": "bluetooth",
    "246-1": "temperature",
    "248-1": "ppg",
    "500-1": "als",
    "373-1": "eyegaze",
}
GEN1 = _BOTH | {
    "1201-1": "camera-slam-left",
    "1201-2": "camera-slam-right",
    "1202-1": "imu-right",
    "1202-2": "imu-left",
    "211-1": "camera-et",
}
_GEN2 = _BOTH | {
    "1201-1": "slam-front-left",
    "1201-2": "slam-front-right",
    "1201-3": "slam-side-left",
    "1201-4": "slam-side-right",
    "1202-1": "imu-left",
    "1202-2": "imu-right",
    "211-1": "camera-et-left",
    "211-2": "camera-et-right",
}
_FLAVORS = {
    "device/oatmeal/hand": "handtracking",
    "device/oatmeal/vio": "vio",
    "device/oatmeal/vio_high_frequency": "vio_high_frequency",
}
#: Fields that say when a record was captured, on the device's clock; the first that is there counts.
CAPTURED = (
    "capture_timestamp_ns",
    "capture_timestamps_ns",
    "monotonic_timestamp_ns",
    "board_timestamp_ns",
    "tracker_timestamp_ns",
)
#: The field that says when it reached the host; -1 where that is not known.
ARRIVED = "arrival_timestamp_ns"
#: Fields that are NaN where there is no measurement, as the layouts state.
NAN_IS_ABSENT = frozenset({"temperature_deg_c"})
#: Units that the layouts state.
UNITS = {
    "temperature_deg_c": "Cel",
    "temperature_celsius": "Cel",
    "temperature": "Cel",
    "exposure_duration_s": "s",
    "rssi": "dBm",
    "freq_mhz": "MHz",
    "accuracy": "m",
    "vertical_accuracy": "m",
    "speed": "m/s",
}


def generation(file_tags: Mapping[str, str]) -> int:
    """1 or 2 for Aria's two devices, by the tag `device_type`; 0 for any other."""
    device = file_tags.get("device_type", "").lower()
    return 1 if device.startswith("aria") else 2 if device == "oatmeal" else 0


def stream_name(stream: StreamId, tags: Tags, device: int) -> str:
    """The device model's name of a stream; else the writer's, with the instance."""
    flavor = tags.vrs.get("VRS_Recordable_Flavor", "")
    if device and flavor in _FLAVORS:
        return _FLAVORS[flavor]
    known = {1: GEN1, 2: _GEN2}.get(device, {})
    if str(stream) in known:
        return known[str(stream)]
    original = re.sub(r"( Class| #\d+)+$", "", tags.vrs.get("VRS_Original_Recordable_Name", ""))
    words = re.sub(r"[^a-z0-9]+", "-", original.lower()).strip("-")
    return f"{words or stream.type}-{stream.instance}"
