"""Taking a parcel out of the inbox and into the store.

The order is what makes it safe: the files are put together in a workspace and held against their hashes;
the recording is taken in; the receipt is written; only then the parts go, and the envelope last. A process
that dies anywhere leaves an envelope, and whoever finds it starts over, or only tidies up after a receipt.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from twinloop.core.errors import StoreError, TwinloopError, UnreachableError, Where
from twinloop.core.recording import Problem, ReadNote
from twinloop.engine.progress import no_report
from twinloop.store.blobs import SourceFile, blob_key
from twinloop.store.disk import reporting_system_errors
from twinloop.store.inbox.parcel import (
    clear,
    clear_parts,
    part_key,
    parts_of,
    reach,
    read_parcel,
    read_receipt,
    refuse_parcel,
    write_receipt,
)
from twinloop.store.ingest import ingest
from twinloop.store.outcome import Outcome, Status
from twinloop.store.quarantine import Reason, quarantine_id
from twinloop.store.refusal import refuse_path
from twinloop.store.staging import workspace

if TYPE_CHECKING:
    from twinloop.engine.progress import Report
    from twinloop.store.inbox.parcel import Parcel, Receipt
    from twinloop.store.objects import Objects
    from twinloop.store.store import Store

_KEPT = (Status.STORED, Status.PRESENT, Status.QUARANTINED)


def receive(store: Store, key: str, refuse: str = "", report: Report = no_report) -> Outcome:
    """Take in the parcel whose envelope is `key`; the outcome tells, with the parcel's name as its path.

    `refuse`: why it is not to be read, but only kept in quarantine.
    """
    objects = store.objects
    try:
        if not objects.exists(key):
            return Outcome(key, Status.FAILED, message="the parcel is not in the inbox any more", exit_code=3)
        try:
            parcel = read_parcel(objects, key)
        except StoreError as error:
            return _keep_aside(store, key, error)
        if receipt := read_receipt(objects, parcel.hash):
            clear(objects, parcel)
            return _known(parcel, receipt)
        with workspace(store.work, f"parcel-{parcel.hash[:32]}") as folder:
            path = _unpack(objects, parcel, folder)
            outcome = _take_in(store, path, refuse, report)
        if outcome.status in _KEPT:
            write_receipt(objects, parcel, outcome)
        elif outcome.status is Status.REFUSED:
            refuse_parcel(objects, parcel, outcome.message)
        else:
            return replace(outcome, path=_title(parcel))
        clear(objects, parcel)
        return replace(outcome, path=_title(parcel))
    except (TwinloopError, UnreachableError) as error:
        return Outcome(key, Status.FAILED, message=str(error), exit_code=error.exit_code)
    except OSError as error:
        return Outcome(key, Status.FAILED, message=f"the system refused: {error}", exit_code=3)


def _keep_aside(store: Store, key: str, error: StoreError) -> Outcome:
    """Keep what is no envelope in quarantine. Its sender, if there is one, lays down another."""
    data = store.objects.get(key)
    sha256 = hashlib.sha256(data).hexdigest()
    store.objects.put(blob_key(sha256), data)
    file = SourceFile(key, sha256, len(data), key)
    note = ReadNote(Problem.CORRUPT, error.what, Where(file=key), lost=None)
    id = quarantine_id(sha256, Path(key))
    store.quarantine.add(Reason(id, key, error.what, "none: it is no recording", sha256, (file,), (note,)))
    store.objects.delete(key)
    return Outcome(key, Status.QUARANTINED, lost=(note,), quarantine=id, message=str(error), exit_code=3)


def _take_in(store: Store, path: Path, refuse: str, report: Report) -> Outcome:
    if refuse:
        return refuse_path(store, path, refuse, report)
    return ingest(store, path, passing=True, report=report)


def _title(parcel: Parcel) -> str:
    return f"{parcel.host}:{parcel.name}"


def _known(parcel: Parcel, receipt: Receipt) -> Outcome:
    if receipt.refused:
        return Outcome(_title(parcel), Status.REFUSED, message=receipt.refused, exit_code=3)
    return Outcome(
        _title(parcel),
        Status.PRESENT if receipt.session else Status.QUARANTINED,
        session=receipt.session,
        recording=parcel.hash,
        bytes=sum(file.size for file in parcel.files),
        quarantine=receipt.quarantine,
        message="taken in before",
        exit_code=3 if receipt.quarantine else 0,
    )


def _unpack(objects: Objects, parcel: Parcel, folder: Path) -> Path:
    """Put a parcel's files together in a folder; the path of the recording.

    Raises:
        StoreError: a file did not arrive whole. Its sender sends it again, as its envelope is gone.
    """
    path = folder / parcel.name
    root = path if parcel.folder else path.parent
    for companion in parcel.companions:
        beside = folder / companion.name
        beside.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(companion.data)
    for file in parcel.files:
        target = root / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not _fetch(objects, file, target):
            clear_parts(objects, file.sha256)
            objects.delete(parcel.key)
            raise StoreError(
                "a file did not arrive whole; its sender will send it again",
                where=f"{_title(parcel)}, {file.name}",
                expected=f"{file.size} bytes of sha256 {file.sha256}",
            )
    return path


def _fetch(objects: Objects, file: SourceFile, target: Path) -> bool:
    """Lay a file's bytes at `target`, from the inbox or from the store's own copy; whether they are whole."""
    parts = parts_of(objects, file.sha256)
    if reach(parts) < file.size and objects.exists(blob_key(file.sha256)):
        keys = [(0, blob_key(file.sha256))]
    else:
        keys = [(offset, part_key(file.sha256, offset, size)) for offset, size in parts]
    digest, done = hashlib.sha256(), 0
    with reporting_system_errors(target.parent), target.open("wb") as writer:
        for offset, key in keys:
            with objects.open(key) as reader:
                reader.seek(max(0, done - offset))  # parts overlap where the limit was changed between them
                while done < file.size and (chunk := reader.read(min(1 << 20, file.size - done))):
                    digest.update(chunk)
                    writer.write(chunk)
                    done += len(chunk)
    return digest.hexdigest() == file.sha256
