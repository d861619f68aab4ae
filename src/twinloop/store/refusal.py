"""What goes to quarantine instead of the store, or beside it."""

from __future__ import annotations

import traceback
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from twinloop.core.errors import TwinloopError, UnreadableError, Where
from twinloop.core.recording import Problem, ReadNote
from twinloop.engine.progress import Meter, no_report
from twinloop.store.outcome import Outcome, Status
from twinloop.store.quarantine import Reason, quarantine_id
from twinloop.store.raw_files import RawFiles, hash_files
from twinloop.store.staging import workspace
from twinloop.store.tombstones import ErasedError, refuse_erased

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from twinloop.core.recording import Recording
    from twinloop.engine.progress import Report
    from twinloop.store.store import Store


def crash_message(error: Exception) -> str:
    """What a fault of ours is told as."""
    return f"twinloop failed on it: {type(error).__name__}: {error}"


class Refusal:
    """The way to quarantine for one path. `raw`: ``copy`` or ``reference``."""

    def __init__(self, store: Store, path: Path, raw: str, meter: Meter) -> None:
        self.store = store
        self.path = path
        self.raw = raw
        self.meter = meter

    def whole(self, error: UnreadableError, raw: RawFiles | None = None) -> Outcome:
        """Keep the bytes of what could not be read at all, with the reason. `raw`: its files, if hashed."""
        raw = raw or self._hash_unreadable()
        if raw and self.raw != "copy":
            raw = raw.referenced()
        hash = raw.hash if raw and raw.size else None
        id = quarantine_id(hash, self.path)
        where = error.where if isinstance(error.where, Where) else Where(file=str(error.where or self.path))
        note = ReadNote(
            Problem.EMPTY if raw and not raw.size else Problem.CORRUPT, error.what, where, lost=None
        )
        reason = Reason(
            id=id,
            path=str(self.path),
            what=error.what,
            retry=self._retry(),
            hash=hash,
            files=raw.files if raw else (),
            notes=(note,),
        )
        with self._kept(raw):
            self.store.quarantine.add(reason)
        return Outcome(
            str(self.path),
            Status.QUARANTINED,
            recording=hash,
            bytes=raw.size if raw else 0,
            lost=(note,),
            quarantine=id,
            message=str(error),
            exit_code=3,
        )

    @contextmanager
    def _kept(self, raw: RawFiles | None) -> Iterator[None]:
        """Keep the bytes. The workspace tells a collector to leave them until the reason names them."""
        if raw is None or self.raw != "copy" or not raw.size:
            yield
            return
        with workspace(self.store.work, f"{raw.hash}-raw"):
            raw.keep(self.store.objects)
            yield

    def _hash_unreadable(self) -> RawFiles | None:
        if not self.path.is_file():
            return None
        try:
            raw = hash_files(self.path, (self.path,), self.meter)
        except UnreadableError:
            return None
        refuse_erased(self.store.objects, raw.hash, self.path.name)
        return raw

    def parts(self, recording: Recording, raw: RawFiles, session: str, lost: tuple[ReadNote, ...]) -> None:
        parts = "1 part" if len(lost) == 1 else f"{len(lost)} parts"
        self.store.quarantine.add(
            Reason(
                id=quarantine_id(raw.hash, self.path),
                path=str(self.path),
                what=f"{parts} of this {recording.format} recording could not be read",
                retry=self._retry(),
                hash=raw.hash,
                files=raw.files,
                notes=lost,
                session=session,
            )
        )

    def crashed(self, error: Exception, raw: RawFiles | None = None) -> Outcome:
        """A fault of ours: the file is kept in quarantine with the traceback, the others go on."""
        what = crash_message(error)
        trace = "".join(traceback.format_exception(error))
        outcome = self.whole(UnreadableError(f"{what}\n{trace}", where=str(self.path)), raw)
        message = (
            f"{what}\n  where:    {self.path}\n  fix:      report it; the traceback is in {outcome.quarantine}"
        )
        return replace(outcome, message=message, exit_code=4)

    def _retry(self) -> str:
        return f"twinloop ingest --store {self.store.url} {self.path}"


def refuse_path(store: Store, path: Path, why: str, report: Report = no_report) -> Outcome:
    """Keep a file, or all files of a folder, in quarantine without looking at what they hold."""
    meter = Meter(report)
    try:
        files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
        raw = hash_files(path, files, meter)
        for file in raw.files:
            refuse_erased(store.objects, file.sha256, file.name)
        refuse_erased(store.objects, raw.hash, path.name)
        return Refusal(store, path, "copy", meter).whole(UnreadableError(why, where=str(path)), raw)
    except ErasedError as error:
        return Outcome(str(path), Status.REFUSED, message=str(error), exit_code=error.exit_code)
    except TwinloopError as error:
        return Outcome(str(path), Status.FAILED, message=str(error), exit_code=error.exit_code)
