"""Sessions and episodes: what the store holds, built from one or more recordings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from twinloop.core.clock import ClockModel


class Outcome(StrEnum):
    """How an attempt ended."""

    SUCCESS = "success"
    FAILURE = "failure"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """What people state of a session; an episode may override `operator`, `task`, `consent`, `robot`."""

    task: str | None = None
    operator: str | None = None
    site: str | None = None
    robot: str | None = None
    rig: str | None = None
    consent: str | None = None
    meta: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Episode:
    """One task attempt: [start_ns, end_ns) on the session's timeline.

    `id` is a ULID and stays with the attempt when sessions are joined or split; `index` counts within the
    session. `excluded` gives the reason why it is left out of training, None while it is in.
    """

    id: str
    index: int
    start_ns: int
    end_ns: int
    recording: str = ""
    instruction: str | None = None
    outcome: Outcome = Outcome.UNKNOWN
    excluded: str | None = None
    facts: SessionFacts = SessionFacts()
    attributes: Mapping[str, str] = field(default_factory=dict)

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return (self.end_ns - self.start_ns) / 1e9


@dataclass(frozen=True, slots=True)
class Session:
    """One sitting at one site with one set of equipment. Its id is a ULID; recordings are known by hash."""

    id: str
    facts: SessionFacts = SessionFacts()
    recordings: tuple[str, ...] = ()
    episodes: tuple[Episode, ...] = ()
    clock_models: tuple[ClockModel, ...] = ()
