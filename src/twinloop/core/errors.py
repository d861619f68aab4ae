"""Errors that say what failed, where, what was expected and what to do.

Every error that a user can meet is a :class:`TwinloopError` (or an :class:`UnreachableError`); a traceback
that reaches a user is a bug.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Where:
    """A place in the input. Every part is optional; `time_ns` is int64 nanoseconds of the stream's clock."""

    file: str | None = None
    stream: str | None = None
    time_ns: int | None = None
    byte: int | None = None
    row: int | None = None

    def __str__(self) -> str:
        parts = [
            self.file,
            self.stream and f"stream {self.stream}",
            None if self.time_ns is None else f"time {self.time_ns} ns",
            None if self.byte is None else f"byte {self.byte}",
            None if self.row is None else f"row {self.row}",
        ]
        return ", ".join(p for p in parts if p) or "unknown place"


class TwinloopError(Exception):
    """Root of all errors shown to users.

    `exit_code` is what the command line ends with: 2 usage, 3 input unreadable, 4 a step crashed.
    """

    exit_code = 4

    def __init__(
        self,
        what: str,
        *,
        where: Where | str | None = None,
        expected: str | None = None,
        fix: str | None = None,
    ) -> None:
        self.what = what
        self.where = where
        self.expected = expected
        self.fix = fix
        super().__init__(what)

    def __str__(self) -> str:
        lines = [self.what]
        if self.where is not None:
            lines.append(f"  where:    {self.where}")
        if self.expected:
            lines.append(f"  expected: {self.expected}")
        if self.fix:
            lines.append(f"  fix:      {self.fix}")
        return "\n".join(lines)


class UsageError(TwinloopError):
    """The command or call cannot mean what it says."""

    exit_code = 2


class MappingError(UsageError):
    """A mapping file does not parse or does not fit the recording."""


class UnreadableError(TwinloopError):
    """The input cannot be read (at all, or where a strict read was asked for)."""

    exit_code = 3


class StoreError(TwinloopError):
    """The store is missing, of another version, damaged, or refused a write."""

    exit_code = 3


class UnreachableError(ConnectionError):
    """A store lies elsewhere and does not answer, or lets nobody in. It says nothing of what the store holds.

    The one error for users that is no `TwinloopError`: code that passes over what is damaged catches those,
    and must never take a dead line for damage.
    """

    exit_code = 3

    def __init__(
        self, what: str, *, where: str | None = None, expected: str | None = None, fix: str | None = None
    ) -> None:
        self.what = what
        super().__init__(str(StoreError(what, where=where, expected=expected, fix=fix)))


class MissingExtraError(UsageError):
    """An optional dependency is not installed; the message names the extra."""

    def __init__(self, package: str, extra: str, needed_for: str) -> None:
        super().__init__(
            f"{needed_for} needs the package {package}, which is not installed",
            fix=f'pip install "twinloop[{extra}]"',
        )
        self.extra = extra


class UnknownNameError(UsageError):
    """A look-up by name failed; the message gives near matches and everything there is."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = get_close_matches(name, names, n=3, cutoff=0.5)
        super().__init__(
            f"there is no {kind} named {name!r}",
            expected=f"one of: {', '.join(names)}" if names else f"no {kind} is known",
            fix=f"did you mean {' or '.join(near)}?" if near else None,
        )
        self.near = near
