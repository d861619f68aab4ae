"""Moving objects between stores, and aside within one; every byte is checked against its hash.

Copying puts a whole file under its name or nothing, so it may die anywhere and be run again.
"""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING

from twinloop.core.errors import StoreError
from twinloop.store.disk import reporting_system_errors

if TYPE_CHECKING:
    from pathlib import Path

    from twinloop.store.objects import Objects

_CHUNK = 1 << 20
_DAMAGED = "quarantine/damaged"


class Throttle:
    """Holds a transfer to `rate` bytes a second on average; None lets all through."""

    def __init__(self, rate: float | None = None) -> None:
        self._rate = rate
        self._due = time.monotonic()

    def passed(self, count: int) -> None:
        """Wait for as long as `count` bytes take. Time that nothing passed in is not saved up."""
        if self._rate:
            self._due = max(self._due, time.monotonic()) + count / self._rate
            time.sleep(max(0.0, self._due - time.monotonic()))


def copy_object(
    source: Objects,
    target: Objects,
    key: str,
    staging: Path,
    *,
    sha256: str | None = None,
    throttle: Throttle | None = None,
) -> int:
    """Copy one object and read it back; the bytes that were copied, 0 if `target` had it.

    `staging`: a folder of the target's workspace. `sha256`: of the content, if it is known.

    Raises:
        StoreError: the source is damaged, or the target has, or gives back, something else.
    """
    check_key(key)
    copy = staging / "copy"
    digest, size = _fetch(source, key, copy, throttle or Throttle())
    if sha256 not in (None, digest):
        copy.unlink()
        raise StoreError(
            f"the content of {key} is not what it was",
            where=source.url,
            expected=f"sha256 {sha256}",
            fix=f"twinloop store fsck --repair --store {source.url}",
        )
    created = target.put_file(key, copy)
    if target.digest(key) != digest:
        raise StoreError(
            f"{key} is there with another content" if not created else f"{key} did not arrive whole",
            where=target.url,
            expected=f"sha256 {digest}",
            fix=f"twinloop store fsck --repair --store {target.url}",
        )
    return size if created else 0


def move_aside(objects: Objects, key: str, staging: Path) -> str | None:
    """Move damaged bytes out of the way, to a name of their own below quarantine; None if there are none."""
    if not objects.exists(key):
        return None
    copy = staging / "aside"
    digest, _ = _fetch(objects, key, copy, Throttle())
    aside = f"{_DAMAGED}/{key}/{digest[:16]}"
    objects.put_file(aside, copy)
    objects.delete(key)
    return aside


def asides(objects: Objects, key: str = "") -> list[str]:
    """What was moved aside from `key`, or from anywhere."""
    return list(objects.walk(f"{_DAMAGED}/{key}" if key else _DAMAGED))


def check_key(key: str) -> None:
    """Raise StoreError for a key that would lead out of a store: another's manifest may name anything."""
    parts = key.split("/")
    if len(parts) < 2 or any(part in ("", ".", "..") for part in parts) or "\0" in key:
        raise StoreError(f"{key!r} is no key of a store")


def _fetch(objects: Objects, key: str, target: Path, throttle: Throttle) -> tuple[str, int]:
    """Copy an object into a local file; its SHA-256 and size."""
    digest = hashlib.sha256()
    size = 0
    with objects.open(key) as reader, reporting_system_errors(target.parent), target.open("wb") as writer:
        while chunk := reader.read(_CHUNK):
            digest.update(chunk)
            writer.write(chunk)
            size += len(chunk)
            throttle.passed(len(chunk))
    return digest.hexdigest(), size
