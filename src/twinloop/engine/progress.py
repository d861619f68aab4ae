"""Progress of one step, from inside it: shares of the whole, reported at a bearable rate."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Called with what is being done and how much of the whole is done, 0 to 1.
Report = Callable[[str, float], None]

_PERIOD_S = 0.1


def no_report(_: str, __: float) -> None:
    """Progress that nobody watches."""


class Meter:
    """Measures a step that has stages, each a share of the whole."""

    def __init__(self, report: Report = no_report) -> None:
        self._report = report
        self._done = 0.0
        self._label = ""
        self._share = 0.0
        self._last_s = 0.0

    @contextmanager
    def stage(self, label: str, share: float) -> Iterator[None]:
        """A stage that is `share` (0 to 1) of the whole."""
        self._label, self._share = label, share
        self._report(label, self._done)
        yield
        self._done += share
        self._report(label, min(self._done, 1.0))

    def at(self, fraction: float) -> None:
        """`fraction` (0 to 1) of the current stage is done."""
        now = time.monotonic()
        if now - self._last_s < _PERIOD_S:
            return
        self._last_s = now
        self._report(self._label, min(self._done + self._share * min(fraction, 1.0), 1.0))
