"""Findings on a lane of the timeline: a line over their span, a sign where they start, a word beside it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.checks.render.html.markup import tag, text, title
from twinloop.checks.render.html.words import mark, measured, place

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from twinloop.core.finding import Finding

#: Signs closer together than this are one, with their number.
_SIGN = 13.0
#: A rule that is broken more often than this on one lane gets one sign; its lines stay.
_OFTEN = 12
#: Width of a letter of a label, and the least distance between two labels.
_LETTER, _APART = 6.1, 12.0
#: Findings told on hovering over a sign that stands for several.
_TOLD = 6


@dataclass(slots=True)
class _Mark:
    """Findings that start at about the same place, and how far they reach on the page."""

    left: float
    right: float
    findings: list[Finding]

    @property
    def worst(self) -> Finding:
        return max(self.findings, key=lambda finding: finding.severity.rank)


def has_marks(findings: Sequence[Finding]) -> bool:
    """Whether any of them is marked on a lane: a warning or an error that has a time."""
    return any(_is_marked(finding) for finding in findings)


def _is_marked(finding: Finding) -> bool:
    return finding.start_ns is not None and finding.severity.rank > 0


def finding_marks(
    findings: Sequence[Finding], x_of: Callable[[int], float], line: float, end_of_lane: float
) -> list[str]:
    """The marks of one lane's findings, of warnings and errors that have a time; `line` is their height."""
    shown = [finding for finding in findings if _is_marked(finding)]
    often = {name for name, n in Counter(finding.name for finding in shown).items() if n > _OFTEN}
    marks = _cluster([finding for finding in shown if finding.name not in often], x_of)
    marks += [_all_of([f for f in shown if f.name == name], x_of) for name in sorted(often)]
    marks.sort(key=lambda m: m.left)
    parts = [
        tag("line", x1=m.left, x2=max(m.right, m.left + 2), y1=line, y2=line, class_=f"span {_severity(m)}")
        for m in sorted(_cluster(shown, x_of), key=lambda m: m.worst.severity.rank)
    ]
    free = 0.0
    for number, m in enumerate(marks):
        following = marks[number + 1].left if number + 1 < len(marks) else end_of_lane
        word = _word(m)
        fits = m.left + 9 > free and m.left + 9 + len(word) * _LETTER + _APART < following
        parts.append(
            tag(
                "g",
                title("\n".join(_told(finding) for finding in m.findings[:_TOLD]) + _more(m)),
                tag("text", text(mark(_severity(m))), x=m.left, y=line - 2, class_=f"mark {_severity(m)}"),
                tag("text", text(word), x=m.left + 9, y=line - 3, class_=f"word {_severity(m)}")
                if fits
                else "",
                class_="finding",
            )
        )
        if fits:
            free = m.left + 9 + len(word) * _LETTER
    return parts


def _cluster(findings: Sequence[Finding], x_of: Callable[[int], float]) -> list[_Mark]:
    marks: list[_Mark] = []
    for finding in sorted(findings, key=lambda f: f.start_ns or 0):
        start = finding.start_ns or 0
        left, right = x_of(start), x_of(start if finding.end_ns is None else finding.end_ns)
        if marks and left - marks[-1].left < _SIGN:
            marks[-1].findings.append(finding)
            marks[-1].right = max(marks[-1].right, right)
        else:
            marks.append(_Mark(left, right, [finding]))
    return marks


def _all_of(findings: list[Finding], x_of: Callable[[int], float]) -> _Mark:
    left = min(x_of(finding.start_ns or 0) for finding in findings)
    return _Mark(left, left, findings)


def _severity(m: _Mark) -> str:
    return m.worst.severity.value


def _word(m: _Mark) -> str:
    names = {finding.name for finding in m.findings}
    if len(m.findings) == 1:
        return " ".join((m.worst.name.replace("_", " "), measured(m.worst))).strip()
    return (
        f"{len(m.findings)} \u00d7 {names.pop().replace('_', ' ')}" if len(names) == 1 else f"{len(m.findings)}"
    )


def _told(finding: Finding) -> str:
    return f"{finding.code} {finding.name}, {place(finding)}: {finding.message}"


def _more(m: _Mark) -> str:
    return f"\nand {len(m.findings) - _TOLD} more" if len(m.findings) > _TOLD else ""
