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
from dataclasses import dataclass, field
from pathlib import Path

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
        self._settle_s = settle_s
        self._grace_s = grace_s
        self._clock = clock
        self._since: dict[str, tuple[str, float]] = {}
        self._recordings: set[Path] = set()

    def look(self, done: Done) -> Look:
        """What is there and not done yet, oldest first.

        Raises:
            OSError: the folder itself cannot be listed.
        """
        seen: set[str] = set()
        found: dict[str, list[Arrival]] = {"ready": [], "settling": [], "unfinished": []}
        at_rest: list[tuple[Arrival, float]] = []
        for top in sorted(self.root.iterdir()):
            if _is_hidden(top) or is_companion(top) or (top / _STORE_MARKER).exists():
                continue
            tree = _Tree.of(top)
            tree_name = _name_of(top, self.root) + "//"
            tree_rest_s = self._at_rest_s(tree_name, tree.state(top))
            seen.add(tree_name)
            for path in self._arrivals(top, tree):
                arrival = tree.arrival(path, self.root)
                seen.add(arrival.name)
                rest_s = self._at_rest_s(arrival.name, arrival.state)
                if done(arrival.name, arrival.state):
                    continue
                if path != top and rest_s >= self._settle_s and _is_plain(path):
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
            return "unfinished", _waiting(arrival, "a process has it open for writing")
        if why := unfinished(arrival.path):
            return "ready" if rest_s >= self._grace_s else "unfinished", _waiting(arrival, why)
        return "ready", arrival

    def _at_rest_s(self, name: str, state: str) -> float:
        now = self._clock()
        known = self._since.get(name)
        if known is None or known[0] != state:
            known = self._since[name] = (state, now)
        return now - known[1]

    def _arrivals(self, path: Path, tree: _Tree) -> Iterator[Path]:
        """The arrivals at and below a path."""
        if path not in tree.folders:
            if not is_companion(path) and not _is_hidden(path) and path in tree.files:
                yield path
            return
        if path in self._recordings or _is_known(path):
            self._recordings.add(path)
            yield path
            return
        for inner in sorted(tree.folders[path]):
            if not _is_hidden(inner):
                yield from self._arrivals(inner, tree)


@dataclass(slots=True)
class _Tree:
    """All files below one entry of the folder, hidden ones too: folder -> entries, file -> its state."""

    folders: dict[Path, list[Path]] = field(default_factory=dict)
    files: dict[Path, tuple[int, int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, top: Path) -> _Tree:
        tree = cls()
        if not top.is_dir():
            tree._add(top)
        for folder, folders, files in os.walk(top):
            here = Path(folder)
            tree.folders[here] = [here / name for name in (*folders, *files)]
            for name in files:
                tree._add(here / name)
        return tree

    def _add(self, file: Path) -> None:
        try:
            stat = file.stat()
        except OSError:  # it went away, or points nowhere
            return
        self.files[file] = (stat.st_size, stat.st_mtime_ns, stat.st_ino)

    def _below(self, path: Path) -> Iterator[Path]:
        """The files at and below a path."""
        if path in self.files:
            yield path
        for inner in self.folders.get(path, ()):
            yield from self._below(inner)

    def state(self, path: Path) -> str:
        """A text that changes when anything of the path does."""
        if path in self.files:
            return "-".join(map(str, self.files[path]))
        lines = "".join(f"{file}\0{self.files[file]}\n" for file in sorted(self._below(path)))
        return hashlib.sha256(os.fsencode(lines)).hexdigest()[:32]

    def arrival(self, path: Path, root: Path) -> Arrival:
        stats = [self.files[file] for file in self._below(path)]
        return Arrival(
            _name_of(path, root),
            path,
            self.state(path),
            sum(size for size, _, _ in stats),
            max((modified_ns for _, modified_ns, _ in stats), default=0),
        )


def is_companion(path: Path) -> bool:
    """Whether a file says something of the recordings beside it, and is none itself."""
    from twinloop.formats.table.sidecar import FOLDER_FILE, OWN_SUFFIX

    return path.name in (SESSION_FILE, MAPPING_FILE, FOLDER_FILE) or path.name.endswith(OWN_SUFFIX)


def _waiting(arrival: Arrival, why: str) -> Arrival:
    return Arrival(arrival.name, arrival.path, arrival.state, arrival.size, arrival.modified_ns, why)


def _name_of(path: Path, root: Path) -> str:
    return os.fsencode(path.relative_to(root)).decode(errors="backslashreplace")


def _is_hidden(path: Path) -> bool:
    return path.name.startswith(".")


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
