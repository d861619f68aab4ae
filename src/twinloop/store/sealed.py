"""Documents as indented JSON, closed by a checksum of the bytes before it: a flipped bit may parse, too."""

from __future__ import annotations

import re
import zlib
from typing import TypeVar

import msgspec

_T = TypeVar("_T")
_SEAL = re.compile(rb',\n "check": "([0-9a-f]{8})"\n}\n\Z')


def seal(document: object) -> bytes:
    """A dataclass of at least one field as JSON, its CRC-32 last."""
    body = msgspec.json.format(msgspec.json.encode(document), indent=1)[:-2]
    return body + b',\n "check": "%08x"\n}\n' % zlib.crc32(body)


def unseal(data: bytes, type: type[_T]) -> _T:
    """The document that `seal` wrote. One without a checksum, as early versions wrote them, is taken as it is.

    Raises:
        msgspec.MsgspecError: it does not parse, or its bytes changed.
    """
    if (found := _SEAL.search(data, max(0, len(data) - 40))) and int(found[1], 16) != zlib.crc32(
        data[: found.start()]
    ):
        raise msgspec.DecodeError("its checksum does not hold")
    return msgspec.json.decode(data, type=type)
