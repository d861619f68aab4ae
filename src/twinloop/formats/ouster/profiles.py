"""How a pixel's bits lie in a packet, by the profile that the sensor's metadata names.

The table of fields is that of Ouster's firmware manual (lidar data packet formats) and of `parsing.cpp` of
ouster-lidar/ouster-sdk: first bit, bits, and by how many bits the value is shifted up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEGACY = "LEGACY"
_FUSA = "FUSA_RNG15_RFL8_NIR8_DUAL"


@dataclass(frozen=True, slots=True)
class Bits:
    """A value of `count` bits from bit `first` of a pixel on, times 2 to the `up`."""

    first: int
    count: int
    up: int = 0

    def of(self, pixels: NDArray[np.uint8]) -> NDArray[np.uint32]:
        """The values (...) of pixels (..., B) uint8, as uint32."""
        byte, shift = divmod(self.first, 8)
        size = (shift + self.count + 7) // 8
        if size in (1, 2) or (size > 2 and byte + 4 <= pixels.shape[-1]):
            width = 1 if size == 1 else 2 if size == 2 else 4
            word = _word(pixels, byte, width)
        else:  # three bytes at the end of a pixel: the word before them holds them too
            back = byte + 4 - pixels.shape[-1]
            word, shift = _word(pixels, byte - back, 4), shift + 8 * back
        value = word.astype(np.uint32)
        if shift:
            value >>= np.uint32(shift)
        if self.count < 32:
            value &= np.uint32((1 << self.count) - 1)
        return value << np.uint32(self.up) if self.up else value


def _word(pixels: NDArray[np.uint8], byte: int, width: int) -> NDArray[np.unsignedinteger]:
    """A little-endian word of each pixel, as a view."""
    return pixels[..., byte : byte + width].view(f"<u{width}")[..., 0]


_RANGE, _REFLECTIVITY, _SIGNAL, _NEAR_IR = "range", "reflectivity", "signal", "near_ir"
_WINDOW, _ZONES = "window", "zone_mask"
_LOW = {_RANGE: Bits(0, 15, 3), "flags": Bits(15, 1), _REFLECTIVITY: Bits(16, 8)}
_HIGH = {_RANGE: Bits(0, 19), "flags": Bits(19, 5)}
_DUAL = {
    **_HIGH,
    _REFLECTIVITY: Bits(24, 8),
    "range2": Bits(32, 19),
    "flags2": Bits(51, 5),
    "reflectivity2": Bits(56, 8),
    _SIGNAL: Bits(64, 16),
    "signal2": Bits(80, 16),
    _NEAR_IR: Bits(96, 16),
}
_LOW_DUAL = {
    **_LOW,
    _NEAR_IR: Bits(24, 8, 4),
    "range2": Bits(32, 15, 3),
    "flags2": Bits(47, 1),
    "reflectivity2": Bits(48, 8),
}
#: Bytes a pixel, and its fields. The window of the sensor and the words of raw bits are left out.
PROFILES: dict[str, tuple[int, dict[str, Bits]]] = {
    LEGACY: (
        12,
        {
            _RANGE: Bits(0, 20),
            "flags": Bits(28, 4),
            _REFLECTIVITY: Bits(32, 8),
            _SIGNAL: Bits(48, 16),
            _NEAR_IR: Bits(64, 16),
        },
    ),
    "RNG19_RFL8_SIG16_NIR16": (
        12,
        {**_HIGH, _REFLECTIVITY: Bits(32, 8), _SIGNAL: Bits(48, 16), _NEAR_IR: Bits(64, 16)},
    ),
    "RNG19_RFL8_SIG16_NIR16_DUAL": (16, _DUAL),
    "RNG15_RFL8_NIR8": (4, {**_LOW, _NEAR_IR: Bits(24, 8, 4)}),
    "RNG15_RFL8_WIN8": (4, {**_LOW, _WINDOW: Bits(24, 8)}),
    "FIVE_WORD_PIXEL": (20, _DUAL),
    _FUSA: (8, _LOW_DUAL),
    "RNG15_RFL8_NIR8_DUAL": (8, _LOW_DUAL),
    "RNG15_RFL8_NIR8_ZONE16": (8, {**_LOW, _NEAR_IR: Bits(24, 8, 4), _ZONES: Bits(32, 16)}),
    "RNG19_RFL8_SIG16_NIR16_ZONE16": (
        12,
        {
            **_HIGH,
            _REFLECTIVITY: Bits(32, 8),
            _SIGNAL: Bits(48, 16),
            _NEAR_IR: Bits(64, 16),
            _ZONES: Bits(80, 16),
        },
    ),
    "RNG19_RFL8_SIG16_ZONE16_DUAL": (
        16,
        {**{k: v for k, v in _DUAL.items() if k != _NEAR_IR}, _ZONES: Bits(96, 16)},
    ),
    "RNG19_RFL8_SIG16_NIR16_RGB16": (
        16,
        {**_HIGH, _REFLECTIVITY: Bits(24, 8), _SIGNAL: Bits(32, 16), _NEAR_IR: Bits(48, 16)},
    ),
}


@dataclass(frozen=True, slots=True)
class PacketLayout:
    """Sizes and places in a lidar packet, and its pixels' fields.

    A packet is a header, `columns` columns and a footer; a column is a header, `pixels` pixels of `pixel_size`
    bytes and, in the legacy profile, a status word.
    """

    profile: str
    columns: int
    pixels: int
    pixel_size: int
    fields: dict[str, Bits]
    fusa: bool

    @property
    def legacy(self) -> bool:
        return self.profile == LEGACY

    @property
    def header(self) -> int:
        return 0 if self.legacy else 32

    @property
    def footer(self) -> int:
        return 0 if self.legacy else 32

    @property
    def column_header(self) -> int:
        return 16 if self.legacy else 12

    @property
    def column(self) -> int:
        """Bytes of a column."""
        return self.column_header + self.pixels * self.pixel_size + (4 if self.legacy else 0)

    @property
    def size(self) -> int:
        """Bytes of a packet."""
        return self.header + self.columns * self.column + self.footer

    @property
    def frame_bits(self) -> int:
        """Bits of the number of a frame, after which it begins anew."""
        return 32 if self.fusa else 16

    @property
    def has_crc(self) -> bool:
        """Whether packets end in a checksum (zero where older firmware left it out)."""
        return not self.legacy and not self.fusa

    @property
    def returns(self) -> int:
        """Returns a pixel: 1 or 2."""
        return 2 if "range2" in self.fields else 1


def packet_layout(profile: str, columns: int, pixels: int, header_type: str) -> PacketLayout | None:
    """The layout of a profile's packets; None: the profile is not known."""
    found = PROFILES.get(profile)
    if found is None:
        return None
    fusa = profile == _FUSA or (header_type == "FUSA" and profile != LEGACY)
    return PacketLayout(profile, columns, pixels, found[0], found[1], fusa)
