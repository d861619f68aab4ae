"""Depth in LeRobot's video form: 12-bit codes on a logarithmic scale, losslessly as HEVC ``gray12le``.

The numbers are those of lerobot 0.6.1, ``datasets/depth_utils.py`` (`quantize_depth`), which follow
BEHAVIOR-1K: code = round(4095 (ln(d + s) - ln(min + s)) / (ln(max + s) - ln(min + s))).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import av
    from numpy.typing import NDArray

DEPTH_MIN_M = 0.01
DEPTH_MAX_M = 10.0
SHIFT_M = 3.5
LARGEST_CODE = 4095

#: Options of libx265 that keep every bit, in display order.
DEPTH_OPTIONS = {"g": "2", "x265-params": "lossless=1:bframes=0:log-level=none"}

#: What LeRobot keeps of the form in the feature's ``info``.
DEPTH_INFO: dict[str, object] = {
    "is_depth_map": True,
    "depth_unit": "mm",
    "video.depth_min": DEPTH_MIN_M,
    "video.depth_max": DEPTH_MAX_M,
    "video.shift": SHIFT_M,
    "video.use_log": True,
    "video.g": 2,
    "video.extra_options": {"x265-params": "lossless=1"},
    "video.video_backend": "pyav",
}


@cache
def _codes() -> NDArray[np.uint16]:
    """Code (65536,) of each depth in millimetres."""
    depth = np.arange(65536, dtype=np.float32)
    low = np.log(np.float32((DEPTH_MIN_M + SHIFT_M) * 1000))
    high = np.log(np.float32((DEPTH_MAX_M + SHIFT_M) * 1000))
    scaled = (np.log(depth + np.float32(SHIFT_M * 1000)) - low) / (high - low)
    return np.rint(scaled * LARGEST_CODE).clip(0, LARGEST_CODE).astype(np.uint16)


def to_codes(depth_mm: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """12-bit codes (H, W) of depths (H, W) in millimetres. What lies outside 0.01 to 10 m is clipped; zero,
    which means no measurement, becomes the smallest depth."""
    return _codes()[depth_mm]


def to_millimetres(codes: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Depths (H, W) in millimetres that LeRobot's reader makes of codes (H, W)."""
    low, high = np.log(DEPTH_MIN_M + SHIFT_M), np.log(DEPTH_MAX_M + SHIFT_M)
    metres = np.exp(codes * ((high - low) / LARGEST_CODE) + low) - SHIFT_M
    return np.rint(metres.clip(DEPTH_MIN_M, DEPTH_MAX_M) * 1000).astype(np.uint16)


def depth_picture(depth_mm: NDArray[np.uint16]) -> av.VideoFrame:
    """A ``gray12le`` picture of depths (H, W) uint16 in millimetres."""
    import av

    return av.VideoFrame.from_ndarray(to_codes(depth_mm), format="gray12le")
