"""A finding: one rule broken at one place, with the number that says so.

The JSON form is a contract (schema 1); times are decimal strings because JSON numbers lose nanoseconds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from twinloop.core.errors import Where


class Severity(StrEnum):
    """How bad it is. `error` poisons training; `warning` may; `info` is a number worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for info, 2 for error: for `--fail-on` and sorting."""
        return ("info", "warning", "error").index(self.value)


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule broken at one place.

    Attributes:
        code, name, severity: of the rule. episode: its index, None for the whole recording.
        stream: its name; a pair of streams is written ``a -> b``.
        start_ns, end_ns: the span, int64 ns of `clock`; start_s, end_s the same from the episode's start.
        value, limit, unit: the measured number and what it was held against.
        confidence: 0 to 1, for what is estimated. message: one sentence; fix: what to do.
    """

    code: str
    name: str
    severity: Severity
    message: str
    fix: str = ""
    episode: int | None = None
    stream: str | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    start_s: float | None = None
    end_s: float | None = None
    clock: str = ""
    where: Where = Where()
    value: float | None = None
    limit: float | None = None
    unit: str = ""
    confidence: float = 1.0

    @property
    def fingerprint(self) -> str:
        """16 hex digits that stay the same as long as rule, place and file name do; waivers name it."""
        file = (self.where.file or "").rsplit("/", 1)[-1]
        place = (self.code, self.episode, self.stream, self.start_ns, file, self.where.byte, self.where.row)
        return hashlib.sha256(repr(place).encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, object]:
        """The finding as in schema 1 of the report."""
        return {
            "code": self.code,
            "name": self.name,
            "severity": self.severity.value,
            "episode": self.episode,
            "stream": self.stream,
            "start_ns": None if self.start_ns is None else str(self.start_ns),
            "end_ns": None if self.end_ns is None else str(self.end_ns),
            "start_s": self.start_s,
            "end_s": self.end_s,
            "clock": self.clock,
            "where": {"file": self.where.file, "byte": self.where.byte, "row": self.where.row},
            "value": self.value,
            "limit": self.limit,
            "unit": self.unit,
            "confidence": self.confidence,
            "message": self.message,
            "fix": self.fix,
            "fingerprint": self.fingerprint,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Finding:
        """The finding that :meth:`to_json` wrote."""
        known = {k: v for k, v in data.items() if k in cls.__slots__}
        where = data.get("where") or {}
        assert isinstance(where, Mapping)
        for name in ("start_ns", "end_ns"):
            if known.get(name) is not None:
                known[name] = int(str(known[name]))
        known["severity"] = Severity(str(data["severity"]))
        known["where"] = Where(file=where.get("file"), byte=where.get("byte"), row=where.get("row"))
        return cls(**known)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class RuleNote:
    """A rule that did not run (its inputs are missing) or crashed, and why. Never a pass."""

    code: str
    why: str


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What the rules said of one recording or session."""

    path: str
    session: str | None = None
    findings: tuple[Finding, ...] = ()
    not_run: tuple[RuleNote, ...] = ()
    failed: tuple[RuleNote, ...] = ()

    def at_least(self, severity: Severity) -> tuple[Finding, ...]:
        """The findings of this severity or worse."""
        return tuple(f for f in self.findings if f.severity.rank >= severity.rank)

    def to_json(self) -> dict[str, object]:
        """Schema 1, as in the documentation of `twinloop check --format json`."""
        return {
            "schema": 1,
            "path": self.path,
            "session": self.session,
            "findings": [finding.to_json() for finding in self.findings],
            "not_run": [{"code": n.code, "why": n.why} for n in self.not_run],
            "failed": [{"code": n.code, "why": n.why} for n in self.failed],
        }
