"""`tf.train.Example` on the wire (tensorflow/core/example/*.proto), and TFRecord's framing.

Example { Features features = 1 }       Features { map<string, Feature> feature = 1 }
Feature { BytesList = 1, FloatList = 2, Int64List = 3 }, each with the repeated field value = 1

Messages are lists of pieces, so that the images of an episode are not copied from one into the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

_BYTES, _FLOAT, _INT = 1, 2, 3


Pieces = list[bytes]


def example(features: Mapping[str, Pieces]) -> Pieces:
    """An Example of features by key, each as `bytes_list`, `float_list` or `int_list` made it; by key in
    order, so that the same features give the same bytes."""
    entries: Pieces = []
    for key in sorted(features):
        entries += _field(1, _field(1, [key.encode()]) + _field(2, features[key]))
    return _field(1, entries)


def bytes_list(values: Iterable[bytes]) -> Pieces:
    """A Feature of byte strings."""
    return _field(_BYTES, [piece for value in values for piece in _field(1, [value])])


def float_list(values: NDArray[np.floating]) -> Pieces:
    """A Feature of 32-bit floats, packed."""
    return _field(_FLOAT, _field(1, [np.ascontiguousarray(values, "<f4").tobytes()]))


def int_list(values: NDArray[np.integer] | NDArray[np.bool_]) -> Pieces:
    """A Feature of 64-bit integers, packed."""
    return _field(_INT, _field(1, [varints(np.asarray(values, np.int64).reshape(-1))]))


def varints(values: NDArray[np.int64]) -> bytes:
    """Integers (N,) as varints, seven bits a byte, negative ones as ten bytes."""
    left = values.view(np.uint64)
    octets = np.zeros((len(left), 10), np.uint8)
    used = np.ones(len(left), np.int64)
    for place in range(10):
        octets[:, place] = (left & np.uint64(0x7F)).astype(np.uint8)
        left = left >> np.uint64(7)
        more = left > 0
        octets[:, place] |= (more * 0x80).astype(np.uint8)
        used += more
        if not more.any():
            break
    return octets[np.arange(10) < used[:, None]].tobytes()


def record(data: Pieces) -> Pieces:
    """`data` as TFRecord frames it: its length and itself, each with a masked CRC-32C."""
    length = _size(data).to_bytes(8, "little")
    return [length, _masked_crc([length]), *data, _masked_crc(data)]


def _masked_crc(data: Pieces) -> bytes:
    """CRC-32C, rotated right by 15 bits, plus a constant (tensorflow/core/lib/hash/crc32c.h)."""
    import google_crc32c

    crc: int = 0
    for piece in data:
        crc = google_crc32c.extend(crc, piece)
    return (((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF).to_bytes(4, "little")


def _field(number: int, data: Pieces) -> Pieces:
    """A length-delimited field."""
    return [bytes([number << 3 | 2]) + _varint(_size(data)), *data]


def _size(data: Pieces) -> int:
    return sum(map(len, data))


def _varint(value: int) -> bytes:
    octets = bytearray()
    while value > 0x7F:
        octets.append(value & 0x7F | 0x80)
        value >>= 7
    octets.append(value)
    return bytes(octets)
