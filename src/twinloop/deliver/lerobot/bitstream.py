"""The two ways to frame H.264 and HEVC units (ISO/IEC 14496-10 annex B; ISO/IEC 14496-15)."""

from __future__ import annotations

import re

_START_CODE = re.compile(rb"\x00\x00\x01")


def has_start_codes(extradata: bytes) -> bool:
    """Whether the codec's set-up bytes, and so its packets, are framed by start codes (annex B)."""
    return extradata[:3] == b"\0\0\1" or extradata[:4] == b"\0\0\0\1"


def nal_bytes(packet: bytes, start_codes: bool) -> bytes:
    """The units of a packet without what frames them, each ended by a zero byte less its own trailing
    zeros."""
    units = _by_start_codes(packet) if start_codes else _by_lengths(packet)
    return b"\0".join(unit.rstrip(b"\0") for unit in units)


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
