"""Where recordings arrive: a folder, a prefix of an object store, the store's own inbox."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Protocol

from twinloop.core.errors import StoreError, UsageError
from twinloop.store.arrivals.folder import Arrival, Done, DropFolder, Look
from twinloop.store.disk import reporting_system_errors
from twinloop.store.inbox.parcel import PARCELS, parcel_keys
from twinloop.store.locations import is_url, locate
from twinloop.store.sources import IngestOptions
from twinloop.store.staging import workspace
from twinloop.store.watch.jobs import Job
from twinloop.store.watch.log import source_id
from twinloop.store.watch.sole import sole_watch

if TYPE_CHECKING:
    from twinloop.store.objects import Objects
    from twinloop.store.store import Store

INBOX = "inbox"
#: Bytes fetched ahead of what is being taken in.
_AHEAD_BYTES = 20 << 30
_CHUNK = 1 << 20


class Source(Protocol):
    """A place where recordings arrive; `url` names it in the journal."""

    url: str

    def look(self, done: Done) -> Look:
        """What is there and not done yet."""

    def job(self, arrival: Arrival) -> Job:
        """How to take something in."""

    def settled(self, arrival: Arrival) -> None:
        """It is in the store, or in quarantine."""


def open_source(place: str, store: Store, settle_s: float, grace_s: float, stack: ExitStack) -> Source:
    """The source that a word means: ``inbox``, a URL, or a folder. `stack` holds what it needs meanwhile.

    Raises:
        UsageError: there is no such folder.
        StoreError: another process of this machine watches it.
    """
    if place == INBOX and not Path(place).is_dir():
        stack.enter_context(sole_watch(store.work, INBOX))
        return InboxSource(store)
    if is_url(place):
        location = locate(place)
        stack.enter_context(sole_watch(store.work, location.url))
        mirror = stack.enter_context(workspace(store.work, f"mirror-{source_id(location.url)}"))
        return BucketSource(location.url, location.objects, DropFolder(mirror, settle_s, grace_s))
    folder = Path(place).absolute()
    if not folder.is_dir():
        raise UsageError("there is no such folder", where=place, expected=f"a folder, a URL, or {INBOX}")
    stack.enter_context(sole_watch(store.work, str(folder)))
    return FolderSource(DropFolder(folder, settle_s, grace_s))


class FolderSource:
    """A folder. What was taken in stays there: it is its owner's."""

    def __init__(self, folder: DropFolder, options: IngestOptions = IngestOptions()) -> None:
        self.url = str(folder.root)
        self._folder = folder
        self._options = options

    def look(self, done: Done) -> Look:
        """What is there and not done yet."""
        return _look(self._folder, done)

    def job(self, arrival: Arrival) -> Job:
        """Take it in where it lies."""
        return Job(path=arrival.path, options=self._options)

    def settled(self, arrival: Arrival) -> None:
        """Nothing to do."""


class InboxSource:
    """The store's own inbox, which `push` fills. What is taken in leaves it."""

    def __init__(self, store: Store) -> None:
        self.url = INBOX
        self._objects = store.objects

    def look(self, done: Done) -> Look:  # noqa: ARG002  (what is done is gone)
        """All envelopes: one that lies there again is sent again."""
        ready = (
            Arrival(key.removeprefix(f"{PARCELS}/"), Path(key), str(size), size, 0)
            for key, size in parcel_keys(self._objects)
        )
        return Look(tuple(sorted(ready, key=lambda arrival: arrival.name)), (), ())

    def job(self, arrival: Arrival) -> Job:
        """Take the parcel in."""
        return Job(parcel=arrival.path.as_posix())

    def settled(self, arrival: Arrival) -> None:
        """Nothing to do."""


