"""Numbers and findings in words, as the page says them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from twinloop.core.finding import Finding

_MARKS = {"error": "\u2716", "warning": "\u25b2", "info": "\u25cf"}


def mark(severity: str) -> str:
    """A sign that tells severities apart without colour."""
    return _MARKS[severity]


def count(number: int, noun: str) -> str:
    """``1 error``, ``2 errors``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def seconds(value: float) -> str:
    """A time on the axis."""
    return f"{value:.3f} s" if abs(value) < 1000 else f"{value:,.1f} s"


def size(number: float | None) -> str:
    """A size in decimal units."""
    if number is None:
        return ""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= factor:
            return f"{number / factor:.3g} {unit}"
    return f"{number:.0f} B"


def place(finding: Finding) -> str:
    """Where a finding is, in words."""
    parts = []
    if finding.episode is not None:
        parts.append(f"episode {finding.episode}")
    if finding.start_s is not None:
        end = finding.end_s if finding.end_s is not None else finding.start_s
        apart = end - finding.start_s > 0.0005
        parts.append(f"{finding.start_s:.3f} to {end:.3f} s" if apart else f"at {finding.start_s:.3f} s")
    if finding.where.row is not None:
        parts.append(f"row {finding.where.row}")
    if finding.where.byte is not None:
        parts.append(f"byte {finding.where.byte}")
    return ", ".join(parts)


def number(finding: Finding) -> str:
    """The measured number against its limit."""
    if finding.value is None:
        return ""
    unit = f" {finding.unit}" if finding.unit and finding.unit != "1" else ""
    limit = "" if finding.limit is None else f" (limit {finding.limit:.6g})"
    return f"{finding.value:.6g}{unit}{limit}"
