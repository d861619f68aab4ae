"""How rules say numbers and lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from twinloop.checks.measure.bounded import Places


def ms(ns: float) -> float:
    """Nanoseconds as milliseconds, to the microsecond."""
    return round(float(ns) / 1e6, 3)


def duration(ns: float) -> str:
    """Nanoseconds in words: ``850 ns``, ``12.5 ms``, ``1.25 s``."""
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if abs(ns) >= 0.9995 * size:
            return f"{_three_digits(ns / size)} {unit}"
    return f"{ns:.0f} ns"


def hertz(rate: float) -> str:
    """A rate in words: ``29.97 Hz``."""
    return f"{rate:.4g} Hz"


def share(part: float, whole: float) -> str:
    """A share in words: ``1.2 %``."""
    return f"{_three_digits(100 * part / whole)} %" if whole else "0 %"


def count(number: int, noun: str) -> str:
    """A count in words: ``1 sample``, ``12 samples``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def few(words: Sequence[str], shown: int = 4) -> str:
    """The first words of a list, and how many more there are."""
    more = len(words) - shown
    return ", ".join(words[:shown]) + (f" and {more} more" if more > 0 else "")


def runs(places: Places) -> Iterator[tuple[int, int, int, int]]:
    """Places in neighbouring rows taken together: (row, start_ns, end_ns, rows) of each run."""
    if not len(places):
        return
    begins = np.flatnonzero(np.diff(places.row, prepend=places.row[0] - 2) != 1)
    ends = np.append(begins[1:], len(places)) - 1
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        times = np.concatenate([places.start_ns[begin : end + 1], places.end_ns[begin : end + 1]])
        yield int(places.row[begin]), int(times.min()), int(times.max()), end - begin + 1


def _three_digits(value: float) -> str:
    text = f"{value:.3g}"
    return f"{value:.0f}" if "e" in text else text
