"""The spool: finished recordings on a robot or rig, which go once the store has given its receipt.

Files are removed in an order that survives a kill: a recording of one file is unlinked; of a folder, the list
of files that the receipt names is laid down first, then the whole folder is moved aside in one step, and then
the files of the list go. What the receipt does not name stays in the folder that was moved aside.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from twinloop.core.errors import StoreError, TwinloopError, UsageError
from twinloop.engine.progress import Meter
from twinloop.store.arrivals.folder import Arrival, DropFolder, is_companion
from twinloop.store.disk import sync_file, sync_folder
from twinloop.store.inbox.parcel import Companion, Parcel, Receipt
from twinloop.store.raw_files import RawFiles, hash_files
from twinloop.store.sources import IngestOptions, options_for
from twinloop.store.staging import try_lock
from twinloop.store.writer import now

if TYPE_CHECKING:
    from twinloop.store.push.urgency import Urgency

#: Folder of push's own files, hidden from whoever looks for recordings.
OWN = ".twinloop-push"
_MOST_COMPANION_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Packed:
    """A recording of the spool, hashed. `paths`: the local file of each SHA-256."""

    arrival: Arrival
    parcel: Parcel
    raw: RawFiles
    paths: dict[str, Path]


class Spool:
    """The folder of finished recordings. Use it as held by `hold`."""

    def __init__(self, root: Path, settle_s: float, grace_s: float) -> None:
        if not root.is_dir():
            raise UsageError("there is no such spool folder", where=str(root))
        self.root = root.absolute()
        self.own = self.root / OWN
        self.folder = DropFolder(self.root, settle_s, grace_s)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Keep other processes out.

        Raises:
            StoreError: another process pushes this spool.
        """
        self.own.mkdir(exist_ok=True)
        descriptor = os.open(self.own / "lock", os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if not try_lock(descriptor):
                raise StoreError("another process pushes this spool", where=str(self.root))
            self._finish_removals()
            yield
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def pack(self, arrival: Arrival, urgency: Urgency) -> Packed:
        """Hash a recording and write its envelope.

        Raises:
            TwinloopError: it may not be read, or is being written to.
        """
        path = arrival.path
        raw = hash_files(path, files_of(path), Meter())
        parcel = Parcel(
            hash=raw.hash,
            name=path.relative_to(self.root).as_posix(),
            folder=path.is_dir(),
            files=raw.files,
            companions=tuple(self._companions(path)),
            host=socket.gethostname(),
            sent_at=now(),
            urgency=urgency.level,
            why=urgency.why,
        )
        return Packed(arrival, parcel, raw, {file.sha256: Path(file.url) for file in raw.files})

    def _companions(self, path: Path) -> Iterator[Companion]:
        """What lies beside a recording, or in it, and says something of it; and what that names in turn."""
        folders = (path, path.parent) if path.is_dir() else (path.parent,)
        found = {file for folder in folders for file in folder.iterdir() if is_companion(file.name)}
        with suppress(TwinloopError):  # a file that does not parse goes along as it is
            options = options_for(path, IngestOptions())
            found |= {options.mapping} if options.mapping else set()
            found |= set(options.types_dir.rglob("*.msg")) if options.types_dir else set()
        for file in sorted(file for file in found if file.is_file()):
            real = Path(os.path.normpath(file))
            if real.is_relative_to(self.root) and real.stat().st_size <= _MOST_COMPANION_BYTES:
                yield Companion(real.relative_to(self.root).as_posix(), real.read_bytes())

    def remove(self, arrival: Arrival, receipt: Receipt) -> bool:
        """Remove a recording's files, if they are now, byte for byte, what the receipt names.

        Returns whether the recording is gone from the spool; False leaves everything as it is.
        """
        path = arrival.path
        raw = hash_files(path, files_of(path), Meter())
        kept = set(receipt.kept)
        if raw.hash != receipt.hash or not any(file.sha256 in kept for file in raw.files):
            return False
        if not path.is_dir():
            raw.check_unchanged()
            path.unlink()
            return True
        aside = self._aside(f"{path.name}-{raw.hash[:16]}")
        names = [file.name for file in raw.files if file.sha256 in kept]
        listed = aside.with_name(f"{aside.name}.json")
        _write(listed, json.dumps(names).encode())
        raw.check_unchanged()
        path.rename(aside)
        _remove_listed(listed, aside)
        return True

    def _aside(self, name: str) -> Path:
        """A path below `sent` that nothing lies at."""
        sent = self.own / "sent"
        sent.mkdir(exist_ok=True)
        number = 1
        while (aside := sent / (name if number == 1 else f"{name}-{number}")).exists():
            number += 1
        return aside

    def _finish_removals(self) -> None:
        """Go on where a process was killed while it removed files."""
        for listed in sorted((self.own / "sent").glob("*.json")):
            aside = listed.with_suffix("")
            if aside.is_dir():
                _remove_listed(listed, aside)
            else:  # it was killed before it moved the folder, which is then pushed like any other
                listed.unlink()


def files_of(path: Path) -> list[Path]:
    """The files of a recording that are sent: all but companions, which travel in the envelope."""
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.rglob("*") if file.is_file() and not is_companion(file.name))


def _remove_listed(listed: Path, aside: Path) -> None:
    """Remove the files that a list names, the folders that are empty then, and the list."""
    for name in json.loads(listed.read_bytes()):
        (aside / name).unlink(missing_ok=True)
    for folder, _, _ in os.walk(aside, topdown=False):
        with suppress(OSError):  # something else is in it, and stays
            Path(folder).rmdir()
    listed.unlink()


def _write(path: Path, data: bytes) -> None:
    """Write a small file whole, durably."""
    temporary = path.with_suffix(".new")
    temporary.write_bytes(data)
    sync_file(temporary)
    temporary.rename(path)
    sync_folder(path.parent)
