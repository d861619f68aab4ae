"""ULIDs: ids that sort by the time they were made (https://github.com/ulid/spec)."""

from __future__ import annotations

import os
import time

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
ULID_LENGTH = 26


def new_ulid(time_ms: int | None = None) -> str:
    """A new ULID: 48 bits of Unix milliseconds, 80 random bits, in Crockford's base 32 (26 characters)."""
    milliseconds = time.time_ns() // 1_000_000 if time_ms is None else time_ms
    value = milliseconds << 80 | int.from_bytes(os.urandom(10), "big")
    return "".join(_ALPHABET[value >> shift & 31] for shift in range(125, -1, -5))


def ulid_after(last: str) -> str:
    """A new ULID, or, if that is not greater than `last` (a clock was set back), the next one after `last`."""
    if (id := new_ulid()) > last:
        return id
    value = 0
    for character in last:
        value = value << 5 | _ALPHABET.index(character)
    return "".join(_ALPHABET[value + 1 >> shift & 31] for shift in range(125, -1, -5))


def is_ulid(text: str) -> bool:
    """Whether `text` is a ULID in its canonical upper-case spelling."""
    return len(text) == ULID_LENGTH and text[0] <= "7" and all(c in _ALPHABET for c in text)
