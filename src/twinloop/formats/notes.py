"""Notes of a reader, each once however often a recording is scanned."""

from __future__ import annotations

from twinloop.core.errors import Where
from twinloop.core.recording import Problem, ReadNote


class Notes:
    """Collects `ReadNote`s into `all`, the list that the recording shows.

    A note that is there already (same problem, place and words) is not added again.
    """

    def __init__(self) -> None:
        self.all: list[ReadNote] = []
        self._known: set[tuple[Problem, Where, str]] = set()

    def add(self, problem: Problem, message: str, where: Where | None = None, lost: int | None = 0) -> None:
        """Note one thing; `lost` samples could not be read because of it (None: unknown)."""
        place = where or Where()
        key = (problem, place, message)
        if key not in self._known:
            self._known.add(key)
            self.all.append(ReadNote(problem, message, place, lost))


def some(values: list[int], shown: int = 6) -> str:
    """Numbers as ranges for a message: ``0-9, 11, 14-20 and 3 more ranges``."""
    ranges: list[list[int]] = []
    for value in sorted(values):
        if ranges and value == ranges[-1][1] + 1:
            ranges[-1][1] = value
        else:
            ranges.append([value, value])
    words = [str(a) if a == b else f"{a}-{b}" for a, b in ranges]
    rest = len(words) - shown
    return ", ".join(words[:shown]) + (f" and {rest} more ranges" if rest > 0 else "")
