"""Where the files behind a manifest lie: a key of the store, a referenced raw file, or still in staging."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, overload

from twinloop.core.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import SupportsIndex

    from twinloop.core.stream import VideoSegment
    from twinloop.store.objects import Objects


class Places:
    """Finds files by place, and fetches those that lie in an object store when they are wanted.

    A place is a key of the store, or the absolute path of a referenced raw file. `staging`: a folder laid
    out like the store that is looked into first. `at_hand`: local files of places that are in the store, too.
    `digests`: SHA-256 by key, checked when a file is fetched.
    """

    def __init__(
        self,
        objects: Objects,
        staging: Path | None = None,
        *,
        at_hand: Mapping[str, Path] | None = None,
        digests: Mapping[str, str] | None = None,
    ) -> None:
        self._objects = objects
        self._staging = staging
        self._at_hand = at_hand or {}
        self._digests = digests or {}
        self._keys: dict[Path, str] = {}
        self._held: set[str] = set()

    def where(self, place: str) -> Path:
        """The local file of a place, whether or not it is there: see `fetch`."""
        if self._staging and (staged := self._staging / place).is_file():
            return staged
        if place in self._at_hand:
            return self._at_hand[place]
        if place.startswith("/"):
            return Path(place)
        path = self._objects.place(place)
        self._keys[path] = place
        return path

    def fetch(self, path: Path | str) -> Path:
        """A file that `where` named, there to be read.

        Raises:
            StoreError: it is not there.
        """
        key = self._keys.get(Path(path))
        if key is not None and key not in self._held:
            self._objects.path(key, self._digests.get(key))
            self._held.add(key)
        if not is_there(path):
            raise _missing(key or str(path), key is None)
        return Path(path)

    def find(self, place: str) -> Path:
        """The local file of a place.

        Raises:
            StoreError: it is not there.
        """
        return self.fetch(self.where(place))

    def segments(self, segments: Iterable[VideoSegment]) -> tuple[VideoSegment, ...]:
        """Segments, of which each is fetched when it is taken out. Their files: as `where` says."""
        return _Segments(segments, self.fetch) if self._objects.shared else tuple(segments)

    def close(self) -> None:
        """What was fetched is not needed any more."""
        for key in self._held:
            self._objects.release(key)
        self._held.clear()


class _Segments(tuple["VideoSegment", ...]):
    """Video segments that lie in an object store: to take one out is to fetch its file."""

    _fetch: Callable[[str], Path]

    def __new__(cls, segments: Iterable[VideoSegment], fetch: Callable[[str], Path]) -> _Segments:
        made = super().__new__(cls, segments)
        made._fetch = fetch
        return made

    @overload
    def __getitem__(self, place: SupportsIndex) -> VideoSegment: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[VideoSegment, ...]: ...
    def __getitem__(self, place: SupportsIndex | slice) -> VideoSegment | tuple[VideoSegment, ...]:
        if isinstance(place, slice):
            return _Segments(super().__getitem__(place), self._fetch)
        segment = super().__getitem__(place)
        self._fetch(segment.file)
        return segment

    def __iter__(self) -> Iterator[VideoSegment]:
        return (self[place] for place in range(len(self)))

    def __reduce__(self) -> tuple[type, tuple[list[VideoSegment]]]:
        return tuple, (list(self),)


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
