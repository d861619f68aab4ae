"""Numbers and findings in words, as the page says them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from twinloop.core.finding import Finding

_SHORT_UNITS = ("ns", "us", "ms", "s", "ppm", "Hz", "%", "rad", "m")
_MARKS = {"error": "\u2716", "warning": "\u25b2", "info": "\u25cf"}


def mark(severity: str) -> str:
    """A sign that tells severities apart without colour."""
    return _MARKS[severity]


def count(number: int, noun: str) -> str:
    """``1 error``, ``2 errors``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def clock(value: float) -> str:
    """A time or a duration as long as it needs: ``6.94 s``, ``12:05.3``, ``1:02:03``."""
    if value < 600:
        return f"{value:.2f} s"
    minutes, rest = divmod(value, 60)
    if minutes < 60:
        return f"{int(minutes)}:{rest:04.1f}"
    return f"{int(minutes) // 60}:{int(minutes) % 60:02d}:{int(rest):02d}"


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


def measured(finding: Finding) -> str:
    """The measured number alone, if it has a unit that says what it is."""
    if finding.value is None or finding.unit not in _SHORT_UNITS:
        return ""
    if finding.unit == "ms" and abs(finding.value) >= 1000:
        return f"{finding.value / 1000:.3g} s"
    value = f"{finding.value:.3g}"
    return f"{finding.value:.0f} {finding.unit}" if "e" in value else f"{value} {finding.unit}"
