"""The two ways to frame H.264 and HEVC units (ITU-T H.264 and H.265, annex B; ISO/IEC 14496-15), and what
kinds of units a packet has."""

from __future__ import annotations

import re

_START_CODE = re.compile(rb"\x00\x00\x01")

#: Unit types from which decoding can begin. H.264: an IDR slice (table 7-1). HEVC: BLA, IDR and CRA pictures
#: (table 7-1); after a CRA without B-frames nothing refers back.
_ENTRY_TYPES = {"h264": frozenset({5}), "hevc": frozenset(range(16, 22))}


def has_start_codes(extradata: bytes) -> bool:
    """Whether the codec's set-up bytes, and so its packets, are framed by start codes (annex B)."""
    return extradata[:3] == b"\0\0\1" or extradata[:4] == b"\0\0\0\1"


def nal_bytes(packet: bytes, start_codes: bool) -> bytes:
    """The units of a packet without what frames them, each ended by a zero byte less its own trailing
    zeros."""
    return b"\0".join(unit.rstrip(b"\0") for unit in _units(packet, start_codes))


def is_entry(codec: str, packet: bytes, start_codes: bool) -> bool:
    """Whether decoding can begin at a packet that the container calls a keyframe.

    Of H.264 and HEVC that is not so for recovery points (gradual intra refresh): images after them are
    incomplete for a while. Other codecs' keyframes are taken at their word.
    """
    types = _ENTRY_TYPES.get(codec)
    if types is None:
        return True
    shift, mask = (0, 0x1F) if codec == "h264" else (1, 0x3F)
    return any(unit and unit[0] >> shift & mask in types for unit in _units(packet, start_codes))


def _units(packet: bytes, start_codes: bool) -> list[bytes]:
    return _by_start_codes(packet) if start_codes else _by_lengths(packet)


def _by_start_codes(packet: bytes) -> list[bytes]:
    starts = [match.end() for match in _START_CODE.finditer(packet)]
    ends = [start - 3 for start in starts[1:]] + [len(packet)]
    return [packet[start:end] for start, end in zip(starts, ends, strict=True)]


def _by_lengths(packet: bytes) -> list[bytes]:
    units, at = [], 0
    while at + 4 <= len(packet):
        length = int.from_bytes(packet[at : at + 4], "big")
        units.append(packet[at + 4 : at + 4 + length])
        at += 4 + length
    return units
