"""H.264's set-up bytes in MP4 (AVCDecoderConfigurationRecord, ISO/IEC 14496-15, 5.3.3.1).

A track may hold several parameter sets, told apart by their ids. That lets a newly encoded group of pictures
stand before copied ones in one track.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Id of the parameter sets of what is encoded here: the highest that H.264 allows, sources count from 0.
OWN_ID = 31


@dataclass(frozen=True, slots=True)
class ParameterSets:
    """The record, taken apart. `head` is its first five bytes, `tail` what follows the sets in high
    profiles."""

    head: bytes
    sps: tuple[bytes, ...]
    pps: tuple[bytes, ...]
    tail: bytes = b""

    @classmethod
    def parse(cls, extradata: bytes) -> ParameterSets | None:
        """The record in `extradata`; None where it holds none (start codes, or nothing)."""
        if len(extradata) < 7 or extradata[0] != 1:
            return None
        sps, at = _units(extradata, 5, extradata[5] & 0x1F)
        if at >= len(extradata):
            return None
        pps, at = _units(extradata, at, extradata[at])
        return cls(extradata[:5], sps, pps, extradata[at:])

    def ids(self) -> set[int]:
        """The ids of all its sets, of both kinds."""
        return {_golomb(unit[4:]) for unit in self.sps} | {_golomb(unit[1:]) for unit in self.pps}

    @property
    def leaves_room(self) -> bool:
        """Whether sets of ours, with `OWN_ID` and lengths of four bytes, fit in beside these."""
        return OWN_ID not in self.ids() and self.head[4] & 3 == 3

    def joined(self, other: ParameterSets) -> bytes | None:
        """One record with the sets of both; None where an id is taken, or the forms do not fit together."""
        framed_alike = self.head[4] & 3 == other.head[4] & 3
        sampled_alike = not (self.tail and other.tail) or self.tail[:3] == other.tail[:3]
        if self.ids() & other.ids() or not (framed_alike and sampled_alike):
            return None
        profile, compatibility = max((self.head[1], self.head[2]), (other.head[1], other.head[2]))
        level = max(self.head[3], other.head[3])
        sps, pps = self.sps + other.sps, self.pps + other.pps
        return b"".join(
            [
                bytes([1, profile, compatibility, level, self.head[4], 0xE0 | len(sps)]),
                *(len(unit).to_bytes(2, "big") + unit for unit in sps),
                bytes([len(pps)]),
                *(len(unit).to_bytes(2, "big") + unit for unit in pps),
                self.tail or other.tail,
            ]
        )


def _units(record: bytes, at: int, count: int) -> tuple[tuple[bytes, ...], int]:
    units = []
    at += 1
    for _ in range(count):
        length = int.from_bytes(record[at : at + 2], "big")
        units.append(record[at + 2 : at + 2 + length])
        at += 2 + length
    return tuple(units), at


def _golomb(data: bytes) -> int:
    """The number that an Exp-Golomb code at the start of `data` stands for."""
    bits = f"{int.from_bytes(data[:8].ljust(8, bytes(1)), 'big'):064b}"
    zeros = bits.index("1") if "1" in bits else 0
    return int(bits[zeros : 2 * zeros + 1], 2) - 1
