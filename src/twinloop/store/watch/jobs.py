"""What a worker process of the watch does: takes one arrival in, or only keeps it in quarantine."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from twinloop.core.errors import TwinloopError, UnreachableError
from twinloop.store.inbox.receive import receive
from twinloop.store.ingest import ingest
from twinloop.store.outcome import Outcome, Status
from twinloop.store.refusal import refuse_path
from twinloop.store.sources import IngestOptions
from twinloop.store.store import Store

if TYPE_CHECKING:
    from twinloop.engine.progress import Report

#: If memory runs out, the kernel ends a worker first, and not the watch (proc(5), oom_score_adj).
_FIRST_TO_GO = "1000"


@dataclass(frozen=True, slots=True)
class Job:
    """One arrival for a worker.

    Attributes:
        path: the recording; or `parcel`: the key of its envelope in the inbox.
        refuse: why it is not to be read, but only kept in quarantine; empty: it is taken in.
        passing: whether the path will not stay (`ingest`).
    """

    path: Path | None = None
    parcel: str = ""
    options: IngestOptions = IngestOptions()
    refuse: str = ""
    passing: bool = False


def work(url: str, job: Job, report: Report) -> Outcome:
    """Do a job for the store at `url`."""
    try:
        outcome = _do(_open(url), job, report)
    except (TwinloopError, UnreachableError) as error:
        what = job.parcel or str(job.path)
        outcome = Outcome(what, Status.FAILED, message=str(error), exit_code=error.exit_code)
    if outcome.status is Status.FAILED:
        _open.cache_clear()  # a connection that broke is not for the next one to find
    return outcome


def _do(store: Store, job: Job, report: Report) -> Outcome:
    if job.parcel:
        return receive(store, job.parcel, job.refuse, report)
    assert job.path
    if job.refuse:
        return refuse_path(store, job.path, job.refuse, report)
    return ingest(store, job.path, job.options, passing=job.passing, report=report)


@cache
def _open(url: str) -> Store:
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_GO)
    return Store.open(url)
