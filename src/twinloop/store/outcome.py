"""What became of a path that was to be taken in."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from twinloop.core.recording import ReadNote


class Status(StrEnum):
    """What became of a path."""

    STORED = "stored"
    PRESENT = "present"  # it had been taken in before
    PLANNED = "planned"  # a dry run
    QUARANTINED = "quarantined"  # nothing of it could be read
    REFUSED = "refused"  # it was erased, and stays out
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one path.

    Attributes:
        session: where it is. recording: its hash. streams, episodes: how many. findings: count by severity.
        duration_s: from the first to the last sample of its longest stream; None without times.
        lost: what of it could not be read; its raw bytes are in `quarantine`.
        message: why it failed, or what else to know. new: registry entries that were made for it.
        exit_code: what the command line ends with for this path alone.
    """

    path: str
    status: Status
    session: str | None = None
    recording: str | None = None
    format: str | None = None
    bytes: int = 0
    streams: int = 0
    episodes: int = 0
    duration_s: float | None = None
    findings: dict[str, int] = field(default_factory=dict)
    lost: tuple[ReadNote, ...] = ()
    quarantine: str | None = None
    message: str = ""
    new: tuple[str, ...] = ()
    exit_code: int = 0
