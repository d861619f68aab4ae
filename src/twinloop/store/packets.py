"""Video packets as bytes: where keyframes are, parameter sets, and Annex B or length-prefixed framing.

Sources: ITU-T H.264 (7.3.1, Annex B), H.265 (7.3.1.2), AV1 specification 1.0.0 (5.3), RFC 6386 and the VP9
bitstream specification (6.2) for their frame headers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_START = b"\x00\x00\x01"
_H264_IDR, _H264_PARAMETERS = 5, frozenset({7, 8, 13, 15})
_H264_SLICES = frozenset({1, 2, 5})
_H265_KEY, _H265_PARAMETERS = range(16, 22), frozenset({32, 33, 34})
_AV1_SEQUENCE, _AV1_DELIMITER, _AV1_PADDING = 1, 2, 15

#: Names of encodings as streams have them -> FFmpeg's names of codecs between whose packets images depend.
VIDEO_CODECS = {
    "h264": "h264",
    "avc": "h264",
    "h265": "hevc",
    "hevc": "hevc",
    "av1": "av1",
    "vp9": "vp9",
    "vp8": "vp8",
}


@dataclass(frozen=True, slots=True)
class Access:
    """One image's packet, looked into.

    Attributes:
        data: as it is muxed: Annex B for h264 and hevc.
        keyframe: decoding can start here. parameters: parameter sets it carries (Annex B, or AV1's
            sequence header), empty if none. b_slices: it has bidirectional slices (h264 only).
    """

    data: bytes
    keyframe: bool
    parameters: bytes = b""
    b_slices: bool = False


def read_access(codec: str, data: bytes) -> Access:
    """Look into one packet of `codec` (FFmpeg's name)."""
    if codec == "h264":
        return _read_h264(data)
    if codec == "hevc":
        return _read_h265(data)
    if codec == "av1":
        return _read_av1(data)
    if codec == "vp8":
        return Access(data, bool(data) and not data[0] & 1)
    if codec == "vp9":
        return Access(data, _is_vp9_key(data))
    return Access(data, True)


def essence(codec: str, data: bytes) -> Iterator[bytes]:
    """What of a packet a remux must keep to the bit, whatever the framing."""
    if codec in ("h264", "hevc"):
        for unit in split_units(data):
            yield unit.rstrip(b"\x00")
    elif codec == "av1":
        yield from (unit for kind, unit in _split_av1(data) if kind not in (_AV1_DELIMITER, _AV1_PADDING))
    else:
        yield data


def split_units(data: bytes) -> list[bytes]:
    """NAL units of a packet: after start codes (Annex B), or behind 4-byte lengths (AVCC, HVCC).

    A length of 256 to 511 looks like a start code; only lengths add up to the packet's end.
    """
    if (units := _split_lengths(data)) is not None:
        return units
    units = []
    start = data.find(_START)
    while start >= 0:
        following = data.find(_START, start + 3)
        unit = data[start + 3 : following if following >= 0 else len(data)]
        if unit := unit.rstrip(b"\x00"):
            units.append(unit)
        start = following
    return units


def _is_annex_b(data: bytes) -> bool:
    return data.startswith((_START, b"\x00\x00\x00\x01"))


def _split_lengths(data: bytes) -> list[bytes] | None:
    units, position = [], 0
    while position < len(data):
        length = int.from_bytes(data[position : position + 4], "big")
        end = position + 4 + length
        if not length or end > len(data):
            return None
        units.append(data[position + 4 : end])
        position = end
    return units


def _as_annex_b(data: bytes, units: list[bytes]) -> bytes:
    return data if _is_annex_b(data) and _split_lengths(data) is None else _join(units)


def _join(units: list[bytes]) -> bytes:
    return b"".join(b"\x00\x00\x00\x01" + unit for unit in units)


def _read_h264(data: bytes) -> Access:
    units = split_units(data)
    kinds = [unit[0] & 31 for unit in units]
    return Access(
        _as_annex_b(data, units),
        _H264_IDR in kinds,
        _join([unit for unit, kind in zip(units, kinds, strict=True) if kind in _H264_PARAMETERS]),
        any(kind in _H264_SLICES and _is_b_slice(unit) for unit, kind in zip(units, kinds, strict=True)),
    )


def _is_b_slice(unit: bytes) -> bool:
    """Whether an h264 slice is bidirectional: slice_type is the second Exp-Golomb number of its header."""
    bits = "".join(f"{byte:08b}" for byte in unit[1:12])
    position = 0
    value = 0
    for _ in range(2):
        zeros = bits.find("1", position) - position
        if zeros < 0:
            return False
        end = position + 2 * zeros + 1
        if end > len(bits):
            return False
        value = int(bits[position + zeros : end], 2) - 1
        position = end
    return value % 5 == 1


def _read_h265(data: bytes) -> Access:
    units = split_units(data)
    kinds = [unit[0] >> 1 & 63 for unit in units]
    return Access(
        _as_annex_b(data, units),
        any(kind in _H265_KEY for kind in kinds),
        _join([unit for unit, kind in zip(units, kinds, strict=True) if kind in _H265_PARAMETERS]),
    )


def _read_av1(data: bytes) -> Access:
    headers = [unit for kind, unit in _split_av1(data) if kind == _AV1_SEQUENCE]
    return Access(data, bool(headers), headers[0] if headers else b"")


def _split_av1(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(type, bytes with header) of each OBU; one that breaks off ends the packet."""
    position = 0
    while position < len(data):
        header = data[position]
        size_at = position + 1 + (header >> 2 & 1)
        if header & 2:
            size, body = _leb128(data, size_at)
        else:
            size, body = len(data) - size_at, size_at
        if body + size > len(data):
            return
        yield header >> 3 & 15, data[position : body + size]
        position = body + size


def _leb128(data: bytes, position: int) -> tuple[int, int]:
    value = 0
    for step in range(8):
        if position >= len(data):
            break
        byte = data[position]
        position += 1
        value |= (byte & 127) << 7 * step
        if byte < 128:
            break
    return value, position


def _is_vp9_key(data: bytes) -> bool:
    if not data or data[0] >> 6 != 2:
        return False
    profile = (data[0] >> 5 & 1) | (data[0] >> 4 & 1) << 1
    bits = data[0] << 8 | (data[1] if len(data) > 1 else 0)
    position = 4 + (profile == 3)
    show_existing = bits >> (15 - position) & 1
    frame_type = bits >> (14 - position) & 1
    return not show_existing and not frame_type


def jpeg_size(data: bytes | memoryview) -> tuple[int, int, int]:
    """(width, height) from a JPEG's frame header, and where that ends; 0, 0, 0 if it has none (T.81, B.2.2)."""
    position, end = 2, len(data)
    while position + 9 <= end:
        if data[position] != 0xFF:
            break
        marker = data[position + 1]
        if marker == 0xFF:
            position += 1
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            width = data[position + 7] << 8 | data[position + 8]
            return width, data[position + 5] << 8 | data[position + 6], position + 9
        elif marker == 0x01 or 0xD0 <= marker <= 0xD8:
            position += 2
        else:
            position += 2 + (data[position + 2] << 8 | data[position + 3])
    return 0, 0, 0


def png_size(data: bytes | memoryview) -> tuple[int, int, int]:
    """(width, height) from a PNG's IHDR, and where that ends; 0, 0, 0 if it is too short."""
    if len(data) < 24:
        return 0, 0, 0
    return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big"), 24
