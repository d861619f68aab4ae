"""What times of steps are: from which source, on which clock, as exports write it beside the times."""

from __future__ import annotations

from dataclasses import dataclass

from twinloop.core.clock import Clock, Epoch
from twinloop.core.kinds import StampSource


@dataclass(frozen=True, slots=True)
class Stamps:
    """The source of stamps, and their clock; `clock` None: to be told by their size."""

    source: StampSource = StampSource.DRIVER
    clock: Clock | None = None

    @property
    def are_true(self) -> bool:
        """Whether the times were measured, and are no grid."""
        return self.source not in (StampSource.GRID, StampSource.NONE)


def stamps_of(source: object, clock: object) -> Stamps:
    """From the words of a file, ``driver`` and ``unix@host``; others are as if nothing were said."""
    try:
        known = StampSource(str(source))
    except ValueError:
        known = StampSource.DRIVER
    epoch, _, host = str(clock or "").partition("@")
    try:
        return Stamps(known, Clock(Epoch(epoch), host))
    except ValueError:
        return Stamps(known)
