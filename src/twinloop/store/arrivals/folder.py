"""A folder that recordings arrive in: what has come to rest and is complete, and what is waited for.

What counts as one arrival: a file; or a folder that a reader knows as one recording. Other folders are looked
into. A file of a plain kind (a table, a video, anything unknown) that lies in a folder may be a part of
something whose index is still on its way, so it waits until all of the outermost folder is at rest.

Waiting is measured on the monotonic clock from when this process first saw a state. Names, sizes and
modification times only tell whether something still moves; what it is, its hash tells.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from twinloop.formats.table.sidecar import FOLDER_FILE, OWN_SUFFIX
from twinloop.store.arrivals.ending import UNDER_WAY, unfinished
from twinloop.store.arrivals.writers import open_for_writing
from twinloop.store.sources import MAPPING_FILE, SESSION_FILE

_STORE_MARKER = "store.toml"


@dataclass(frozen=True, slots=True)
class Arrival:
    """Something in the folder.

    Attributes:
        name: its path relative to the folder; bytes that are no UTF-8 as ``\\xNN``. path: where it is.
        state: changes whenever its files' sizes, modification times or inodes do.
        size: bytes of all its files. modified_ns: when the last of them was written to.
        waits: why it is not complete; None if it is, as far as can be told.
    """

    name: str
    path: Path
    state: str
    size: int
    modified_ns: int
    waits: str | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """What one look at the folder found.

    Attributes:
        ready: to be taken in; `waits` of one that never got finished says why it is damaged.
        settling: not yet at rest. unfinished: at rest, but not at its format's end.
    """

    ready: tuple[Arrival, ...]
    settling: tuple[Arrival, ...]
    unfinished: tuple[Arrival, ...]


#: Whether something of this name and state needs no more looking at.
Done = Callable[[str, str], bool]


class DropFolder:
    """A folder that is looked at again and again.

    Args:
        settle_s: how long nothing may have changed. grace_s: after how long at rest something that is not
            at its format's end is ready all the same.
    """

    def __init__(
        self,
        root: Path,
        settle_s: float,
        grace_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.root = root.absolute()
        self._root_length = len(str(self.root)) + 1
        self._settle_s = settle_s
        self._grace_s = grace_s
        self._clock = clock
        self._since: dict[str, tuple[str, float]] = {}
        self._folders: dict[str, tuple[str, bool]] = {}

    def look(self, done: Done) -> Look:
        """What is there and not done yet, oldest first.

        Raises:
            OSError: the folder itself cannot be listed.
        """
        seen: set[str] = set()
        found: dict[str, list[Arrival]] = {"ready": [], "settling": [], "unfinished": []}
        at_rest: list[tuple[Arrival, float]] = []
        for top in sorted(os.scandir(self.root), key=lambda entry: entry.name):
            if _is_passed_over(top.name) or (self.root / top.name / _STORE_MARKER).exists():
                continue
            tree = _Tree(top)
            tree_rest_s = self._at_rest_s(f"{top.name}//", tree.state(top.path), seen)
            for path in self._arrivals(top.path, top.name, tree):
                arrival_name, state = _name_of(path, self._root_length), tree.state(path)
                rest_s = self._at_rest_s(arrival_name, state, seen)
                if done(arrival_name, state):
                    continue
                arrival = tree.arrival(path, arrival_name, state)
                if path != top.path and rest_s >= self._settle_s and _is_plain(arrival.path):
                    rest_s = min(rest_s, tree_rest_s)
                if rest_s >= self._settle_s:
                    at_rest.append((arrival, rest_s))
                else:
                    found["settling"].append(arrival)
        self._since = {name: since for name, since in self._since.items() if name in seen}
        writing = open_for_writing(self.root) if at_rest else set()
        for arrival, rest_s in at_rest:
            where, judged = self._judge(arrival, rest_s, writing)
            found[where].append(judged)
        for arrivals in found.values():
            arrivals.sort(key=lambda arrival: arrival.modified_ns)
        return Look(**{name: tuple(arrivals) for name, arrivals in found.items()})

    def _judge(self, arrival: Arrival, rest_s: float, writing: set[Path]) -> tuple[str, Arrival]:
        real = Path(os.path.realpath(arrival.path))
        if any(file == real or real in file.parents for file in writing):
            return "unfinished", replace(arrival, waits="a process has it open for writing")
        if why := unfinished(arrival.path):
            return "ready" if rest_s >= self._grace_s else "unfinished", replace(arrival, waits=why)
        return "ready", arrival

    def _at_rest_s(self, name: str, state: str, seen: set[str]) -> float:
        seen.add(name)
        now = self._clock()
        known = self._since.get(name)
        if known is None or known[0] != state:
            known = self._since[name] = (state, now)
        return now - known[1]

    def _arrivals(self, path: str, name: str, tree: _Tree) -> Iterator[str]:
        """The arrivals at and below a path."""
        if _is_passed_over(name):
            return
        if path in tree.files or (path in tree.folders and self._is_recording(path, tree)):
            yield path
        else:
            for inner, inner_name in tree.folders.get(path, ()):
                yield from self._arrivals(inner, inner_name, tree)

    def _is_recording(self, folder: str, tree: _Tree) -> bool:
        """Whether a reader knows a folder; asked again only after something in it has changed."""
        state = tree.state(folder)
        known = self._folders.get(folder)
        if known is None or (known[0] != state and not known[1]):
            known = self._folders[folder] = (state, _is_known(Path(folder)))
        return known[1]


class _Tree:
    """All files at and below an entry of the folder, hidden ones too. Paths are texts: there are many.

    Attributes:
        folders: folder -> path and name of what is in it, sorted.
        files: file -> its size, modification time and inode.
    """

    def __init__(self, top: os.DirEntry[str]) -> None:
        self.folders: dict[str, list[tuple[str, str]]] = {}
        self.files: dict[str, tuple[int, int, int]] = {}
        self._add(top, follow=True)

    def _add(self, entry: os.DirEntry[str], *, follow: bool = False) -> None:
        """Add an entry and what is below it; links to folders are followed at the top only."""
        try:
            if entry.is_dir(follow_symlinks=follow):
                inside = sorted(os.scandir(entry.path), key=lambda inner: inner.name)
                self.folders[entry.path] = [(inner.path, inner.name) for inner in inside]
                for inner in inside:
                    self._add(inner)
            elif entry.is_file():
                stat = entry.stat()
                self.files[entry.path] = (stat.st_size, stat.st_mtime_ns, stat.st_ino)
        except OSError:  # it went away, points nowhere, or may not be entered
            return

    def _below(self, path: str) -> Iterator[str]:
        """The files at and below a path."""
        if path in self.files:
            yield path
        for inner, _ in self.folders.get(path, ()):
            yield from self._below(inner)

    def state(self, path: str) -> str:
        """A text that changes when anything of the path does."""
        if path in self.files:
            size, modified_ns, inode = self.files[path]
            return f"{size}-{modified_ns}-{inode}"
        lines = "".join(f"{file}\0{self.files[file]}\n" for file in self._below(path))
        return hashlib.sha256(os.fsencode(lines)).hexdigest()[:32]

    def arrival(self, path: str, name: str, state: str) -> Arrival:
        stats = [self.files[file] for file in self._below(path)]
        size = sum(size for size, _, _ in stats)
        modified_ns = max((modified_ns for _, modified_ns, _ in stats), default=0)
        return Arrival(name, Path(path), state, size, modified_ns)


def is_companion(name: str) -> bool:
    """Whether a file says something of the recordings beside it, and is none itself, by its name."""
    return name in (SESSION_FILE, MAPPING_FILE, FOLDER_FILE) or name.endswith(OWN_SUFFIX)


def _is_passed_over(name: str) -> bool:
    return name.startswith(".") or is_companion(name)


def _name_of(path: str, root_length: int) -> str:
    name = path[root_length:]
    return name if name.isascii() else os.fsencode(name).decode(errors="backslashreplace")


def _is_known(folder: Path) -> bool:
    from twinloop.formats.reader import find_reader

    try:
        find_reader(folder)
    except Exception:  # a reader that fails on it is told of when it is taken in
        return False
    return True


def _is_plain(path: Path) -> bool:
    """Whether a path is of a kind that larger recordings are made of, or of none that is known."""
    from twinloop.formats.reader import GENERAL, find_reader

    if path.suffix.lower() in UNDER_WAY:
        return True
    try:
        return find_reader(path).name in GENERAL
    except Exception:
        return True
