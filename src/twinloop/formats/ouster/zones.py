"""Zone packets: how the sensor sees the zones that it watches. Facts: the parser of ouster-lidar/ouster-sdk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.formats.ros.gather import gather

if TYPE_CHECKING:
    from twinloop.formats.ouster.datagrams import Datagrams

_ZONE = np.dtype(
    [
        ("live", "u1"),
        ("zone", "u1"),
        ("error_flags", "u1"),
        ("trigger", "u1"),
        ("triggered_frames", "<u4"),
        ("count", "<u4"),
        ("occlusion_count", "<u4"),
        ("invalid_count", "<u4"),
        ("max_count", "<u4"),
        ("min_range", "<u4"),
        ("max_range", "<u4"),
        ("mean_range", "<u4"),
    ]
)
_COUNT, _HEADER, _HASH = 16, 32, 32
#: Bytes of a zone packet.
ZONE_SIZE = _HEADER + 8 + _HASH + _ZONE.itemsize * _COUNT + 32
_RANGE = np.uint32((1 << 19) - 1)


def zone_columns(datagrams: Datagrams) -> dict[str, pa.Array]:
    """One row for each live zone of each packet; ranges in metres."""
    size = 8 + _HASH + _ZONE.itemsize * _COUNT
    packets = gather(datagrams.buffer, datagrams.start + _HEADER, size)
    stamps = np.repeat(np.ascontiguousarray(packets[:, :8]).view("<u8")[:, 0].astype(np.int64), _COUNT)
    zones = np.ascontiguousarray(packets[:, 8 + _HASH :]).view(_ZONE).reshape(-1)
    live = (zones["live"] & 1).astype(np.bool_)
    zones = zones[live]
    made = {
        "stamp_ns": pa.array(stamps[live]),
        "log_ns": pa.array(np.repeat(datagrams.time_ns, _COUNT)[live]),
        "zone": pa.array(zones["zone"]),
        "error_flags": pa.array(zones["error_flags"]),
        "trigger_type": pa.array(zones["trigger"] >> 2 & 3),
        "triggered": pa.array((zones["trigger"] >> 7).astype(np.bool_)),
    }
    for name in ("triggered_frames", "count", "occlusion_count", "invalid_count", "max_count"):
        made[name] = pa.array(zones[name])
    for name in ("min_range", "max_range", "mean_range"):
        made[f"{name}_m"] = pa.array((zones[name] & _RANGE) / 1000)
    return made