class BucketSource:
    """A prefix of an object store, mirrored piece by piece into a local folder while it is taken in.

    Objects appear whole, and are known by key and size: one that replaces another of the same size is not
    noticed. What was taken in stays in the bucket and goes from the mirror.
    """

    def __init__(self, url: str, objects: Objects, mirror: DropFolder) -> None:
        self.url = url
        self._objects = objects
        self._mirror = mirror
        self._sizes: dict[str, int] = {}
        self._inside: dict[str, list[str]] = {}

    def look(self, done: Done) -> Look:
        """Fetch some of what is not done yet; what of the mirror is there to be taken in."""
        self._sizes = {key: size for key, size in sorted(self._objects.listing("")) if _is_path(key)}
        self._inside = {}
        for key in self._sizes:
            for folder in _folders_of(key):
                self._inside.setdefault(folder, []).append(key)
        look = self._look_at_mirror(done)
        ahead = sum(self._sizes.get(key, 0) for key in self._mirrored())
        idle = not look.ready and not look.settling
        for key in self._missing(done):
            if ahead + self._sizes[key] > _AHEAD_BYTES and not idle:
                break
            self._fetch(key)
            ahead, idle = ahead + self._sizes[key], False
        return self._look_at_mirror(done)

    def _look_at_mirror(self, done: Done) -> Look:
        look = _look(self._mirror, lambda name, _: done(name, self._state(name)))

        def restated(arrivals: tuple[Arrival, ...]) -> tuple[Arrival, ...]:
            return tuple(replace(arrival, state=self._state(arrival.name)) for arrival in arrivals)

        return Look(restated(look.ready), restated(look.settling), restated(look.unfinished))

    def _state(self, name: str) -> str:
        """The state of a key, or of the folder of that name, as the bucket lists it."""
        if name in self._sizes:
            return str(self._sizes[name])
        lines = (f"{key} {self._sizes[key]}\n" for key in self._inside.get(name, ()))
        return hashlib.sha256("".join(lines).encode()).hexdigest()[:32]

    def _missing(self, done: Done) -> Iterator[str]:
        """Keys that are neither in the mirror nor a part of what is done."""
        settled: dict[str, bool] = {}
        for key in self._sizes:
            names = [key, *_folders_of(key)]
            for name in names:
                if name not in settled:
                    settled[name] = done(name, self._state(name))
            here = self._mirror.root / key
            whole = here.is_file() and here.stat().st_size == self._sizes[key]
            if not whole and not any(settled[name] for name in names):
                yield key

    def _mirrored(self) -> Iterator[str]:
        root = self._mirror.root
        return (path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())

    def _fetch(self, key: str) -> None:
        target = self._mirror.root / key
        with reporting_system_errors(self._mirror.root), self._objects.open(key) as reader:
            target.parent.mkdir(parents=True, exist_ok=True)
            arriving = target.with_name(f".{target.name}.arriving")
            with arriving.open("wb") as writer:
                shutil.copyfileobj(reader, writer, _CHUNK)
            arriving.replace(target)

    def job(self, arrival: Arrival) -> Job:
        """Take it in from the mirror."""
        return Job(path=arrival.path, passing=True)

    def settled(self, arrival: Arrival) -> None:
        """Let go of the mirror's copy."""
        if arrival.path.is_dir():
            shutil.rmtree(arrival.path, ignore_errors=True)
        else:
            arrival.path.unlink(missing_ok=True)


def _look(folder: DropFolder, done: Done) -> Look:
    """A look at a folder.

    Raises:
        StoreError: it is gone or may not be listed, for now.
    """
    try:
        return folder.look(done)
    except OSError as error:
        raise StoreError(f"the source cannot be listed: {error.strerror}", where=str(folder.root)) from error


def _folders_of(key: str) -> list[str]:
    return [str(folder) for folder in PurePosixPath(key).parents[:-1]]


def _is_path(key: str) -> bool:
    """Whether a key can be the path of a file below a folder."""
    parts = key.split("/")
    return not any(part in ("", ".", "..") for part in parts) and "\0" not in key
