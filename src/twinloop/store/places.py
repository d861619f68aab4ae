"""Where the files behind a manifest lie: a key of the store, a referenced raw file, or still in staging."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from twinloop.core.errors import StoreError

if TYPE_CHECKING:
    from twinloop.store.objects import Objects


class Places:
    """Finds files by place. `staging`: a folder laid out like the store that is looked into first."""

    def __init__(self, objects: Objects, staging: Path | None = None) -> None:
        self._objects = objects
        self._staging = staging

    def find(self, place: str, *, check: bool = True) -> Path:
        """The local file of a place: a key of the store, or the absolute path of a referenced raw file.

        Raises:
            StoreError: it is not there (unless `check` is False).
        """
        if self._staging and (staged := self._staging / place).is_file():
            return staged
        referenced = place.startswith("/")
        path = Path(place) if referenced else self._objects.path(place)
        if check and not is_there(path):
            raise _missing(place, referenced)
        return path


def is_there(path: Path | str) -> bool:
    """Whether a file is where it is looked for; one in a folder that may not be entered counts as gone."""
    try:
        return Path(path).is_file()
    except PermissionError:
        return False


def _missing(place: str, referenced: bool) -> StoreError:
    if referenced:
        return StoreError(
            f"the referenced raw file {place} is gone",
            expected="the file where it was when it was taken in",
            fix="put it back, or take the recording in again with --raw copy",
        )
    return StoreError(f"the store lacks {place}", fix="run `twinloop store fsck`")
